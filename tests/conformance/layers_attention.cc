#include "layers.h"
#include "trireme/attention.h"
#include "trireme/ops.h"

namespace trireme::conformance {
namespace {

Input sequence(std::int64_t steps, std::int64_t width) { return {{2, steps, width}, f32, -1, 1}; }

// Returns a boolean mask. Mask inputs are floats, because the suite draws no random booleans.
Value positive(const Value& x) { return x > 0.0; }

// Adds a case with small parameters of both signs, so that no attention weight is near 1.
void add(std::vector<Case>& cases, const std::string& name, const std::vector<Input>& inputs,
         const Build& build, const std::string& torch) {
  cases.push_back(layer(name, inputs, build, torch, -0.75, 0.75));
  cases.back().tolerance = 2e-4;  // errors of several products add up
}

void add_multi_head(std::vector<Case>& cases) {
  const Input x = sequence(5, 8);
  add(
      cases, "multi_head_attention of itself", {x},
      [](auto& x) { return nn::multi_head_attention(x[0], x[0], x[0], {.heads = 2}); },
      "modules.attention(x[0], x[0], x[0], x[1:], 2)");
  add(
      cases, "multi_head_attention of others", {x, sequence(7, 6), sequence(7, 10)},
      [](auto& x) { return nn::multi_head_attention(x[0], x[1], x[2], {.heads = 4}); },
      "modules.attention(x[0], x[1], x[2], x[3:], 4)");
  add(
      cases, "multi_head_attention causal", {x},
      [](auto& x) {
        return nn::multi_head_attention(x[0], x[0], x[0], {.heads = 2, .causal = true});
      },
      "modules.attention(x[0], x[0], x[0], x[1:], 2, torch.ones(5, 5).tril() > 0)");
  add(
      cases, "multi_head_attention boolean mask", {x, {{5, 5}, f32, -1, 3}},
      [](auto& x) {
        return nn::multi_head_attention(x[0], x[0], x[0], {.heads = 2, .mask = positive(x[1])});
      },
      "modules.attention(x[0], x[0], x[0], x[2:], 2, x[1] > 0)");
  add(
      cases, "multi_head_attention added mask", {x, {{5, 5}}},
      [](auto& x) {
        return nn::multi_head_attention(x[0], x[0], x[0], {.heads = 2, .mask = x[1]});
      },
      "modules.attention(x[0], x[0], x[0], x[2:], 2, x[1])");
  add(
      cases, "multi_head_attention mask of each", {x, {{2, 2, 5, 5}, f32, -1, 5}},
      [](auto& x) {
        return nn::multi_head_attention(x[0], x[0], x[0], {.heads = 2, .mask = positive(x[1])});
      },
      "modules.attention(x[0], x[0], x[0], x[2:], 2, x[1].reshape(4, 5, 5) > 0)");
  add(
      cases, "multi_head_attention padded keys", {x, sequence(7, 8), {{2, 7}, f32, -1, 2}},
      [](auto& x) {
        return nn::multi_head_attention(x[0], x[1], x[1], {.heads = 2, .key_mask = positive(x[2])});
      },
      "modules.attention(x[0], x[1], x[1], x[3:], 2, None, x[2] > 0)");
  add(
      cases, "scaled_dot_product_attention", {{{5, 8}}, {{3, 8}}, {{3, 4}}},
      [](auto& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2]); },
      "F.softmax(x[0] @ x[1].T / 8 ** 0.5, -1) @ x[2]");
}

// Grouped queries, rotary and relative positions, and attention in blocks.
void add_variants(std::vector<Case>& cases) {
  const auto variant = [&](const std::string& name, nn::AttentionOptions options,
                           const std::string& torch) {
    options.heads = options.heads == 0 ? 4 : options.heads;
    add(
        cases, "multi_head_attention " + name, {sequence(5, 8)},
        [=](auto& x) { return nn::multi_head_attention(x[0], x[0], x[0], options); }, torch);
  };
  const std::string grouped = "modules.grouped_attention(x[0], x[1:], 4, 2, ";
  variant("grouped queries", {.key_heads = 2, .causal = true}, grouped + "True)");
  variant("grouped queries in blocks", {.key_heads = 2, .blockwise = true}, grouped + "False)");
  variant("in blocks", {.causal = true, .blockwise = true},
          "modules.grouped_attention(x[0], x[1:], 4, 4, True)");
  variant("rotary positions", {.key_heads = 2, .rotary = nn::Rotary{.base = 100}},
          grouped + "False, lambda y, n: modules.rotary(y, n, 100.0))");
  variant(
      "rotary positions of halves",
      {.heads = 2, .causal = true, .blockwise = true, .rotary = nn::Rotary{.interleaved = false}},
      "modules.grouped_attention(x[0], x[1:], 2, 2, True, lambda y, n: modules.rotary(y, n, "
      "10000.0, False))");
  const std::string relative = "modules.grouped_attention(x[0], x[2:], 4, 4, ";
  variant("relative positions",
          {.relative =
               nn::RelativePositions{.buckets = 8, .max_distance = 4, .weight_init = nn::normal()}},
          relative + "False, None, modules.buckets_bias(x[1], 5, 5, 4, False))");
  variant("relative positions before",
          {.causal = true, .relative = nn::RelativePositions{.buckets = 5, .max_distance = 4}},
          relative + "True, None, modules.buckets_bias(x[1], 5, 5, 4, True))");
  for (const std::int64_t heads : {2, 4}) {
    const std::string n = std::to_string(heads);
    variant("linear positions of " + n,
            {.heads = heads, .relative = nn::RelativePositions{.kind = nn::RelativeKind::linear}},
            "modules.grouped_attention(x[0], x[1:], " + n + ", " + n +
                ", False, None, modules.linear_bias(" + n + ", 5, 5))");
  }
  add(
      cases, "multi_head_attention linear positions of 6 with a mask",
      {sequence(5, 12), {{5, 5}, f32, -1, 3}},
      [](auto& x) {
        return nn::multi_head_attention(
            x[0], x[0], x[0],
            {.heads = 6,
             .mask = positive(x[1]),
             .relative = nn::RelativePositions{.kind = nn::RelativeKind::linear}});
      },
      "modules.grouped_attention(x[0], x[2:], 6, 6, False, None, modules.linear_bias(6, 5, "
      "5).masked_fill(x[1] <= 0, -1e30))");
  add(
      cases, "multi_head_attention padded keys in blocks",
      {sequence(5, 8), sequence(7, 8), {{2, 7}, f32, -1, 2}},
      [](auto& x) {
        return nn::multi_head_attention(
            x[0], x[1], x[1], {.heads = 2, .key_mask = positive(x[2]), .blockwise = true});
      },
      "modules.attention(x[0], x[1], x[1], x[3:], 2, None, x[2] > 0)");
  add(
      cases, "scaled_dot_product_attention grouped in blocks",
      {{{2, 6, 5, 4}}, {{2, 3, 7, 4}}, {{2, 3, 7, 2}}, {{2, 7}, f32, -1, 2}},
      [](auto& x) {
        return nn::scaled_dot_product_attention(
            x[0], x[1], x[2], {.key_mask = positive(x[3]), .causal = true, .blockwise = true});
      },
      "modules.grouped_product(x[0], x[1], x[2], x[3] > 0, True)");
  add(
      cases, "scaled_dot_product_attention grouped",
      {{{2, 6, 5, 4}}, {{2, 3, 7, 4}}, {{2, 3, 7, 2}}},
      [](auto& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2]); },
      "modules.grouped_product(x[0], x[1], x[2], torch.ones(2, 7) > 0, False)");
}

