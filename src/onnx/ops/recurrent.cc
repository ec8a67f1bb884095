// RNN, GRU and LSTM. Each step is a step of scan(); a sequence that is over keeps its state and has
// outputs of 0.

#include <algorithm>
#include <functional>
#include <utility>

#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Activate = std::function<Value(const Value&)>;

Activate activation(const NodeContext& n, std::string name, double alpha, double beta) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "sigmoid") return [](const Value& x) { return sigmoid(x); };
  if (name == "tanh") return [](const Value& x) { return tanh(x); };
  if (name == "relu") return [](const Value& x) { return maximum(x, 0.0); };
  if (name == "affine") return [=](const Value& x) { return x * alpha + beta; };
  if (name == "leakyrelu") return [=](const Value& x) { return where(less(x, 0.0), x * alpha, x); };
  if (name == "thresholdedrelu")
    return [=](const Value& x) { return where(less(alpha, x), x, 0.0); };
  if (name == "scaledtanh") return [=](const Value& x) { return tanh(x * beta) * alpha; };
  if (name == "hardsigmoid")
    return [=](const Value& x) { return minimum(maximum(x * alpha + beta, 0.0), 1.0); };
  if (name == "elu")
    return [=](const Value& x) { return where(less(x, 0.0), expm1(x) * alpha, x); };
  if (name == "softsign") return [](const Value& x) { return x / (abs(x) + 1.0); };
  if (name == "softplus") return [](const Value& x) { return log1p_exp(x); };
  n.fail("its activation " + name + " is not known");
}

// What the three layers share: inputs X, W, R, B, lengths and the initial states.
struct Recurrent {
  NodeContext& n;
  int gates;
  std::vector<std::string> defaults;  // activations of one direction

  std::int64_t hidden = 0;
  bool batch_first = false;
  double clip = 0;
  Value x;                       // [steps, batch, inputs]
  std::optional<Value> lengths;  // i64[batch]

  explicit Recurrent(NodeContext& context, int gate_count, std::vector<std::string> activations)
      : n(context), gates(gate_count), defaults(std::move(activations)) {
    batch_first = n.integer("layout", 0) != 0;
    x = n.value(0);
    if (batch_first) x = transpose(x, {.permutation = {1, 0, 2}});
    const Value r = n.value(2);
    n.require(r.rank() == 3 && r.dim(2).is_constant(), "its weight R has no constant shape");
    hidden = r.dim(2).constant();
    clip = n.number("clip", 0);
    if (n.has(4)) lengths = cast(n.value(4), {.dtype = i64});
  }

  std::size_t directions() const {
    return n.text("direction", "forward") == "bidirectional" ? 2 : 1;
  }
  bool is_reverse(std::size_t d) const {
    return d == 1 || n.text("direction", "forward") == "reverse";
  }

  // Weights of a direction.
  Value part(std::size_t input, std::size_t d) const {
    const auto i = static_cast<std::int64_t>(d);
    return squeeze(part_of(n.value(input), 0, i, i + 1), {0});
  }

  Activate gate(std::size_t d, std::size_t i) const {
    const AttributeProto* names = n.attribute("activations");
    const std::size_t at = d * defaults.size() + i;
    const std::string name =
        names != nullptr && at < names->strings_.size() ? names->strings_[at] : defaults[i];
    const auto number = [&](const char* list, double otherwise) {
      const std::vector<double> numbers = n.numbers(list);
      return at < numbers.size() ? numbers[at] : otherwise;
    };
    const bool hard = name == "HardSigmoid";
    const double alpha = number("activation_alpha", hard ? 0.2 : name == "LeakyRelu" ? 0.01 : 1);
    return activation(n, name, alpha,
                      number("activation_beta", hard                   ? 0.5
                                                : name == "ScaledTanh" ? 1
                                                                       : 0));
  }

  Value clipped(const Value& v) const { return clip > 0 ? minimum(maximum(v, -clip), clip) : v; }

