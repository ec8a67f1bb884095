// Tables whose rows are codes of parts.

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "session/model/inference_program.h"
#include "transforms/prune.h"
#include "transforms/rewrite.h"
#include "trireme/ops.h"
#include "trireme/packing.h"

namespace trireme {
namespace {

// Vectors of one part of all rows.
struct Vectors {
  const float* first;
  std::int64_t rows, stride, width;
  const float* row(std::int64_t i) const { return first + i * stride; }
};

double squared_distance(const float* a, const float* b, std::int64_t width) {
  double total = 0;
  for (std::int64_t k = 0; k < width; ++k) {
    const double d = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    total += d * d;
  }
  return total;
}

// Lloyd's k-means (1982).
class Clusters {
 public:
  Clusters(const Vectors& vectors, std::int64_t count, std::uint64_t seed)
      : vectors_(vectors), width_(static_cast<std::size_t>(vectors.width)) {
    begin(count, seed);
    codes_.assign(static_cast<std::size_t>(vectors.rows), -1);
  }

  // Returns whether a code has changed.
  bool assign() {
    bool changed = false;
    for (std::int64_t i = 0; i < vectors_.rows; ++i) {
      double best = std::numeric_limits<double>::infinity();
      int code = 0;
      for (int c = 0; c < count(); ++c) {
        const double distance = squared_distance(vectors_.row(i), centroid(c), vectors_.width);
        if (distance < best) {
          best = distance;
          code = c;
        }
      }
      changed = changed || codes_[static_cast<std::size_t>(i)] != code;
      codes_[static_cast<std::size_t>(i)] = code;
    }
    return changed;
  }

  // An empty cluster keeps its centroid.
  void move_centroids() {
    std::vector<double> sums(centroids_.size());
    std::vector<std::int64_t> sizes(centroids_.size() / width_);
    for (std::int64_t i = 0; i < vectors_.rows; ++i) {
      const auto code = static_cast<std::size_t>(codes_[static_cast<std::size_t>(i)]);
      ++sizes[code];
      for (std::size_t k = 0; k < width_; ++k) sums[code * width_ + k] += vectors_.row(i)[k];
    }
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      for (std::size_t k = 0; k < width_ && sizes[c] > 0; ++k) {
        const double average = sums[c * width_ + k] / static_cast<double>(sizes[c]);
        centroids_[c * width_ + k] = static_cast<float>(average);
      }
    }
  }

  int count() const { return static_cast<int>(centroids_.size() / width_); }
  const std::vector<int>& codes() const { return codes_; }
  const std::vector<float>& centroids() const { return centroids_; }

 private:
  const float* centroid(int c) const {
    return centroids_.data() + static_cast<std::size_t>(c) * width_;
  }

  // Begins with different rows in a random order.
  void begin(std::int64_t count, std::uint64_t seed) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(vectors_.rows));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    std::set<std::vector<float>> seen;
    for (const std::int64_t i : order) {
      if (std::ssize(seen) == count) break;
      std::vector<float> row(vectors_.row(i), vectors_.row(i) + vectors_.width);
      if (!seen.insert(row).second) continue;
      centroids_.insert(centroids_.end(), row.begin(), row.end());
    }
  }

  Vectors vectors_;
  std::size_t width_;
  std::vector<int> codes_;
  std::vector<float> centroids_;
};

struct Codes {
  Tensor codes, centroids;
};

Codes quantized(const Tensor& table, const ProductQuantizationOptions& options) {
  const std::int64_t rows = table.dim(0), dim = table.dim(1), width = dim / options.parts;
  Codes made{Tensor(DType::u8, {rows, options.parts}),
             Tensor(f32, {options.parts * options.centroids, width})};
  for (std::int64_t part = 0; part < options.parts; ++part) {
    Clusters clusters({table.data<float>() + part * width, rows, dim, width}, options.centroids,
                      options.seed + static_cast<std::uint64_t>(part));
    for (int i = 0; clusters.assign() && i < options.iterations; ++i) clusters.move_centroids();
    for (std::int64_t i = 0; i < rows; ++i) {
      made.codes.data<std::uint8_t>()[i * options.parts + part] =
          static_cast<std::uint8_t>(clusters.codes()[static_cast<std::size_t>(i)]);
    }
    std::copy(clusters.centroids().begin(), clusters.centroids().end(),
              made.centroids.data<float>() + part * options.centroids * width);
  }
  return made;
}

// The parameters that gather() alone reads, by rows.
std::unordered_set<const ir::Value*> tables_of(const ir::Program& program) {
  std::unordered_set<const ir::Value*> tables, others;
  const auto reads_rows = [](const ir::Op& op) {
    const ir::Value* x = op.operands[0];
    return op.name() == "gather" && get_attribute<std::int64_t>(op.attributes, "axis") == 0 &&
           x->kind == ir::ValueKind::parameter && x->type.dtype == f32 && x->type.shape.size() == 2;
  };
  const std::function<void(const ir::Block&, bool)> read = [&](const ir::Block& block,
                                                               bool nested) {
    for (const auto& op : block.ops) {
      for (std::size_t i = 0; i < op->operands.size(); ++i) {
        const bool is_table = !nested && i == 0 && reads_rows(*op);
        (is_table ? tables : others).insert(op->operands[i]);
      }
      for (const auto& inner : op->blocks) read(*inner, true);
    }
    others.insert(block.results.begin(), block.results.end());
  };
  read(program.main(), false);
  std::erase_if(tables, [&](const ir::Value* value) { return others.contains(value); });
  return tables;
}

