#include <functional>
#include <string>

#include "nn/sequence.h"
#include "trireme/attention.h"

namespace trireme::nn {
namespace {

// The branches of one block, each with its norm and residual connection.
class Block {
 public:
  Block(Layer& layer, const Value& x, const TransformerBlockOptions& options, SourceLocation where)
      : layer_(layer), options_(options), where_(where), x_(x) {
    require_sequence(layer, x);
    layer.require(options.heads > 0, "heads must be at least 1", "{.heads = 8}");
    layer.require(options.feed_forward >= 0, "feed_forward must not be negative");
  }

  void attend_to_self(bool causal) {
    layer_.torch_module("attention", "self_attn");
    branch("attention_norm", [&](const Value& x) {
      AttentionOptions attention = options("attention", options_.mask, options_.key_mask);
      attention.causal = causal && options_.step == nullptr;
      attention.rotary = options_.rotary;
      attention.relative = options_.relative;
      attention.step = options_.step;
      attention.limit = options_.limit;
      return multi_head_attention(x, x, x, attention, where_);
    });
  }

  void attend_to(const Value& memory) {
    layer_.torch_module("memory_attention", "multihead_attn");
    branch("memory_attention_norm", [&](const Value& x) {
      return multi_head_attention(
          x, memory, memory,
          options("memory_attention", options_.memory_mask, options_.memory_key_mask), where_);
    });
  }

  void feed_forward() {
    layer_.torch_module("feed_forward_in", "linear1");
    layer_.torch_module("feed_forward_out", "linear2");
    const std::int64_t width = x_.dim(-1).constant();
    const std::int64_t inner =
        options_.feed_forward > 0 ? options_.feed_forward : (Dim(4) * x_.dim(-1)).constant();
    branch("feed_forward_norm", [&](const Value& x) {
      Value y = linear(x,
                       {.units = inner,
                        .activation = options_.activation,
                        .weight_init = options_.weight_init,
                        .name = "feed_forward_in"},
                       where_);
      y = dropout(y, {.rate = options_.dropout}, where_);
      return linear(
          y, {.units = width, .weight_init = options_.weight_init, .name = "feed_forward_out"},
          where_);
    });
  }

  const Value& result() const { return x_; }

 private:
  AttentionOptions options(const char* name, const Value& mask, const Value& key_mask) const {
    const double dropout = options_.blockwise ? 0 : options_.dropout;
    AttentionOptions attention{.heads = options_.heads,
                               .key_heads = options_.key_heads,
                               .dropout = options_.attention_dropout.value_or(dropout),
                               .mask = mask,
                               .key_mask = key_mask,
                               .blockwise = options_.blockwise && options_.step == nullptr,
                               .name = name};
    if (options_.weight_init) attention.weight_init = *options_.weight_init;
    return attention;
  }

  Value norm(const Value& x, const char* name) {
    return layer_norm(x, {.epsilon = options_.epsilon, .name = name}, where_);
  }

  // PyTorch numbers the norms of a block.
  void branch(const char* norm_name, const std::function<Value(const Value&)>& f) {
    layer_.torch_module(norm_name, "norm" + std::to_string(++branches_));
    const Value y = f(options_.pre_norm ? norm(x_, norm_name) : x_);
    const Value added = x_ + dropout(y, {.rate = options_.dropout}, where_);
    x_ = options_.pre_norm ? added : norm(added, norm_name);
  }

  Layer& layer_;
  const TransformerBlockOptions& options_;
  SourceLocation where_;
  Value x_;
  int branches_ = 0;
};

// Builds `layers` blocks with `block`, in layers "block_0", "block_1" and so on.
Value stacked(const Value& x, const char* stem, TransformerOptions& options, SourceLocation where,
              const std::function<Value(const Value&)>& block) {
  Layer layer(x, stem, options.name, where);
  layer.require(options.layers > 0, "layers must be at least 1", "{.layers = 6}");
  Value y = x;
  for (std::int64_t i = 0; i < options.layers; ++i) {
    options.block.name = "block_" + std::to_string(i);
    layer.torch_module(options.block.name, "layers." + std::to_string(i));
    y = block(y);
  }
  layer.torch_module("final_norm", "norm");
  if (!options.final_norm.value_or(options.block.pre_norm)) return y;
  return layer_norm(y, {.epsilon = options.block.epsilon, .name = "final_norm"}, where);
}

}  // namespace

Value transformer_encoder_block(const Value& x, TransformerBlockOptions options,
                                SourceLocation where) {
  Layer layer(x, "transformer_encoder_block", options.name, where);
  layer.require(!options.memory_mask && !options.memory_key_mask,
                "an encoder has no memory to mask", "use mask and key_mask for x itself");
  layer.require(options.step == nullptr || options.causal.value_or(false),
                "a step cannot attend to later steps", "set {.causal = true}, also in training");
  Block block(layer, x, options, where);
  block.attend_to_self(options.causal.value_or(false));
  block.feed_forward();
  return block.result();
}

Value transformer_decoder_block(const Value& x, const Value& memory,
                                TransformerBlockOptions options, SourceLocation where) {
  Layer layer(x, "transformer_decoder_block", options.name, where);
  Block block(layer, x, options, where);
  block.attend_to_self(options.causal.value_or(true));
  block.attend_to(memory);
  block.feed_forward();
  return block.result();
}

Value transformer_encoder(const Value& x, TransformerOptions options, SourceLocation where) {
  return stacked(x, "transformer_encoder", options, where, [&](const Value& y) {
    return transformer_encoder_block(y, options.block, where);
  });
}

Value transformer_decoder(const Value& x, const Value& memory, TransformerOptions options,
                          SourceLocation where) {
  return stacked(x, "transformer_decoder", options, where, [&](const Value& y) {
    return transformer_decoder_block(y, memory, options.block, where);
  });
}

}  // namespace trireme::nn
