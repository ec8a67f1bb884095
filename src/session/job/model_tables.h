#pragma once

// The keys of [model] for models of the bank, as fields (nn/catalog/field.h). A model reads those
// that its columns allow; the catalog lists all of them.

#include <string>
#include <vector>

#include "nn/catalog/field.h"
#include "session/job/node.h"
#include "trireme/decoding.h"
#include "trireme/models.h"

namespace trireme::models {

using nn::Field;
using nn::kAny;
using nn::kExtent;
using nn::kSize;

inline constexpr nn::Limits kBlocks{1, 200};

// Every model.
template <class Visit, class Options>
void decay_fields(Visit& visit, Options& o) {
  visit(Field{"decay_biases", "weight decay also of biases and batch norms"}, o.decay_biases);
}
// `classes` that the data have is set before.
template <class Visit, class Options>
void class_fields(Visit& visit, Options& o) {
  visit(Field{"classes", "width of the result", kSize, true, "that of the data"}, o.classes);
  visit(Field{"weight_init", "initial values of weights", kAny, false, "those of the model"},
        o.weight_init);
  decay_fields(visit, o);
}

template <class Visit>
void fields(Visit& visit, SoftmaxRegressionOptions& o) {
  class_fields(visit, o);
}

template <class Visit>
void fields(Visit& visit, MlpOptions& o) {
  visit(Field{"hidden", "units of each layer before the last", kSize}, o.hidden);
  visit(Field{"activation", "of the hidden layers", kAny, false, "`\"relu\"`"}, o.activation);
  visit(Field{"dropout", "after each hidden layer"}, o.dropout);
  class_fields(visit, o);
}

template <class Visit>
void fields(Visit& visit, LenetOptions& o) {
  visit(Field{"padding", "of the first convolution", kExtent, false,
              "2 for pictures below 32 pixels, else 0", "pixels"},
        o.padding);
  visit(Field{"activation", "of the hidden layers", kAny, false, "`\"relu\"`"}, o.activation);
  class_fields(visit, o);
}

template <class Visit>
void fields(Visit& visit, VggOptions& o) {
  visit(Field{"width", "factor for the channels"}, o.width);
  visit(Field{"batch_norm", "after each convolution"}, o.batch_norm);
  visit(Field{"hidden", "units of each linear layer before the last", kSize}, o.hidden);
  visit(Field{"dropout", "after each hidden layer"}, o.dropout);
  class_fields(visit, o);
}

// The depth decides which keys there are.
template <class Visit>
void fields(Visit& visit, ResnetOptions& o) {
  const bool four_stages =
      o.depth == 18 || o.depth == 34 || o.depth == 50 || o.depth == 101 || o.depth == 152;
  Shortcut shortcut = o.shortcut.value_or(four_stages ? Shortcut::project : Shortcut::pad);
  visit(Field{"width", "factor for the channels"}, o.width);
  visit(Field{"shortcut", "where the number of channels changes"}, shortcut,
        nn::Words<Shortcut>{{"pad", Shortcut::pad}, {"project", Shortcut::project}});
  o.shortcut = shortcut;
  if (four_stages) visit(Field{"small_input", "for about 32 pixels"}, o.small_input);
  if (four_stages && o.depth >= 50) {
    visit(
        Field{"stride_in_3x3", "stride in the 3 x 3 convolution of a block, as in many libraries"},
        o.stride_in_3x3);
  }
  class_fields(visit, o);
}

template <class Visit>
void fields(Visit& visit, MobilenetV2Options& o) {
  visit(Field{"width", "factor for the channels"}, o.width);
  visit(Field{"small_input", "for about 32 pixels"}, o.small_input);
  visit(Field{"dropout", "before the last layer"}, o.dropout);
  class_fields(visit, o);
}

// Of columns of ids.
template <class Visit>
void id_fields(Visit& visit, TransformerEncoderOptions& o) {
  visit(Field{"rows", "ids are below this number", {.min = 1}, true, "that of the data"}, o.rows);
  visit(Field{"sparse_gradient", "of the embedding"}, o.sparse_gradient);
  visit(Field{"padding_id", "the id of padding steps", {.min = 0}, false, "none"}, o.padding_id);
}
// Of pictures.
template <class Visit>
void patch_fields(Visit& visit, TransformerEncoderOptions& o) {
  visit(Field{"patch", "height and width of a step", kSize, false, "a row of pixels", "pixels"},
        o.patch);
}
// Of all columns.
template <class Visit>
void block_fields(Visit& visit, TransformerEncoderOptions& o) {
  visit(Field{"width", "of a step; 0: numbers stay as they are", kExtent}, o.width);
  visit(Field{"layers", "blocks", kBlocks}, o.layers);
  visit(Field{"heads", "of attention", kSize}, o.heads);
  visit(
      Field{"key_heads", "of keys and values, shared by heads of queries", kSize, false, "`heads`"},
      o.key_heads);
  visit(Field{"blockwise", "never stores the scores of attention, for long sequences"},
        o.blockwise);
  visit(Field{"feed_forward", "units between the linear layers of a block", kSize, false,
              "4 times `width`"},
        o.feed_forward);
  visit(Field{"activation", "between the linear layers", kAny, false, "`\"relu\"`"}, o.activation);
  visit(Field{"dropout", "of the input and in the blocks"}, o.dropout);
  visit(Field{"pre_norm", "norms before the parts of a block"}, o.pre_norm);
  visit(Field{"causal", "a step attends only to itself and earlier steps"}, o.causal);
  visit(Field{"positions", "how the order of steps is represented"}, o.positions,
        nn::Words<Positions>{{"none", Positions::none},
                             {"sinusoidal", Positions::sinusoidal},
                             {"learned", Positions::learned},
                             {"rotary", Positions::rotary},
                             {"relative", Positions::relative}});
  visit(Field{"pooling", "how steps become one row"}, o.pooling,
        nn::Words<Pooling>{{"mean", Pooling::mean}, {"first", Pooling::first}});
  class_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, TransformerEncoderOptions& o) {
  id_fields(visit, o);
  patch_fields(visit, o);
  block_fields(visit, o);
}

template <class Visit, class Options>
void column_fields(Visit& visit, Options& o) {
  visit(Field{"width", "of an embedding", kSize}, o.width);
  visit(Field{"hidden", "units of each hidden layer", kSize}, o.hidden);
  visit(Field{"dropout", "after each hidden layer"}, o.dropout);
  visit(Field{"sparse_gradient", "of the embeddings"}, o.sparse_gradient);
  visit(Field{"weight_init", "initial values of weights", kAny, false, "those of the model"},
        o.weight_init);
  decay_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, WideAndDeepOptions& o) {
  visit(Field{"classes", "width of the result", kSize}, o.classes);
  column_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, DeepfmOptions& o) {
  column_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, TwoTowerOptions& o) {
  column_fields(visit, o);
  visit(Field{"mean", "initial value of the global bias"}, o.mean);
}

template <class Visit>
void fields(Visit& visit, SkipGramOptions& o) {
  visit(Field{"width", "of a vector", kSize}, o.width);
  visit(Field{"bias", "of each candidate"}, o.bias);
  visit(Field{"sparse_gradient", "of the tables"}, o.sparse_gradient);
  decay_fields(visit, o);
}

// With more than one column of words.
template <class Visit>
void other_fields(Visit& visit, TaggerOptions& o) {
  visit(Field{"other_width", "of the embeddings of further columns", kSize}, o.other_width);
}
// With a column of positions.
template <class Visit>
void position_fields(Visit& visit, TaggerOptions& o) {
  visit(Field{"context", "units of a layer over the row at the position; 0: none", kExtent},
        o.context);
  visit(Field{"mark_width", "of the embedding of the distance to that row; 0: none", kExtent},
        o.mark_width);
  visit(Field{"max_distance", "larger distances count as this", kSize, false, "", "rows"},
        o.max_distance);
}
template <class Visit>
void tagger_fields(Visit& visit, TaggerOptions& o) {
  visit(Field{"width", "of the embedding of the first column", kSize}, o.width);
  visit(Field{"units", "of an LSTM", kSize}, o.units);
  visit(Field{"layers", "of LSTMs in both directions", kBlocks}, o.layers);
  visit(Field{"dropout", "of the embeddings, between the layers and after them"}, o.dropout);
  visit(Field{"sparse_gradient", "of the embedding of the first column"}, o.sparse_gradient);
  class_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, TaggerOptions& o) {
  tagger_fields(visit, o);
  other_fields(visit, o);
  position_fields(visit, o);
}

template <class Visit>
void gru_fields(Visit& visit, TranslatorOptions& o) {
  visit(Field{"units", "of GRUs", kSize}, o.units);
}
template <class Visit>
void head_fields(Visit& visit, TranslatorOptions& o) {
  visit(Field{"heads", "of attention, of a Transformer", kSize}, o.heads);
}
template <class Visit>
void cell_fields(Visit& visit, TranslatorOptions& o) {
  using Cell = TranslatorOptions::Cell;
  visit(Field{"cell", "what the network is made of"}, o.cell,
        nn::Words<Cell>{{"gru", Cell::gru}, {"transformer", Cell::transformer}});
}
template <class Visit>
void translator_fields(Visit& visit, TranslatorOptions& o) {
  visit(Field{"width", "of the embeddings", kSize}, o.width);
  visit(Field{"layers", "of the encoder, or blocks in each half of a Transformer", kBlocks},
        o.layers);
  visit(Field{"dropout", "share of values that become 0"}, o.dropout);
  visit(Field{"limit", "largest number of written tokens", kSize, false, "", "tokens"}, o.limit);
  visit(Field{"sparse_gradient", "of the embeddings"}, o.sparse_gradient);
  decay_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, TranslatorOptions& o) {
  cell_fields(visit, o);
  gru_fields(visit, o);
  head_fields(visit, o);
  translator_fields(visit, o);
}

}  // namespace trireme::models

