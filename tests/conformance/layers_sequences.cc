// The functions of trireme/sequence.h, with sequences of one and two levels, empty sequences, and
// batches without sequences. sequences.py computes each sequence separately.

#include "layers.h"
#include "trireme/convolution.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"

namespace trireme::conformance {
namespace {

namespace seq = sequence;
using List = std::vector<std::int64_t>;

// Row splits of the outer and the inner level. A case with one level uses only the inner one.
struct Structure {
  List outer, inner;
};
const std::vector<Structure> kStructures = {{{0, 2, 2, 3, 5}, {0, 2, 2, 5, 6, 9}},
                                            {{0, 0, 0}, {0}},
                                            {{0}, {0}},
                                            {{0, 3}, {0, 0, 0, 0}},
                                            {{0, 0, 1}, {0, 7}}};

// The number of rows in a sequence of "y", for the length of the same sequence of x.
std::int64_t length_in_y(std::int64_t length) { return length == 0 ? 0 : (2 * length + 1) % 5; }

class SequenceCase {
 public:
  explicit SequenceCase(const std::string& name, int levels = 1) {
    c_.op = "sequence " + name;
    c_.tolerance = 2e-5;
    c_.program = std::make_unique<Program>("case");
    const Dim inner(std::string_view("inner"));
    x = levels == 1 ? input_of_rows("x", {inner}) : input_of_rows("x", {batch, inner});
    y = Value();
  }

  Value add_y() { return y = input_of_rows("y", {Dim(std::string_view("inner"))}); }
  Value add(const std::string& name, DType dtype, const Shape& shape, double low, double high) {
    const Value value = c_.program->input(name, dtype, shape);
    c_.operands.push_back(value.get());
    ranges_[name] = {low, high};
    return value;
  }

  Case finish(const std::vector<Value>& results, const std::string& torch) {
    c_.torch_reference = torch;
    for (const Value& result : results) c_.results.push_back(result.get());
    for (const auto& parameter : c_.program->ir().parameters()) {
      c_.operands.push_back(parameter->value.get());
    }
    differentiate(c_);
    for (const Structure& structure : kStructures) add_run(structure);
    return std::move(c_);
  }

  Value x, y;

 private:
  Value input_of_rows(const std::string& name, const Shape& outer) {
    const Value value = c_.program->input(name, f32, ragged(outer, {4}));
    const auto& arguments = c_.program->ir().main().arguments;
    c_.operands.push_back(value.get());
    for (const auto& argument : arguments) {
      if (argument->name.starts_with(name + ".splits")) c_.operands.push_back(argument.get());
    }
    return value;
  }

  void add_run(const Structure& structure) {
    const List& inner = structure.inner;
    List other{0};
    for (std::size_t i = 0; i + 1 < inner.size(); ++i) {
      other.push_back(other.back() + length_in_y(inner[i + 1] - inner[i]));
    }
    const auto size = [](const List& splits) {
      return static_cast<std::int64_t>(splits.size()) - 1;
    };
    const SymbolSizes sizes{{"batch", size(structure.outer)},
                            {"inner", size(inner)},
                            {"x", inner.back()},
                            {"y", other.back()}};
    Run run{c_.op + " of " + std::to_string(inner.back()) + " rows", {}, {}};
    std::uint64_t seed = 31 * c_.runs.size() + c_.op.size();
    for (const auto& argument : c_.program->ir().main().arguments) {
      const std::string& name = argument->name;
      const bool weight = name.starts_with("weight");
      const auto [low, high] = ranges_.contains(name) ? ranges_.at(name)
                               : weight               ? std::pair(0.5, 1.5)
                                                      : std::pair(-2.0, 2.0);
      ops::RefTensor& tensor = run.inputs[name];
      tensor = random_tensor(evaluate(argument->type.shape, sizes), argument->type.dtype, low, high,
                             ++seed);
      if (name == "x.splits_0") tensor.data = {structure.outer.begin(), structure.outer.end()};
      if (name == "x.splits" || name == "x.splits_1") tensor.data = {inner.begin(), inner.end()};
      if (name == "y.splits") tensor.data = {other.begin(), other.end()};
      if (name == "places") fill_places(inner, other, tensor);
    }
    for (const auto& parameter : c_.program->ir().parameters()) {
      const ir::Type& type = parameter->value->type;
      run.parameters[parameter->name()] =
          random_tensor(evaluate(type.shape, {}), type.dtype, -1, 1, ++seed);
    }
    c_.runs.push_back(std::move(run));
  }

