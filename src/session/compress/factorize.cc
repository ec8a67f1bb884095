// Products of low rank in place of weights.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/program.h"
#include "session/model/inference_program.h"
#include "transforms/prune.h"
#include "transforms/rewrite.h"
#include "trireme/ops.h"
#include "trireme/packing.h"

namespace trireme {
namespace {

bool is_plain_matmul(const ir::Op& op) {
  return op.name() == "matmul" && op.operands[1]->type.shape.size() == 2 &&
         !get_attribute<bool>(op.attributes, "transpose_a") &&
         !get_attribute<bool>(op.attributes, "transpose_b");
}

bool is_plain_conv(const ir::Op& op) {
  return op.name() == "conv2d" && get_attribute<std::int64_t>(op.attributes, "groups") == 1;
}

// The parameters that plain products and convolutions alone read, as their second operand.
std::unordered_set<const ir::Value*> weights_of(const ir::Program& program) {
  std::unordered_set<const ir::Value*> weights, others;
  const std::function<void(const ir::Block&, bool)> read = [&](const ir::Block& block,
                                                               bool nested) {
    for (const auto& op : block.ops) {
      for (std::size_t i = 0; i < op->operands.size(); ++i) {
        const ir::Value* value = op->operands[i];
        const bool is_weight = !nested && i == 1 && value->kind == ir::ValueKind::parameter &&
                               value->type.dtype == f32 &&
                               (is_plain_matmul(*op) || is_plain_conv(*op));
        (is_weight ? weights : others).insert(value);
      }
      for (const auto& inner : op->blocks) read(*inner, true);
    }
    others.insert(block.results.begin(), block.results.end());
  };
  read(program.main(), false);
  std::erase_if(weights, [&](const ir::Value* value) { return others.contains(value); });
  return weights;
}

// A matrix as left [rows, rank] times right [rank, columns].
struct Factors {
  Tensor left, right;
  std::int64_t rank = 0;
};

// The smallest rank with this share of the squared singular values, at least 1; no factors if they
// would not be smaller than the matrix, or if it is not finite.
Factors factors_of(const Tensor& matrix, double energy, const SessionOptions& options) {
  const std::int64_t rows = matrix.dim(0), columns = matrix.dim(1);
  if (rows == 0 || columns == 0) return {};
  Program program("svd");
  const Value x = program.input("x", f64, {rows, columns});
  const std::vector<Tensor> usv =
      Session(program, {.threads = options.threads}).run({{"x", matrix.cast(f64)}}, svd(x));
  const std::vector<double> s = usv[1].to_vector<double>();
  double total = 0, kept = 0;
  for (const double value : s) total += value * value;
  if (!std::isfinite(total)) return {};
  Factors made;
  while (made.rank < std::ssize(s) && (made.rank == 0 || kept < energy * total)) {
    kept += s[static_cast<std::size_t>(made.rank)] * s[static_cast<std::size_t>(made.rank)];
    ++made.rank;
  }
  if (made.rank * (rows + columns) >= rows * columns) return {};
  made.left = Tensor(f32, {rows, made.rank});
  made.right = Tensor(f32, {made.rank, columns});
  const auto size = std::ssize(s);
  for (std::int64_t r = 0; r < made.rank; ++r) {
    const double root = std::sqrt(s[static_cast<std::size_t>(r)]);
    for (std::int64_t i = 0; i < rows; ++i) {
      made.left.data<float>()[i * made.rank + r] =
          static_cast<float>(usv[0].data<double>()[i * size + r] * root);
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      made.right.data<float>()[r * columns + j] =
          static_cast<float>(usv[2].data<double>()[r * columns + j] * root);
    }
  }
  return made;
}

// The parameters of the factors, in the shapes of the ops that read them.
struct Pair {
  Value in, out;
};

Value product_of(const ir::Op& op, const Pair& factors) {
  const Value x(op.operands[0]);
  if (op.name() == "matmul") return matmul(matmul(x, factors.in), factors.out);
  const auto list = [&](const char* name) {
    return get_attribute<std::vector<std::int64_t>>(op.attributes, name);
  };
  const Value channels =
      conv2d(x, factors.in,
             {.stride = list("stride"), .padding = list("padding"), .dilation = list("dilation")});
  return conv2d(channels, factors.out, {});
}

class Factorizing {
 public:
  Factorizing(Program& program, Session& session, const FactorizeOptions& options)
      : program_(program), session_(session), options_(options) {}

