// Positional encodings for Transformers.

#include <cmath>

#include "nn/sequence.h"
#include "nn/sequences.h"
#include "trireme/attention.h"

namespace trireme::nn {

namespace {

// Adds sines and cosines to x. `positions` is [rows], or empty for x [batch, steps, width]. Pairs
// of columns have their own axis, so that no column number must be halved.
Value add_sinusoids(Layer& layer, const Value& x, const Value& positions) {
  const std::int64_t width = x.dim(-1).constant();
  layer.require(width % 2 == 0 && is_arithmetic_float(x.dtype()),
                "sines and cosines need floats with an even width");
  const Shape shape{x.dim(-2), width / 2, 2};
  const auto iota_along = [&](std::int64_t axis) {
    return layer.make("iota", {{"axis", axis}, {"dtype", x.dtype()}, {"shape", shape}});
  };
  const double log_decay = -std::log(10000.0) * 2 / static_cast<double>(width);
  const Value step =
      positions ? broadcast(cast(positions, {.dtype = x.dtype()}), {.shape = shape, .axes = {0}})
                : iota_along(0);
  const Value angle = step * exp(iota_along(1) * log_decay);
  const Value waves = trireme::where(iota_along(2) < 0.5, sin(angle), cos(angle));
  return x + reshape(waves, {.shape = {x.dim(-2), width}});
}

}  // namespace

Value add_sinusoidal_positions(const Value& x, SourceLocation where) {
  Layer layer(x, "sinusoidal_positions", "", where);
  require_sequence(layer, x);
  return add_sinusoids(layer, x,
                       x.rank() == 3 ? Value() : Sequences("sinusoidal_positions", x).positions());
}

Value add_sinusoidal_positions(const Value& x, const Value& positions, SourceLocation where) {
  const LocationScope at(positions, "sinusoidal_positions", where);
  Layer layer(x, "sinusoidal_positions", "", where);
  require_sequence(layer, x);
  layer.require(x.rank() == 2 && positions.rank() == 1 && is_integer(positions.dtype()) &&
                    positions.dim(0) == x.dim(0),
                "the positions do not have one element for each row: " + positions.str(),
                "positions must be integers [rows], and x [rows, width]");
  return add_sinusoids(layer, x, positions);
}

Value add_learned_positions(const Value& x, LearnedPositionsOptions options, SourceLocation where) {
  Layer layer(x, "learned_positions", options.name, where);
  require_sequence(layer, x);
  options.most_steps.apply_to(options.max_steps);
  layer.require(options.max_steps > 0, "max_steps must be at least 1", "{.max_steps = 512}");
  const Dim& steps = x.dim(-2);
  const bool ragged = x.rank() == 2;
  layer.require(ragged || !steps.is_constant() || steps.constant() <= options.max_steps,
                "sequences of " + steps.str() +
                    " steps are longer than max_steps = " + std::to_string(options.max_steps));
  const Value weight = layer.parameter("weight", x.dtype(), {options.max_steps, x.dim(-1)},
                                       options.weight_init, true, options.weight_settings);
  if (ragged) return x + gather(weight, Sequences("learned_positions", x).positions());
  if (steps.is_constant()) return x + slice(weight, {.starts = {0, 0}, .limits = {steps, -1}});
  const Value rows = layer.make(
      "iota", {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", Shape{steps}}});
  return x + gather(weight, rows);
}

namespace {

// The position of each step or row, as floats; [1] steps or rows.
Value rotary_steps(Layer& layer, const Value& x, const Value& positions) {
  if (positions) return cast(positions, {.dtype = x.dtype()});
  if (x.rank() == 2) {
    return cast(Sequences("rotary_positions", x).positions(), {.dtype = x.dtype()});
  }
  return layer.make("iota",
                    {{"axis", std::int64_t{0}}, {"dtype", x.dtype()}, {"shape", Shape{x.dim(1)}}});
}

}  // namespace

// Pairs of columns have their own axis: [steps, heads, width / 2, 2] or [steps, heads, 2, width /
// 2]. Each element is multiplied by the cosine, and its partner, with a sign, by the sine.
Value rotary_positions(const Value& x, RotaryPositionsOptions options, SourceLocation where) {
  Layer layer(x, "rotary_positions", "", where);
  require_sequence(layer, x);
  const std::int64_t columns = x.dim(-1).constant();
  layer.require(options.heads > 0 && columns % options.heads == 0 &&
                    columns / options.heads % 2 == 0 && is_arithmetic_float(x.dtype()),
                "rotary positions need floats, and heads with an even width, not " +
                    std::to_string(columns) + " columns in " + std::to_string(options.heads) +
                    " heads");
  layer.require(options.base > 0 && std::isfinite(options.base), "the base must be above 0");
  if (const Value& positions = options.positions) {
    layer.require(
        positions.rank() == 1 && is_integer(positions.dtype()) && positions.dim(0) == x.dim(-2),
        "the positions do not have one element for each step: " + positions.str(),
        "positions must be integers [steps] or [rows]");
  }
  const std::int64_t half = columns / options.heads / 2;
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  const int steps = x.rank() - 2, pair = x.rank() + (options.interleaved ? 0 : 1);
  const int part = x.rank() + (options.interleaved ? 1 : 0);
  shape.emplace_back(options.heads);
  shape.emplace_back(options.interleaved ? half : 2);
  shape.emplace_back(options.interleaved ? 2 : half);
  const Value pairs = reshape(x, {.shape = shape});
  const auto along = [&](int axis) {
    return layer.make("iota",
                      {{"axis", std::int64_t{axis}}, {"dtype", x.dtype()}, {"shape", shape}});
  };
  const double log_decay = -std::log(options.base) / static_cast<double>(half);
  const Value step =
      broadcast(rotary_steps(layer, x, options.positions), {.shape = shape, .axes = {steps}});
  const Value angle = step * exp(along(pair) * log_decay);
  const Value sign = along(part) * 2.0 - 1.0;  // of the partner: -1, 1
  const Value partner = flip(pairs, {.axes = {part}});
  return reshape(pairs * cos(angle) + partner * sin(angle) * sign, {.shape = x.shape()});
}

}  // namespace trireme::nn