  // Writes row indices for a scatter. Each index is within its own sequence of x; some occur twice.
  static void fill_places(const List& inner, const List& other, ops::RefTensor& places) {
    for (std::size_t i = 0; i + 1 < inner.size(); ++i) {
      for (auto k = static_cast<std::size_t>(other[i]); k < static_cast<std::size_t>(other[i + 1]);
           ++k) {
        places.data[k] =
            static_cast<double>((5 * k + 3) % static_cast<std::size_t>(inner[i + 1] - inner[i]));
      }
    }
  }

  Case c_;
  std::map<std::string, std::pair<double, double>> ranges_;
};

Value padded(const Value& x, std::int64_t length = 12) { return seq::pad(x, length, -7); }

std::vector<Value> by_sequence(const Value& x) {
  return {seq::sum(x),   seq::mean(x), seq::sqrt_n(x),          seq::max(x),    seq::min(x),
          seq::first(x), seq::last(x), seq::top_k(x, {.k = 2}), seq::splits(x), seq::lengths(x)};
}

void add_by_row(std::vector<Case>& cases) {
  SequenceCase c("rows");
  const Value value = c.add("value", f32, {seq::lengths(c.x).dim(0), 3}, -1, 1);
  cases.push_back(c.finish(
      {seq::softmax(c.x), seq::reverse(c.x), seq::expand(value, c.x), seq::windows(c.x, 3, 0.5),
       seq::windows(c.x, 4, 0, -2), seq::ids(c.x), seq::positions(c.x)},
      "sequences.by_row(x[0], x[1], x[2])"));
}

void add_new_sequences(std::vector<Case>& cases) {
  SequenceCase c("other sequences");
  c.add_y();
  const Dim count = seq::lengths(c.x).dim(0);
  const Value keep = c.add("keep", i64, {c.x.dim(0)}, 0, 2);
  const Value words = c.add("words", i64, {c.x.dim(0)}, 0, 5);
  const Value offset = c.add("offset", i64, {count}, -1, 3);
  const Value length = c.add("length", i64, {count}, -1, 4);
  cases.push_back(
      c.finish({padded(seq::concat({c.x, c.y, c.x}), 20), padded(seq::slice(c.x, offset, length)),
                padded(seq::filter(c.x, keep > 0.0)), padded(seq::erase(words, {0, 2})),
                padded(seq::reshape(c.x, 2), 20), padded(seq::expand_sequences(c.x, c.y))},
               "sequences.made(*x)"));
}

void add_levels(std::vector<Case>& cases) {
  SequenceCase c("levels", 2);
  const Value flat = seq::flatten(c.x);
  const Value back = seq::group(flat, seq::lengths(c.x));
  cases.push_back(c.finish({padded(flat), padded(back)}, "sequences.levels(*x)"));
}

void add_dense(std::vector<Case>& cases) {
  SequenceCase c("dense");
  const Value y = c.add("dense", f32, {seq::lengths(c.x).dim(0), 4, 3}, -1, 1);
  cases.push_back(c.finish({seq::pad(c.x, 4, -1), seq::mask(c.x, 4), seq::unpad(y, c.x)},
                           "sequences.dense(*x)"));
}

void add_scatter(std::vector<Case>& cases) {
  SequenceCase c("scatter");
  c.add_y();
  const Value places = c.add("places", i64, {c.y.dim(0)}, 0, 1);
  cases.push_back(c.finish({seq::scatter(c.x, places, c.y), seq::scatter_add(c.x, places, c.y)},
                           "sequences.scattered(x[0], x[1], x[4], x[2], x[3])"));
}

void add_convolutions(std::vector<Case>& cases) {
  SequenceCase c("convolution");
  cases.push_back(
      c.finish({nn::sequence_conv(c.x, {.units = 3})}, "sequences.convolution(*x, 3, -1)"));
  SequenceCase even("convolution, even");
  cases.push_back(even.finish({nn::sequence_conv(even.x, {.units = 3, .kernel = 4, .first = -3})},
                              "sequences.convolution(*x, 4, -3)"));
  SequenceCase row("row convolution");
  cases.push_back(
      row.finish({nn::row_conv(row.x, {.future = 2})}, "sequences.row_convolution(*x)"));
}

}  // namespace

void add_ragged(std::vector<Case>& cases) {
  SequenceCase one("values");
  std::vector<Value> results = by_sequence(one.x);
  results.insert(results.begin() + 8, seq::top_k(one.x, {.k = 3, .by_size = true, .fill = -1}));
  cases.push_back(one.finish(results, "sequences.by_sequence(x[0], x[1])"));
  SequenceCase two("values, two levels", 2);
  cases.push_back(two.finish(by_sequence(two.x),
                             "(lambda r: r[:8] + r[9:])(sequences.by_sequence(x[0], x[2]))"));
  add_by_row(cases);
  add_new_sequences(cases);
  add_levels(cases);
  add_dense(cases);
  add_scatter(cases);
  add_convolutions(cases);
}

}  // namespace trireme::conformance