  void add(const ir::Parameter& parameter, bool is_conv) {
    const std::string name = parameter.name();
    const Tensor weight = session_.parameter(name);
    const std::int64_t rows = weight.dim(0);
    const Tensor matrix = is_conv ? weight.reshaped({rows, rows == 0 ? 0 : -1}) : weight;
    const Factors factors = factors_of(matrix, options_.energy, session_.options());
    if (factors.rank == 0) return;
    Pair pair;
    if (is_conv) {
      pair.in = add_factor(
          parameter, ".in",
          factors.right.reshaped({factors.rank, weight.dim(1), weight.dim(2), weight.dim(3)}));
      pair.out = add_factor(parameter, ".out", factors.left.reshaped({rows, factors.rank, 1, 1}));
    } else {
      pair.in = add_factor(parameter, ".in", factors.left);
      pair.out = add_factor(parameter, ".out", factors.right);
    }
    pairs_.emplace(parameter.value.get(), pair);
    report_.push_back({name, factors.rank, std::min(matrix.dim(0), matrix.dim(1))});
  }

  void rewrite() {
    ir::Program& ir = program_.ir();
    transforms::rewrite(ir, [&](ir::Builder&, ir::Op& op) -> transforms::Replacement {
      if (!is_plain_matmul(op) && !is_plain_conv(op)) return std::nullopt;
      const auto found = pairs_.find(op.operands[1]);
      if (found == pairs_.end()) return std::nullopt;
      return {{product_of(op, found->second).get()}};
    });
    transforms::prune(ir, {.drop_parameters = true});
    ir::verify(ir);
  }

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  std::vector<FactorizedWeight>& report() { return report_; }

 private:
  Value add_factor(const ir::Parameter& parameter, const char* end, const Tensor& tensor) {
    const std::string name = parameter.name() + end;
    tensors_.emplace(name, tensor);
    return program_.parameter(name, f32, Shape(tensor.shape().begin(), tensor.shape().end()),
                              {.trainable = parameter.trainable, .settings = parameter.settings});
  }

  Program& program_;
  Session& session_;
  const FactorizeOptions& options_;
  std::unordered_map<const ir::Value*, Pair> pairs_;
  std::map<std::string, Tensor> tensors_;
  std::vector<FactorizedWeight> report_;
};

// Whether convolutions read the weight; matrices otherwise.
bool is_conv_weight(const ir::Value& value) { return value.type.shape.size() == 4; }

}  // namespace

FactorizedModel factorize(const Program& program, Session& session,
                          const std::vector<Value>& outputs, const FactorizeOptions& options) {
  if (outputs.empty()) fail_usage("factorize: there are no outputs");
  if (!(options.energy > 0 && options.energy <= 1)) {
    fail_usage(fmt::format("factorize: energy is {}; it is in (0, 1]", options.energy));
  }
  std::shared_ptr<ir::Program> copy = network_program("factorize", program, outputs);
  Program made(copy);
  Factorizing factorizing(made, session, options);
  const auto weights = weights_of(*copy);
  std::vector<const ir::Parameter*> chosen;
  for (const auto& parameter : copy->parameters()) {
    const bool matches = std::any_of(
        options.parameters.begin(), options.parameters.end(),
        [&](const std::string& pattern) { return ir::matches(pattern, parameter->name()); });
    if (matches && weights.contains(parameter->value.get())) chosen.push_back(parameter.get());
  }
  for (const ir::Parameter* parameter : chosen) {
    factorizing.add(*parameter, is_conv_weight(*parameter->value));
  }
  factorizing.rewrite();
  FactorizedModel result{Program(copy), Session(made, session.options())};
  for (const auto& parameter : copy->parameters()) {
    const std::string& name = parameter->name();
    const auto found = factorizing.tensors().find(name);
    const bool is_new = found != factorizing.tensors().end();
    result.session.set_parameter(name, is_new ? found->second : session.parameter(name));
    result.parameters += result.session.parameter(name).elements();
  }
  result.weights = std::move(factorizing.report());
  return result;
}

}  // namespace trireme
