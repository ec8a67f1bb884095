#include "trireme/recurrent.h"

#include <functional>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"

namespace trireme::nn {
namespace {

// Returns columns [part * width, (part + 1) * width) of x [n, ...].
Value columns(const Value& x, std::int64_t part, std::int64_t width) {
  return slice(x, {.starts = {0, part * width}, .limits = {x.dim(0), (part + 1) * width}});
}

// One layer in one direction.
struct Direction {
  bool reverse = false;
  std::int64_t number = 0;        // of its states
  std::string torch_suffix = {};  // of the tensors in PyTorch: "_l0_reverse"
};

struct GateWeights {
  std::int64_t width, units, state;  // widths of x, of a gate, and of h
  Value weight, recurrent, bias;
  std::string torch_suffix;

  GateWeights(Layer& layer, const Value& x, std::int64_t units_, std::int64_t gates,
              const Direction& direction, std::int64_t projection = 0)
      : width(x.dim(1).constant()),
        units(units_),
        state(projection > 0 ? projection : units_),
        torch_suffix(direction.torch_suffix) {
    const DType dtype = x.dtype();
    const std::int64_t rows = gates * units;
    layer.torch_source(".weight", {.terms = {in_torch("weight_ih", rows)}, .transposed = true});
    layer.torch_source(".recurrent", {.terms = {in_torch("weight_hh", rows)}, .transposed = true});
    layer.torch_source(".bias", {.terms = {in_torch("bias_ih", rows), in_torch("bias_hh", rows)}});
    weight = layer.parameter("weight", dtype, {width, gates * units}, xavier_uniform());
    recurrent = layer.parameter("recurrent", dtype, {state, gates * units}, xavier_uniform());
    bias = layer.parameter("bias", dtype, {gates * units}, zeros());
  }