void add_positions(std::vector<Case>& cases) {
  cases.push_back(layer(
      "rotary positions", {{{2, 9, 12}}},
      [](auto& x) { return nn::rotary_positions(x[0], {.heads = 2}); }, "modules.rotary(x[0], 2)"));
  cases.push_back(layer(
      "sinusoidal positions", {{{2, 9, 6}}},
      [](auto& x) { return nn::add_sinusoidal_positions(x[0]); },
      "x[0] + modules.positions(9, 6)"));
  cases.push_back(layer(
      "learned positions", {{{2, 5, 6}}},
      [](auto& x) { return nn::add_learned_positions(x[0], {.max_steps = 8}); },
      "x[0] + x[1][:5]"));
}

void add_transformers(std::vector<Case>& cases) {
  const Input x = sequence(5, 8), memory = sequence(7, 8);
  for (const bool pre_norm : {true, false}) {
    const std::string norm = pre_norm ? " pre-norm" : " post-norm";
    const std::string first = pre_norm ? "True" : "False";
    add(
        cases, "encoder block" + norm, {x},
        [=](auto& x) {
          return nn::transformer_encoder_block(x[0],
                                               {.heads = 2, .dropout = 0, .pre_norm = pre_norm});
        },
        "modules.encoder_layer(x[0], x[1:], 2, 32, " + first + ")[0]");
    add(
        cases, "decoder block" + norm, {x, memory},
        [=](auto& x) {
          return nn::transformer_decoder_block(
              x[0], x[1], {.heads = 2, .feed_forward = 12, .dropout = 0, .pre_norm = pre_norm});
        },
        "modules.decoder_layer(x[0], x[1], x[2:], 2, 12, " + first + ")[0]");
    add(
        cases, "transformer_encoder" + norm, {x},
        [=](auto& x) {
          return nn::transformer_encoder(
              x[0], {.layers = 2, .block = {.heads = 2, .dropout = 0, .pre_norm = pre_norm}});
        },
        "modules.encoder(x[0], x[1:], 2, 2, 32, " + first + ")");
  }
  add(
      cases, "encoder block gelu and masks", {x, {{2, 5}, f32, -1, 3}, {{5, 5}}},
      [](auto& x) {
        return nn::transformer_encoder_block(x[0], {.heads = 2,
                                                    .feed_forward = 12,
                                                    .activation = nn::gelu,
                                                    .dropout = 0,
                                                    .mask = x[2],
                                                    .key_mask = positive(x[1])});
      },
      "modules.encoder_layer(x[0], x[3:], 2, 12, True, 'gelu', x[2], ~(x[1] > 0))[0]");
  add(
      cases, "decoder block padded memory", {x, memory, {{2, 7}, f32, -1, 3}},
      [](auto& x) {
        return nn::transformer_decoder_block(
            x[0], x[1], {.heads = 4, .dropout = 0, .memory_key_mask = positive(x[2])});
      },
      "modules.decoder_layer(x[0], x[1], x[3:], 4, 32, True, ~(x[2] > 0))[0]");
  add(
      cases, "transformer_decoder", {x, memory},
      [](auto& x) {
        return nn::transformer_decoder(x[0], x[1],
                                       {.layers = 2, .block = {.heads = 2, .dropout = 0}});
      },
      "modules.decoder(x[0], x[1], x[2:], 2, 2, 32)");
}

}  // namespace

void add_attention(std::vector<Case>& cases) {
  add_multi_head(cases);
  add_variants(cases);
  add_positions(cases);
  add_transformers(cases);
}

}  // namespace trireme::conformance
