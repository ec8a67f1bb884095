#include <cmath>
#include <functional>

#include "nn/models/model.h"
#include "trireme/attention.h"
#include "trireme/functions.h"
#include "trireme/recurrent.h"
#include "trireme/sequence.h"

namespace trireme::models {
namespace {

using Cell = TranslatorOptions::Cell;

// While an object lives, layers at `path`, which exist already, reuse their parameters.
class SharedScope {
 public:
  SharedScope(ir::Builder& builder, const std::string& path)
      : layer_(builder, path), reuse_(builder) {
    builder.reset_names(path);
  }

 private:
  ir::Builder::LayerGuard layer_;
  ir::Builder::ReuseGuard reuse_;
};

struct Build {
  TranslatorOptions options;
  SourceLocation where;

  Value dropped(const Value& x) const { return nn::dropout(x, {.rate = options.dropout}, where); }
  Value embedded(const Value& ids, std::int64_t rows) const {
    return nn::embedding(
        ids,
        {.num_embeddings = rows, .dim = options.width, .sparse_gradient = options.sparse_gradient},
        where);
  }
  Value linear(const Value& x, std::int64_t units, const nn::Activation& activation = {}) const {
    return nn::linear(x, {.units = units, .activation = activation}, where);
  }
};

// --- Gated recurrent units

struct EncodedSource {
  Value states, summary;
};

EncodedSource encode_with_gru(const Build& b, const Value& source) {
  const nn::RecurrentOptions layers{.units = b.options.units / 2,
                                    .layers = static_cast<int>(b.options.layers),
                                    .bidirectional = true,
                                    .dropout = b.options.dropout};
  const Value x = b.dropped(b.embedded(source, b.options.source_rows));
  const Value states = b.dropped(nn::gru(x, layers, b.where));
  return {states, b.linear(sequence::mean(states), b.options.units, nn::tanh)};
}

Value decode_step_with_gru(const Build& b, const EncodedSource& source, nn::Step& step,
                           const Value& id) {
  const Value source_states = step.static_input(source.states, b.where);
  const Value h = step.state({.init = source.summary}, b.where);
  const Value context =
      nn::multi_head_attention(h, source_states, source_states, {.heads = 1}, b.where);
  const Value x = b.dropped(b.embedded(id, b.options.rows));
  const Value next =
      nn::gru_cell(concat({x, context}, {.axis = 1}), h, {.units = b.options.units}, b.where);
  step.update(h, next, b.where);
  const Value all = concat({next, context, x}, {.axis = 1});
  return b.linear(b.dropped(b.linear(all, b.options.width, nn::tanh)), b.options.rows);
}

// --- Transformers

nn::TransformerOptions blocks(const Build& b, nn::Step* step = nullptr) {
  return {.layers = b.options.layers,
          .block = {.heads = b.options.heads,
                    .dropout = b.options.dropout,
                    .step = step,
                    .limit = b.options.limit}};
}

Value embed_with_positions(const Build& b, const Value& ids, std::int64_t rows,
                           const Value& positions) {
  const Value x = b.embedded(ids, rows) * std::sqrt(static_cast<double>(b.options.width));
  return b.dropped(nn::add_sinusoidal_positions(x, positions, b.where));
}

Value encode_with_transformer(const Build& b, const Value& source) {
  return nn::transformer_encoder(
      embed_with_positions(b, source, b.options.source_rows, sequence::positions(source)),
      blocks(b), b.where);
}

// Decodes all rows of sequences, or the rows of one step.
Value decode_with_transformer(const Build& b, const Value& source_states, const Value& ids,
                              nn::Step* step) {
  Value positions;
  if (step == nullptr) {
    positions = sequence::positions(ids, b.where);
  } else {
    positions = step->state({.dtype = DType::i64}, b.where);
    step->update(positions, positions + 1.0, b.where);
  }
  const Value x = embed_with_positions(b, ids, b.options.rows, positions);
  return b.linear(nn::transformer_decoder(x, source_states, blocks(b, step), b.where),
                  b.options.rows);
}

void check(Model& model, const Value& source, const Value& previous,
           const TranslatorOptions& options) {
  model.require(options.source_rows > 0 && options.rows > 0,
                "the numbers of source ids and target ids are not set",
                "{.source_rows = 3000, .rows = 3000}");
  model.require(options.width > 0 && options.layers > 0, "width and layers must be at least 1");
  model.require(options.cell != Cell::gru || (options.units > 0 && options.units % 2 == 0),
                "units are divided between two directions and must be an even number, not " +
                    std::to_string(options.units));
  model.require(options.limit > 0, "limit must be at least 1");
  const Dim sources = sequence::lengths(source).dim(0);
  const Dim targets = sequence::lengths(previous).dim(0);
  model.require(sources == targets, "there are " + sources.str() + " source sequences, but " +
                                        targets.str() + " target sequences: " + previous.str());
}

// The layers "encoder" and "decoder" of the model.
struct EncoderDecoder {
  std::function<Value(nn::Step*, const Value& ids)> decode;
  Value logits;
};

EncoderDecoder build(const Build& b, const Value& source, const Value& previous) {
  EncoderDecoder model_parts;
  const bool gru = b.options.cell == Cell::gru;
  EncodedSource encoded;
  {
    const nn::Layer encoder(source, "encoder", "encoder", b.where);
    if (gru) encoded = encode_with_gru(b, source);
    else encoded.states = encode_with_transformer(b, source);
  }
  model_parts.decode = [b, encoded, gru](nn::Step* step, const Value& ids) {
    if (gru) return decode_step_with_gru(b, encoded, *step, ids);
    const Value& source_states = encoded.states;
    return decode_with_transformer(
        b, step == nullptr ? source_states : step->static_input(source_states, b.where), ids, step);
  };
  const nn::Layer decoder(previous, "decoder", "decoder", b.where);
  model_parts.logits = gru ? nn::rnn(
                                 [&](nn::Step& step) {
                                   const Value id = step.input(previous, b.where);
                                   step.output(model_parts.decode(&step, id), b.where);
                                 },
                                 {}, b.where)[0]
                           : model_parts.decode(nullptr, previous);
  return model_parts;
}

}  // namespace

Translator translator(const Value& source, const Value& previous, TranslatorOptions options,
                      SourceLocation where) {
  Model model(source, "translator", options.name, where);
  check(model, source, previous, options);
  const EncoderDecoder model_parts = build({options, where}, source, previous);
  const std::string path = model.builder().layer() + "/decoder";
  const nn::Decoder decoder = [=](nn::Step& step, const Value& id) {
    const nn::LocationScope at(id, "translator", where);
    const SharedScope shared_scope(at.builder(), path);
    return model_parts.decode(&step, id);
  };
  return {model.finish(model_parts.logits, options.decay_biases), decoder};
}

}  // namespace trireme::models