void check_options(const ProductQuantizationOptions& options) {
  const auto fail = [](const std::string& text) { fail_usage("product_quantize: " + text); };
  if (options.parts < 1) fail("parts must be at least 1\n  hint   .parts = 8");
  if (options.centroids < 2 || options.centroids > 256) fail("centroids must be from 2 to 256");
  if (options.iterations < 1) fail("iterations must be at least 1");
}

// The tables that the patterns choose, in the order of the parameters.
std::vector<const ir::Parameter*> chosen_tables(const ir::Program& program,
                                                const ProductQuantizationOptions& options) {
  const auto tables = tables_of(program);
  std::vector<const ir::Parameter*> chosen;
  std::vector<bool> used(options.tables.size());
  for (const auto& parameter : program.parameters()) {
    if (!tables.contains(parameter->value.get())) continue;
    bool matches = false;
    for (std::size_t i = 0; i < options.tables.size(); ++i) {
      if (ir::matches(options.tables[i], parameter->name())) used[i] = matches = true;
    }
    if (!matches) continue;
    const std::int64_t dim = parameter->value->type.shape[1].constant();
    if (dim % options.parts != 0) {
      fail_usage(
          fmt::format("product_quantize: the rows of \"{}\" have {} numbers, which {} parts "
                      "do not divide",
                      parameter->name(), dim, options.parts));
    }
    chosen.push_back(parameter.get());
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    throw Error(ErrorKind::not_found,
                fmt::format("product_quantize: gather() reads no f32 table that matches \"{}\"",
                            options.tables[i]));
  }
  return chosen;
}

// The rows of a table by its codes.
Value rows_of_codes(const Value& codes, const Value& centroids, const Value& ids,
                    const ProductQuantizationOptions& options, const Shape& shape) {
  const std::int64_t parts = options.parts;
  const Value row = cast(gather(codes, ids), {.dtype = i64});
  Shape first(static_cast<std::size_t>(row.rank()), Dim(1));
  first.back() = Dim(parts);
  const Value offsets = iota(Program::of(codes), {.shape = first, .axis = row.rank() - 1}) *
                        static_cast<double>(options.centroids);
  return reshape(gather(centroids, row + offsets), {.shape = shape});
}

}  // namespace

PackedModel product_quantize(const Program& program, Session& session,
                             const std::vector<Value>& outputs,
                             const ProductQuantizationOptions& options) {
  if (outputs.empty()) fail_usage("product_quantize: there are no outputs");
  check_options(options);
  std::shared_ptr<ir::Program> copy = inference_program("product_quantize", program, outputs);
  Program made(copy);
  std::map<std::string, Tensor> tensors;
  std::vector<PackedWeight> report;
  struct Table {
    Value codes, centroids;
  };
  std::unordered_map<const ir::Value*, Table> tables;
  for (const ir::Parameter* parameter : chosen_tables(*copy, options)) {
    const std::string name = parameter->name();
    const Tensor table = session.parameter(name);
    const Codes codes = quantized(table, options);
    const auto add = [&](const std::string& end, const Tensor& tensor) {
      tensors.emplace(name + end, tensor);
      const Shape shape(tensor.shape().begin(), tensor.shape().end());
      return made.parameter(name + end, tensor.dtype(), shape, {.trainable = false});
    };
    ir::Value* value = copy->find_parameter(name)->value.get();
    tables[value] = {add(".codes", codes.codes), add(".centroids", codes.centroids)};
    report.push_back(
        {name, 8, false, static_cast<std::int64_t>(table.size_bytes()),
         static_cast<std::int64_t>(codes.codes.size_bytes() + codes.centroids.size_bytes())});
  }
  transforms::rewrite(*copy, [&](ir::Builder&, ir::Op& op) -> transforms::Replacement {
    if (op.name() != "gather") return std::nullopt;
    const auto found = tables.find(op.operands[0]);
    if (found == tables.end()) return std::nullopt;
    const Value rows = rows_of_codes(found->second.codes, found->second.centroids,
                                     Value(op.operands[1]), options, op.result()->type.shape);
    return {{rows.get()}};
  });
  transforms::prune(*copy, {.keep_side_effects = false, .drop_parameters = true});
  ir::verify(*copy);
  PackedModel result{Program(copy), Session(made, session.options())};
  for (const auto& parameter : copy->parameters()) {
    const std::string& name = parameter->name();
    const auto found = tensors.find(name);
    result.session.set_parameter(name,
                                 found != tensors.end() ? found->second : session.parameter(name));
    result.bytes += static_cast<std::int64_t>(result.session.parameter(name).size_bytes());
  }
  result.weights = std::move(report);
  return result;
}

}  // namespace trireme
