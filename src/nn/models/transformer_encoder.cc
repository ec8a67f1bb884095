#include "trireme/attention.h"

#include <string>

#include "nn/models/model.h"
#include "trireme/convolution.h"
#include "trireme/functions.h"

namespace trireme::models {
namespace {

struct Sequence {
  Value steps;     // [batch, steps, width]
  Value key_mask;  // boolean [batch, steps]: false at padding; empty if there is none
};

Sequence embedded(Model& model, const Value& ids, const TransformerEncoderOptions& options,
                  const SourceLocation& where) {
  model.require(options.width > 0 && options.rows > 0, "ids need a width and rows of their table",
                "set .rows to the number of different ids: {.width = 64, .rows = 1000}");
  const Value steps = nn::embedding(ids,
                                    {.num_embeddings = options.rows,
                                     .dim = options.width,
                                     .weight_init = options.embedding_init,
                                     .sparse_gradient = options.sparse_gradient,
                                     .padding_row = options.padding_id},
                                    where);
  if (!options.padding_id) return {steps, {}};
  return {steps, not_equal(ids, static_cast<double>(*options.padding_id), where)};
}

Value patches(Model& model, const Value& x, const TransformerEncoderOptions& options,
              const SourceLocation& where) {
  model.require(x.dim(2).is_constant() && x.dim(3).is_constant(),
                "images must have a constant size, not " + x.str());
  const std::int64_t height = x.dim(2).constant(), width = x.dim(3).constant();
  const nn::Pair patch = options.patch.value_or(nn::Pair(1, width));
  model.require(
      patch.height > 0 && patch.width > 0 && height % patch.height == 0 && width % patch.width == 0,
      "images of " + std::to_string(height) + " x " + std::to_string(width) +
          " cannot be divided into patches of " + std::to_string(patch.height) + " x " +
          std::to_string(patch.width));
  return nn::im2sequence(x, {.kernel = patch}, where);
}

// Returns the steps for the first block, without positions.
Sequence steps_of(Model& model, const Value& x, const TransformerEncoderOptions& options,
                  const SourceLocation& where) {
  if (x.rank() == 2 && is_integer(x.dtype())) return embedded(model, x, options, where);
  model.require((x.rank() == 3 || x.rank() == 4) && is_arithmetic_float(x.dtype()),
                "the input is not a sequence: " + x.str(),
                "use integer ids [batch, steps], floats [batch, steps, width] or images");
  model.require(!options.padding_id, "padding_id is only for ids");
  model.require(options.width >= 0, "width must not be negative");
  const Value steps = x.rank() == 4 ? patches(model, x, options, where) : x;
  if (options.width == 0) return {steps, {}};
  return {nn::linear(steps, {.units = options.width, .weight_init = options.weight_init}, where),
          {}};
}

Value with_positions(Model& model, const Value& x, const TransformerEncoderOptions& options,
                     const SourceLocation& where) {
  if (options.positions != Positions::sinusoidal && options.positions != Positions::learned) {
    return x;
  }
  if (options.positions == Positions::sinusoidal) return nn::add_sinusoidal_positions(x, where);
  const bool has_constant_steps = x.dim(1).is_constant();
  model.require(options.max_steps > 0 || has_constant_steps,
                "learned positions need max_steps, because the input's number of steps is a symbol",
                "{.max_steps = 512}");
  const std::int64_t max_steps = options.max_steps > 0 ? options.max_steps : x.dim(1).constant();
  return nn::add_learned_positions(x, {.max_steps = max_steps}, where);
}

// Selects step 0 by comparing step numbers, because slice() requires that there is a step.
Value first_step(Model& model, const Value& x, const SourceLocation& where) {
  const Value number = model.make(
      "iota", {{"axis", std::int64_t{0}}, {"dtype", DType::i32}, {"shape", Shape{x.dim(1)}}});
  const Value is_first = nn::spread(equal(number, 0.0, where), x, {1});
  return sum(trireme::where(is_first, x, 0.0, where), {.axes = {1}}, where);
}

Value pooled(Model& model, const Sequence& sequence, Pooling pooling, const SourceLocation& where) {
  const Value& x = sequence.steps;
  if (pooling == Pooling::first) return first_step(model, x, where);
  if (!sequence.key_mask) return mean(x, {.axes = {1}}, where);
  const Value counted = nn::spread(sequence.key_mask, x, {0, 1});
  const Value total = sum(trireme::where(counted, x, 0.0, where), {.axes = {1}}, where);
  const Value count =
      sum(cast(sequence.key_mask, {.dtype = x.dtype()}, where), {.axes = {1}, .keep = true}, where);
  return total / maximum(count, 1.0, where);
}

}  // namespace

Value transformer_encoder(const Value& x, TransformerEncoderOptions options, SourceLocation where) {
  options.most_steps.apply_to(options.max_steps);
  Model model(x, "transformer", options.name, where);
  Sequence sequence = steps_of(model, x, options, where);
  sequence.steps = with_positions(model, sequence.steps, options, where);
  sequence.steps = nn::dropout(sequence.steps, {.rate = options.dropout}, where);
  std::optional<nn::Rotary> rotary;
  std::optional<nn::RelativePositions> relative;
  if (options.positions == Positions::rotary) rotary.emplace();
  if (options.positions == Positions::relative) relative.emplace();
  sequence.steps = nn::transformer_encoder(sequence.steps,
                                           {.layers = options.layers,
                                            .block = {.heads = options.heads,
                                                      .key_heads = options.key_heads,
                                                      .feed_forward = options.feed_forward,
                                                      .activation = options.activation,
                                                      .dropout = options.dropout,
                                                      .blockwise = options.blockwise,
                                                      .rotary = rotary,
                                                      .relative = relative,
                                                      .pre_norm = options.pre_norm,
                                                      .weight_init = options.weight_init,
                                                      .causal = options.causal,
                                                      .key_mask = sequence.key_mask},
                                            .name = "encoder"},
                                           where);
  const Value logits =
      nn::linear(pooled(model, sequence, options.pooling, where),
                 {.units = options.classes, .weight_init = options.weight_init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