namespace trireme::job {

// Keys that name columns, besides the options of the model.
struct CrossesKey {
  const Node* crosses = nullptr;
};
template <class Visit>
void fields(Visit& visit, CrossesKey& o) {
  visit(nn::Field{.name = "crosses", .doc = "pairs of columns of ids", .definition = "crosses"},
        o.crosses);
}
struct TowerKeys {
  const Node *user = nullptr, *item = nullptr;
};
template <class Visit>
void fields(Visit& visit, TowerKeys& o) {
  using F = nn::Field;
  visit(F{.name = "user",
          .doc = "column of ids",
          .default_text = "the first",
          .definition = "column"},
        o.user);
  visit(F{.name = "item",
          .doc = "column of ids",
          .default_text = "the second",
          .definition = "column"},
        o.item);
}
// Of a model that writes texts.
struct SearchTable {
  std::int64_t beam = nn::BeamOptions{}.beam;
  double length_penalty = 1;
};
template <class Visit>
void fields(Visit& visit, SearchTable& o) {
  visit(nn::Field{"beam", "texts to follow", nn::kSize}, o.beam);
  visit(nn::Field{"length_penalty", "exponent of the length; 0: none"}, o.length_penalty);
}
struct SearchKey {
  const Node* search = nullptr;
};
template <class Visit>
void fields(Visit& visit, SearchKey& o) {
  visit(nn::Field{.name = "search", .doc = "how texts are searched", .definition = "search"},
        o.search);
}

struct ModelEntry {
  std::string name;
  const char* doc;
};

// Calls visit(ModelEntry, options, keys) for every model, where `classes` of the options is 0 if it
// follows from the data.
template <class Visit>
void for_each_model(Visit&& visit) {
  using nn::NoOptions;
  const auto classified = [&](const ModelEntry& entry, auto options) {
    options.classes = 0;
    visit(entry, options, NoOptions{});
  };
  classified({"softmax_regression", "One linear layer"}, models::SoftmaxRegressionOptions{});
  classified({"mlp", "Linear layers"}, models::MlpOptions{});
  classified({"lenet", "LeNet-5, for small pictures"}, models::LenetOptions{});
  for (const int depth : {11, 13, 16, 19}) {
    classified({"vgg" + std::to_string(depth), "VGG, for pictures"},
               models::VggOptions{.depth = depth});
  }
  for (const int depth : {20, 32, 44, 56, 110, 18, 34, 50, 101, 152}) {
    classified({"resnet" + std::to_string(depth), "ResNet, for pictures"},
               models::ResnetOptions{.depth = depth});
  }
  classified({"mobilenet_v2", "MobileNetV2, for pictures"}, models::MobilenetV2Options{});
  classified({"transformer_encoder", "A Transformer, for ids, numbers or pictures"},
             models::TransformerEncoderOptions{});
  visit(ModelEntry{"wide_and_deep", "A linear model plus a network"}, models::WideAndDeepOptions{},
        CrossesKey{});
  visit(ModelEntry{"deepfm", "A factorization machine plus a network"}, models::DeepfmOptions{},
        NoOptions{});
  visit(ModelEntry{"two_tower", "Products of vectors of users and items"},
        models::TwoTowerOptions{}, TowerKeys{});
  visit(ModelEntry{"skip_gram", "Vectors of words"}, models::SkipGramOptions{}, NoOptions{});
  classified({"tagger", "LSTMs that label each row of sequences"}, models::TaggerOptions{});
  visit(ModelEntry{"translator", "Writes a text for a text"}, models::TranslatorOptions{},
        SearchKey{});
}

}  // namespace trireme::job