  // A state of a direction [batch, hidden]; zeros without one.
  Value initial(std::size_t input, std::size_t d) const {
    if (!n.has(input))
      return constant(n.program(), {.value = 0, .dtype = x.dtype(), .shape = {x.dim(1), hidden}});
    Value states = n.value(input);
    if (batch_first) states = transpose(states, {.permutation = {1, 0, 2}});
    const auto i = static_cast<std::int64_t>(d);
    return squeeze(part_of(states, 0, i, i + 1), {0});
  }

  // x W^T + both biases for all steps at once: [steps, batch, gates * hidden]. `inner`: without
  // the second bias.
  Value inputs_of(std::size_t d, bool inner) const {
    const Value weight = part(1, d);
    Value y = matmul(reshape(x, {.shape = {x.dim(0) * x.dim(1), x.dim(2)}}), weight,
                     {.transpose_b = true});
    if (n.has(3)) {
      const Value bias = part(3, d);
      y = y + part_of(bias, 0, 0, gates * hidden);
      if (!inner) y = y + part_of(bias, 0, gates * hidden, 2 * gates * hidden);
    }
    return reshape(y, {.shape = {x.dim(0), x.dim(1), gates * hidden}});
  }

  Value gate_of(const Value& all, int i) const {
    return part_of(all, all.rank() - 1, i * hidden, (i + 1) * hidden);
  }
  Value rows_of(const Value& weight, int begin, int end) const {
    return part_of(weight, 0, begin * hidden, end * hidden);
  }

  // The elements of each sequence in reverse order.
  Value reversed(const Value& steps) const {
    if (!lengths) return flip(steps, {.axes = {0}});
    const Value at = iota(n.program(), {.shape = steps.shape(), .axis = 0});
    const Value length = reshape(*lengths, {.shape = {1, steps.dim(1), 1}});
    return take_along_axis(steps, where(less(at, length), length - 1.0 - at, at), {.axis = 0});
  }

  using Step = std::function<Values(const Value& input, const Values& states)>;

  struct Ran {
    Value outputs;  // [steps, batch, hidden]
    Values states;
  };

  // Runs a direction. The first state is the output.
  Ran run(std::size_t d, Value inputs, const Values& initial_states, const Step& step) const {
    if (is_reverse(d)) inputs = reversed(inputs);
    const Value number = iota(n.program(), {.shape = {inputs.dim(0)}});
    const ScanResult result = scan(
        initial_states, {inputs, number},
        [&](const Values& states, const Values& rows) {
          Values next = step(rows[0], states);
          Value output = next[0];
          if (lengths) {
            const Value goes_on = unsqueeze(less(rows[1], *lengths), 1);
            for (std::size_t i = 0; i < next.size(); ++i)
              next[i] = where(goes_on, next[i], states[i]);
            output = where(goes_on, output, 0.0);
          }
          return ScanStep{next, {output}};
        },
        {}, SourceLocation());
    return {is_reverse(d) ? reversed(result.outputs[0]) : result.outputs[0], result.carried};
  }

  // Sets Y and the last states of the directions.
  void set(const std::vector<Ran>& ran) const {
    Values outputs;
    for (const Ran& one : ran) outputs.push_back(one.outputs);
    Value y = stack(outputs, 1);  // [steps, directions, batch, hidden]
    n.set(0, batch_first ? transpose(y, {.permutation = {2, 0, 1, 3}}) : y);
    for (std::size_t s = 0; s < ran[0].states.size(); ++s) {
      Values last;
      for (const Ran& one : ran) last.push_back(one.states[s]);
      const Value states = stack(last, 0);
      n.set(s + 1, batch_first ? transpose(states, {.permutation = {1, 0, 2}}) : states);
    }
  }
};

Value times(const Value& state, const Value& weight) {
  return matmul(state, weight, {.transpose_b = true});
}