  ir::TorchTerm in_torch(const char* tensor, std::int64_t rows) const {
    return ir::whole(tensor + torch_suffix, rows);
  }
};

// What one layer returns in one direction: its outputs and the final states, one for each kind.
using OneWay = std::function<RnnResult(Layer& layer, const Value& x, const Direction& direction)>;

// The sequences of x [n, steps, width], as rows.
Value rows_of_dense(LocationScope& at, const Value& x) {
  const Value zeros =
      at.make("iota",
              {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", Shape{x.dim(0)}}}) *
      0;
  const Value lengths = zeros + dim_size(x, {.axes = {1}, .dtype = DType::i64});
  return sequence::group(reshape(x, {.shape = {x.dim(0) * x.dim(1), x.dim(2)}}), lengths);
}

// The layers of one call, from x to the outputs of the last one. `states` receives the final states
// of each kind, in the order of PyTorch.
Value stacked(const char* stem, const Value& input, const RecurrentOptions& options,
              const SourceLocation& where, const OneWay& one_way,
              std::vector<std::vector<Value>>& states) {
  Layer layer(input, stem, options.name, where);
  const bool is_dense = input.rank() == 3;
  layer.require((input.rank() == 2 || is_dense) && input.dim(-1).is_constant(),
                "x must be [rows, width] or [n, steps, width] with a constant width",
                "flatten the other dimensions of a row");
  layer.require(options.units > 0 && options.layers > 0, "units and layers must be above 0",
                "set .units");
  layer.require(!(options.bidirectional && options.reverse),
                "reverse has no meaning with both directions", "omit .reverse");
  Value x = is_dense ? rows_of_dense(layer, input) : input;
  for (int i = 0; i < options.layers; ++i) {
    if (i > 0 && options.dropout > 0) x = dropout(x, {.rate = options.dropout});
    const auto run = [&](bool reverse) {
      const std::string name = "layer_" + std::to_string(i) + (reverse ? "_backwards" : "");
      layer.torch_module(name, "");
      Layer own(x, stem, name, where);
      const bool second = reverse && options.bidirectional;
      const std::int64_t number = options.bidirectional ? 2 * i + (second ? 1 : 0) : i;
      const RnnResult result =
          one_way(own, x, {reverse, number, "_l" + std::to_string(i) + (second ? "_reverse" : "")});
      states.resize(result.states.size());
      for (std::size_t kind = 0; kind < states.size(); ++kind) {
        states[kind].push_back(result.states[kind]);
      }
      return result.outputs[0];
    };
    if (options.bidirectional) {
      const Value forward = run(false), backward = run(true);
      x = concat({forward, backward}, {.axis = 1});
    } else {
      x = run(options.reverse);
    }
  }
  return is_dense ? sequence::pad(x, input.dim(1)) : x;
}

struct GruWeights : GateWeights {
  Value inner;  // the bias inside the reset gate's product

  GruWeights(Layer& layer, const Value& x, std::int64_t units_, const Direction& direction)
      : GateWeights(layer, x, units_, 3, direction),
        inner(layer.parameter("recurrent_bias", x.dtype(), {units_}, zeros())) {
    ir::TorchTerm of_gates = in_torch("bias_hh", 3 * units), of_candidate = of_gates;
    of_gates.rows = 2 * units;
    of_candidate.from = 2 * units;
    of_candidate.rows = units;
    layer.torch_source(".bias", {.terms = {in_torch("bias_ih", 3 * units), of_gates}});
    layer.torch_source(".recurrent_bias", {.terms = {of_candidate}});
  }

  Value next(const Value& now, const Value& h) const {
    const Value of_x = matmul(now, weight) + bias;
    const Value of_h = matmul(h, recurrent);
    const auto pre_activation = [&](std::int64_t gate) {
      return columns(of_x, gate, units) + columns(of_h, gate, units);
    };
    const Value reset = nn::sigmoid(pre_activation(0)),
                update_gate = nn::sigmoid(pre_activation(1));
    const Value candidate =
        nn::tanh(columns(of_x, 2, units) + reset * (columns(of_h, 2, units) + inner));
    return candidate + update_gate * (h - candidate);
  }
};

struct LstmWeights : GateWeights {
  Value peepholes, projection;
  double forget_bias;

  LstmWeights(Layer& layer, const Value& x, const LstmOptions& options, const Direction& direction)
      : GateWeights(layer, x, options.units, 4, direction, options.projection),
        forget_bias(options.forget_bias) {
    layer.torch_source(
        ".bias", {.terms = {in_torch("bias_ih", 4 * units),
                            in_torch("bias_hh", 4 * units),
                            {.tensor = "", .rows = units, .to = units, .number = -forget_bias}}});
    if (options.peepholes) {
      peepholes = layer.parameter("peepholes", x.dtype(), {3, units}, zeros());
    }
    if (options.projection > 0) {
      projection = layer.parameter("projection", x.dtype(), {units, state}, xavier_uniform());
      layer.torch_source(".projection",
                         {.terms = {in_torch("weight_hr", state)}, .transposed = true});
    }
  }

  // Adds the peephole of a gate to the cell, if there are peepholes.
  Value add_peephole(const Value& gate, std::int64_t which, const Value& cell) const {
    if (!peepholes) return gate;
    const Value factor = reshape(
        slice(peepholes, {.starts = {which, 0}, .limits = {which + 1, units}}), {.shape = {units}});
    return gate + cell * factor;
  }

  LstmState next(const Value& now, const LstmState& before) const {
    const Value gates = matmul(now, weight) + bias + matmul(before.h, recurrent);
    const auto gate = [&](std::int64_t i) { return columns(gates, i, units); };
    const Value input_gate = nn::sigmoid(add_peephole(gate(0), 0, before.c));
    const Value forget_gate = nn::sigmoid(add_peephole(gate(1), 1, before.c) + forget_bias);
    const Value cell = forget_gate * before.c + input_gate * nn::tanh(gate(2));
    const Value h = nn::sigmoid(add_peephole(gate(3), 2, cell)) * nn::tanh(cell);
    return {projection ? matmul(h, projection) : h, cell};
  }
};

void require_cell(Layer& layer, const Value& x, const Value& h, std::int64_t state) {
  layer.require(x.rank() == 2 && x.dim(1).is_constant(),
                "x must be [rows, width] with a constant width",
                "flatten the other dimensions of a row");
  layer.require(state > 0, "units must be above 0", "set .units");
  layer.require(h.rank() == 2 && h.dim(1) == Dim(state),
                "the previous state must be [rows, " + std::to_string(state) + "]",
                "set the width of its state to that number");
}

RnnResult run_step(const Value& x, const Direction& direction,
                   const std::function<void(Step&, const Value&)>& body) {
  return run_rnn([&](Step& step) { body(step, step.input(x)); }, {.reverse = direction.reverse});
}

// The first state of one layer in one direction: its part of `initial`, or zeros.
StateOptions first_state(Layer& layer, const Value& initial, const RecurrentOptions& options,
                         const Direction& direction, std::int64_t width, DType dtype) {
  StateOptions state{.width = width, .dtype = dtype};
  if (!initial) return state;
  const std::int64_t count = options.layers * (options.bidirectional ? 2 : 1);
  layer.require(initial.rank() == 3 && initial.dim(0) == Dim(count) &&
                    initial.dim(2) == Dim(width) && initial.dtype() == dtype,
                "the first states are " + initial.str() + ", but must be " +
                    std::string(name_of(dtype)) + "[" + std::to_string(count) + ", n, " +
                    std::to_string(width) + "]",
                "one for each layer and direction");
  const Dim& n = initial.dim(1);
  const Value one = slice(
      initial, {.starts = {direction.number, 0, 0}, .limits = {direction.number + 1, n, width}});
  state.init = reshape(one, {.shape = {n, width}});
  return state;
}

RecurrentResult simple_rnn_of(const Value& x, const RecurrentOptions& options, SourceLocation where,
                              bool with_states) {
  std::vector<std::vector<Value>> states;
  const Value outputs = stacked(
      "simple_rnn", x, options, where,
      [&](Layer& layer, const Value& in, const Direction& direction) {
        const GateWeights p(layer, in, options.units, 1, direction);
        const StateOptions first =
            first_state(layer, options.initial, options, direction, p.units, in.dtype());
        return run_step(in, direction, [&](Step& step, const Value& now) {
          const Value h = step.state(first);
          const Value next = nn::tanh(matmul(now, p.weight) + p.bias + matmul(h, p.recurrent));
          step.update(h, next);
          step.output(next);
        });
      },
      states);
  return {outputs, with_states ? stack(states[0]) : Value()};
}

RecurrentResult gru_of(const Value& x, const RecurrentOptions& options, SourceLocation where,
                       bool with_states) {
  std::vector<std::vector<Value>> states;
  const Value outputs = stacked(
      "gru", x, options, where,
      [&](Layer& layer, const Value& in, const Direction& direction) {
        const GruWeights p(layer, in, options.units, direction);
        const StateOptions first =
            first_state(layer, options.initial, options, direction, p.units, in.dtype());
        return run_step(in, direction, [&](Step& step, const Value& now) {
          const Value h = step.state(first);
          const Value next = p.next(now, h);
          step.update(h, next);
          step.output(next);
        });
      },
      states);
  return {outputs, with_states ? stack(states[0]) : Value()};
}

LstmResult lstm_of(const Value& x, const LstmOptions& options, SourceLocation where,
                   bool with_states) {
  const RecurrentOptions shape{.units = options.units,
                               .layers = options.layers,
                               .bidirectional = options.bidirectional,
                               .reverse = options.reverse,
                               .dropout = options.dropout,
                               .name = options.name};
  std::vector<std::vector<Value>> states;
  const Value outputs = stacked(
      "lstm", x, shape, where,
      [&](Layer& layer, const Value& in, const Direction& direction) {
        const LstmWeights p(layer, in, options, direction);
        const StateOptions first_h =
            first_state(layer, options.initial_h, shape, direction, p.state, in.dtype());
        const StateOptions first_c =
            first_state(layer, options.initial_c, shape, direction, p.units, in.dtype());
        return run_step(in, direction, [&](Step& step, const Value& now) {
          const LstmState before{step.state(first_h), step.state(first_c)};
          const LstmState next = p.next(now, before);
          step.update(before.h, next.h);
          step.update(before.c, next.c);
          step.output(next.h);
        });
      },
      states);
  if (!with_states) return {outputs, {}, {}};
  return {outputs, stack(states[0]), stack(states[1])};
}

}  // namespace

Value simple_rnn(const Value& x, const RecurrentOptions& options, SourceLocation where) {
  return simple_rnn_of(x, options, where, false).outputs;
}

RecurrentResult simple_rnn_with_states(const Value& x, const RecurrentOptions& options,
                                       SourceLocation where) {
  return simple_rnn_of(x, options, where, true);
}

Value simple_rnn_cell(const Value& x, const Value& h, const CellOptions& options,
                      SourceLocation where) {
  Layer layer(x, "simple_rnn", options.name, where);
  require_cell(layer, x, h, options.units);
  const GateWeights p(layer, x, options.units, 1, {});
  return nn::tanh(matmul(x, p.weight) + p.bias + matmul(h, p.recurrent));
}

Value gru(const Value& x, const RecurrentOptions& options, SourceLocation where) {
  return gru_of(x, options, where, false).outputs;
}

RecurrentResult gru_with_states(const Value& x, const RecurrentOptions& options,
                                SourceLocation where) {
  return gru_of(x, options, where, true);
}

Value gru_cell(const Value& x, const Value& h, const CellOptions& options, SourceLocation where) {
  Layer layer(x, "gru", options.name, where);
  require_cell(layer, x, h, options.units);
  return GruWeights(layer, x, options.units, {}).next(x, h);
}

Value lstm(const Value& x, const LstmOptions& options, SourceLocation where) {
  return lstm_of(x, options, where, false).outputs;
}

LstmResult lstm_with_states(const Value& x, const LstmOptions& options, SourceLocation where) {
  return lstm_of(x, options, where, true);
}

LstmState lstm_cell(const Value& x, const LstmState& state, const CellOptions& options,
                    SourceLocation where) {
  Layer layer(x, "lstm", options.name, where);
  require_cell(layer, x, state.h, options.units);
  require_cell(layer, x, state.c, options.units);
  return LstmWeights(layer, x, {.units = options.units}, {}).next(x, state);
}

}  // namespace trireme::nn
