#include "trireme/recurrent.h"

#include <functional>

#include "nn/layer.h"
#include "trireme/ops.h"
#include "trireme/rnn.h"

namespace trireme::nn {
namespace {

// Columns [part * width, (part + 1) * width) of x [n, ...].
Value columns(const Value& x, std::int64_t part, std::int64_t width) {
  return slice(x, {.starts = {0, part * width}, .limits = {x.dim(0), (part + 1) * width}});
}

struct Shared {
  std::int64_t width, units, state;  // of x, of a gate, of h
  Value weight, recurrent, bias;

  Shared(Layer& layer, const Value& x, std::int64_t units_, std::int64_t gates,
         std::int64_t projection = 0)
      : width(x.dim(1).constant()), units(units_), state(projection > 0 ? projection : units_) {
    const DType dtype = x.dtype();
    weight = layer.parameter("weight", dtype, {width, gates * units}, xavier_uniform());
    recurrent = layer.parameter("recurrent", dtype, {state, gates * units}, xavier_uniform());
    bias = layer.parameter("bias", dtype, {gates * units}, zeros());
  }
};

// One layer in one direction.
using OneWay = std::function<Value(Layer& layer, const Value& x, bool reverse)>;

Value stacked(const char* stem, const Value& input, const RecurrentOptions& options,
              const SourceLocation& where, const OneWay& one_way) {
  Layer layer(input, stem, options.name, where);
  layer.require(input.rank() == 2 && input.dim(1).is_constant(),
                "x is [rows, width] with a constant width", "flatten what else a row has");
  layer.require(options.units > 0 && options.layers > 0, "units and layers are above 0",
                "give .units");
  layer.require(!(options.bidirectional && options.reverse),
                "both directions leave nothing to reverse", "leave .reverse out");
  Value x = input;
  for (int i = 0; i < options.layers; ++i) {
    if (i > 0 && options.dropout > 0) x = dropout(x, {.rate = options.dropout});
    const auto run = [&](bool reverse) {
      const std::string name = "layer_" + std::to_string(i) + (reverse ? "_backwards" : "");
      Layer own(x, stem, name, where);
      return one_way(own, x, reverse);
    };
    x = options.bidirectional ? concat({run(false), run(true)}, {.axis = 1}) : run(options.reverse);
  }
  return x;
}

Value run_step(const Value& x, bool reverse, const std::function<void(Step&, const Value&)>& body) {
  return run_rnn([&](Step& step) { body(step, step.input(x)); }, {.reverse = reverse}).outputs[0];
}

}  // namespace

Value simple_rnn(const Value& x, const RecurrentOptions& options, SourceLocation where) {
  return stacked("simple_rnn", x, options, where, [&](Layer& layer, const Value& in, bool reverse) {
    const Shared p(layer, in, options.units, 1);
    return run_step(in, reverse, [&](Step& step, const Value& now) {
      const Value h = step.memory({.width = p.units, .dtype = in.dtype()});
      const Value next = nn::tanh(matmul(now, p.weight) + p.bias + matmul(h, p.recurrent));
      step.update(h, next);
      step.output(next);
    });
  });
}

Value gru(const Value& x, const RecurrentOptions& options, SourceLocation where) {
  return stacked("gru", x, options, where, [&](Layer& layer, const Value& in, bool reverse) {
    const Shared p(layer, in, options.units, 3);
    const Value inner = layer.parameter("recurrent_bias", in.dtype(), {p.units}, zeros());
    return run_step(in, reverse, [&](Step& step, const Value& now) {
      const Value h = step.memory({.width = p.units, .dtype = in.dtype()});
      const Value of_x = matmul(now, p.weight) + p.bias;
      const Value of_h = matmul(h, p.recurrent);
      const auto both = [&](std::int64_t gate) {
        return columns(of_x, gate, p.units) + columns(of_h, gate, p.units);
      };
      const Value reset = nn::sigmoid(both(0)), keeps = nn::sigmoid(both(1));
      const Value candidate =
          nn::tanh(columns(of_x, 2, p.units) + reset * (columns(of_h, 2, p.units) + inner));
      const Value next = candidate + keeps * (h - candidate);
      step.update(h, next);
      step.output(next);
    });
  });
}

Value lstm(const Value& x, const LstmOptions& options, SourceLocation where) {
  const RecurrentOptions shape{.units = options.units,
                               .layers = options.layers,
                               .bidirectional = options.bidirectional,
                               .reverse = options.reverse,
                               .dropout = options.dropout,
                               .name = options.name};
  return stacked("lstm", x, shape, where, [&](Layer& layer, const Value& in, bool reverse) {
    const Shared p(layer, in, options.units, 4, options.projection);
    Value peepholes, projection;
    if (options.peepholes) {
      peepholes = layer.parameter("peepholes", in.dtype(), {3, p.units}, zeros());
    }
    if (options.projection > 0) {
      projection = layer.parameter("projection", in.dtype(), {p.units, p.state}, xavier_uniform());
    }
    const auto seen = [&](const Value& gate, std::int64_t which, const Value& cell) {
      if (!peepholes) return gate;
      const Value factor =
          reshape(slice(peepholes, {.starts = {which, 0}, .limits = {which + 1, p.units}}),
                  {.shape = {p.units}});
      return gate + cell * factor;
    };
    return run_step(in, reverse, [&](Step& step, const Value& now) {
      const Value h = step.memory({.width = p.state, .dtype = in.dtype()});
      const Value c = step.memory({.width = p.units, .dtype = in.dtype()});
      const Value gates = matmul(now, p.weight) + p.bias + matmul(h, p.recurrent);
      const auto gate = [&](std::int64_t i) { return columns(gates, i, p.units); };
      const Value enters = nn::sigmoid(seen(gate(0), 0, c));
      const Value stays = nn::sigmoid(seen(gate(1), 1, c) + options.forget_bias);
      const Value cell = stays * c + enters * nn::tanh(gate(2));
      Value next = nn::sigmoid(seen(gate(3), 2, cell)) * nn::tanh(cell);
      if (projection) next = matmul(next, projection);
      step.update(h, next);
      step.update(c, cell);
      step.output(next);
    });
  });
}

}  // namespace trireme::nn