void import_rnn(NodeContext& n) {
  const Recurrent layer(n, 1, {"Tanh"});
  std::vector<Recurrent::Ran> ran;
  for (std::size_t d = 0; d < layer.directions(); ++d) {
    const Value weight = layer.part(2, d);
    const Activate f = layer.gate(d, 0);
    ran.push_back(layer.run(d, layer.inputs_of(d, false), {layer.initial(5, d)},
                            [&](const Value& input, const Values& states) {
                              return Values{f(layer.clipped(input + times(states[0], weight)))};
                            }));
  }
  layer.set(ran);
}

// Gates z, r, h. With linear_before_reset the reset gate multiplies the product of the state.
void import_gru(NodeContext& n) {
  const Recurrent layer(n, 3, {"Sigmoid", "Tanh"});
  const bool linear = n.integer("linear_before_reset", 0) != 0;
  std::vector<Recurrent::Ran> ran;
  for (std::size_t d = 0; d < layer.directions(); ++d) {
    const Value weight = layer.part(2, d);
    const Activate f = layer.gate(d, 0), g = layer.gate(d, 1);
    const Value both = layer.rows_of(weight, 0, 2), last = layer.rows_of(weight, 2, 3);
    std::optional<Value> bias;
    if (n.has(3)) bias = part_of(layer.part(3, d), 0, 3 * layer.hidden, 6 * layer.hidden);
    ran.push_back(layer.run(
        d, layer.inputs_of(d, true), {layer.initial(5, d)},
        [&](const Value& input, const Values& states) {
          const auto own_bias = [&](int i, const Value& v) {
            return bias ? v + part_of(*bias, 0, i * layer.hidden, (i + 1) * layer.hidden) : v;
          };
          const Value product = times(states[0], both);
          const Value z =
              f(layer.clipped(own_bias(0, layer.gate_of(input, 0) + layer.gate_of(product, 0))));
          const Value r =
              f(layer.clipped(own_bias(1, layer.gate_of(input, 1) + layer.gate_of(product, 1))));
          const Value inner = linear ? r * own_bias(2, times(states[0], last))
                                     : own_bias(2, times(r * states[0], last));
          const Value h = g(layer.clipped(layer.gate_of(input, 2) + inner));
          return Values{(1.0 - z) * h + z * states[0]};
        }));
  }
  layer.set(ran);
}

// Gates i, o, f, c, with peepholes p of i, o and f.
void import_lstm(NodeContext& n) {
  const Recurrent layer(n, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = n.integer("input_forget", 0) != 0;
  std::vector<Recurrent::Ran> ran;
  for (std::size_t d = 0; d < layer.directions(); ++d) {
    const Value weight = layer.part(2, d);
    const Activate f = layer.gate(d, 0), g = layer.gate(d, 1), h = layer.gate(d, 2);
    std::optional<Value> peepholes;
    if (n.has(7)) peepholes = layer.part(7, d);
    ran.push_back(layer.run(
        d, layer.inputs_of(d, false), {layer.initial(5, d), layer.initial(6, d)},
        [&](const Value& input, const Values& states) {
          const Value all = input + times(states[0], weight);
          const auto with_peephole = [&](int gate, int place, const Value& cell) {
            const Value v = layer.gate_of(all, gate);
            return layer.clipped(peepholes ? v + cell * part_of(*peepholes, 0, place * layer.hidden,
                                                                (place + 1) * layer.hidden)
                                           : v);
          };
          const Value in = f(with_peephole(0, 0, states[1]));
          const Value forget = coupled ? 1.0 - in : f(with_peephole(2, 2, states[1]));
          const Value cell = forget * states[1] + in * g(layer.clipped(layer.gate_of(all, 3)));
          const Value out = f(with_peephole(1, 1, cell));
          return Values{out * h(cell), cell};
        }));
  }
  layer.set(ran);
}

constexpr Operator kRecurrentOperators[] = {
    {"", "GRU", import_gru},
    {"", "LSTM", import_lstm},
    {"", "RNN", import_rnn},
};

}  // namespace

Operators recurrent_operators() { return kRecurrentOperators; }

}  // namespace trireme::onnx
