#pragma once

// The model bank: well-known networks, each a function from inputs to logits, made of the layers of
// trireme/nn.h. A model opens a scope with a name of its own ("resnet_0"), which is in the names of
// its parameters ("resnet_0/block_3/conv2d_1.weight").
// A mistake is Error(usage) naming the model or layer, the caller's line and the value.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/decoding.h"
#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::models {

// --- Options that many have ---------------------------------------------------------------------
// classes       logits of one example
// weight_init   of all matrices and kernels; what the model's paper has if not set
// decay_biases  false: no weight decay for what is no matrix and no kernel: biases, and weights
//               and biases of batch norms
// name          of the scope; made of the model's if empty

// --- Rows of numbers or pictures ----------------------------------------------------------------
// x is [batch, ...]; more than two axes are flattened.

struct SoftmaxRegressionOptions {
  std::int64_t classes = 10;
  std::optional<Initializer> weight_init = {};  // xavier_uniform()
  bool decay_biases = true;
  std::string name = {};
};
// One linear layer: logits of a softmax regression.
TRIREME_API Value softmax_regression(const Value& x, SoftmaxRegressionOptions options,
                                     SourceLocation where = SourceLocation::current());

struct MlpOptions {
  std::int64_t classes = 10;
  std::vector<std::int64_t> hidden = {200, 200};  // units of each layer before the last
  nn::Activation activation = nn::relu;
  double dropout = 0;                           // behind each hidden layer
  std::optional<Initializer> weight_init = {};  // as nn::linear has it
  bool decay_biases = true;
  std::string name = {};
};
TRIREME_API Value mlp(const Value& x, MlpOptions options,
                      SourceLocation where = SourceLocation::current());

// --- Pictures -----------------------------------------------------------------------------------
// x is [batch, channels, height, width].

// (x - mean) / deviation with one number for each channel, or one for all: part of the model, so that
// a saved one takes the same pictures as training did.
TRIREME_API Value normalise(const Value& x, const std::vector<double>& mean,
                            const std::vector<double>& deviation,
                            SourceLocation where = SourceLocation::current());

struct LenetOptions {
  std::int64_t classes = 10;
  std::int64_t padding = 2;  // of the first convolution: 2 for pictures of 28 pixels, 0 for 32
  nn::Activation activation = nn::relu;
  std::optional<Initializer> weight_init = {};
  bool decay_biases = true;
  std::string name = {};
};
// LeNet-5, LeCun et al. 1998, with max pooling, all maps connected and a linear layer at the end.
TRIREME_API Value lenet(const Value& x, LenetOptions options,
                        SourceLocation where = SourceLocation::current());

struct VggOptions {
  int depth = 16;    // 11, 13, 16 or 19
  double width = 1;  // times 64, 128, 256 and 512 channels
  bool batch_norm = false;
  std::vector<std::int64_t> hidden = {4096, 4096};  // units before the last layer
  double dropout = 0.5;                             // behind each of them
  std::int64_t classes = 1000;
  std::optional<Initializer> weight_init = {};  // kaiming_normal()
  bool decay_biases = true;
  std::string name = {};
};
// Simonyan and Zisserman 2015, configurations A, B, D and E. Pictures of at least 32 pixels; with 224
// it is the paper's.
TRIREME_API Value vgg(const Value& x, VggOptions options,
                      SourceLocation where = SourceLocation::current());

// What stands in for the identity where a block changes the number of channels.
enum class Shortcut : std::uint8_t {
  pad,      // every second pixel, and zeros for new channels: option A
  project,  // a convolution of kernel 1 and a batch norm: option B
};
struct ResnetOptions {
  // 20, 32, 44, 56 and 110 are the paper's for pictures of about 32 pixels (section 4.2), with three
  // stages of 16, 32 and 64 channels. 18 and 34 (of basic blocks), 50, 101 and 152 (of bottlenecks)
  // are those for large pictures (table 1), with four stages of 64, 128, 256 and 512.
  int depth = 20;
  double width = 1;                       // times the channels
  std::optional<Shortcut> shortcut = {};  // by default pad with three stages, project with four
  // Bottlenecks halve the size in their 3 x 3, as many libraries have it, not in the first 1 x 1.
  bool stride_in_3x3 = false;
  bool small_input = false;  // of four stages: begin with a 3 x 3 that keeps the size, do not pool
  std::int64_t classes = 10;
  std::optional<Initializer> weight_init = {};  // kaiming_normal()
  bool decay_biases = true;
  std::string name = {};
};
// He et al. 2015.
TRIREME_API Value resnet(const Value& x, ResnetOptions options,
                         SourceLocation where = SourceLocation::current());

struct MobilenetV2Options {
  double width = 1;          // times the channels, which are then rounded to multiples of 8
  bool small_input = false;  // for about 32 pixels: the first two strides of 2 are 1
  double dropout = 0.2;      // before the last layer
  std::int64_t classes = 1000;
  std::optional<Initializer> weight_init = {};  // kaiming_normal()
  bool decay_biases = true;
  std::string name = {};
};
// Sandler et al. 2018.
TRIREME_API Value mobilenet_v2(const Value& x, MobilenetV2Options options,
                               SourceLocation where = SourceLocation::current());

// --- Sequences ----------------------------------------------------------------------------------

// What tells a model the order of the steps.
enum class Positions : std::uint8_t {
  none,
  sinusoidal,  // nn::add_sinusoidal_positions
  learned,     // nn::add_learned_positions
};
// How the steps of a sequence become one row.
enum class Pooling : std::uint8_t {
  mean,   // of those that are no padding; zeros if all are
  first,  // the first step alone
};
struct TransformerEncoderOptions {
  std::int64_t classes = 10;
  // Of a step in the model: of the embedding of ids, or of what a linear layer makes of numbers; 0:
  // numbers have no such layer.
  std::int64_t width = 64;
  std::int64_t rows = 0;                        // of ids, which are in [0, rows): required
  std::optional<std::int64_t> padding_id = {};  // an id that stands for no step
  std::optional<nn::Pair> patch = {};           // of pictures; a row of pixels by default
  Positions positions = Positions::sinusoidal;
  std::int64_t most_steps = 0;  // learned positions; 0: the steps of x, if their number is known
  std::int64_t layers = 2;
  std::int64_t heads = 4;  // a divisor of width
  std::int64_t feed_forward =
      0;  // units between the two linear layers of a block; 0: 4 times width
  nn::Activation activation = nn::relu;
  double dropout = 0.1;  // of what goes into the first block, and in the blocks
  bool pre_norm = true;  // as nn::TransformerBlockOptions has it; so is there a norm at the end
  bool causal = false;   // a step looks at itself and those before it
  Pooling pooling = Pooling::mean;
  std::optional<Initializer> weight_init = {};     // as the layers have it
  std::optional<Initializer> embedding_init = {};  // as nn::embedding has it
  bool sparse_gradient = false;                    // of the embedding, as nn::embedding has it
  bool decay_biases = true;
  std::string name = {};
};
// The encoder of Vaswani et al. 2017 with one linear layer on the pooled steps. x is integer ids
// [batch, steps], numbers [batch, steps, width], or pictures [batch, channels, height, width], whose
// patches, row by row, are the steps (Dosovitskiy et al. 2021).
TRIREME_API Value transformer_encoder(const Value& x, TransformerEncoderOptions options,
                                      SourceLocation where = SourceLocation::current());

// --- Rows of ids and numbers --------------------------------------------------------------------

// Ids in [0, rows): [batch], or [batch, n] where n ids of an example share their meaning.
struct IdField {
  Value ids = {};
  std::int64_t rows = 0;
};

struct WideAndDeepOptions {
  std::int64_t width = 8;                        // of an embedding
  std::vector<std::int64_t> hidden = {100, 50};  // units of the deep part
  // Pairs of fields, of one id each, by their place: the wide part also has a weight for each pair
  // of their ids.
  std::vector<std::pair<std::int64_t, std::int64_t>> crosses = {};
  double dropout = 0;                           // behind each hidden layer
  std::int64_t classes = 1;                     // 1: a logit of two classes, or a number
  std::optional<Initializer> weight_init = {};  // of the deep part, as nn::linear has it
  Initializer embedding_init = nn::normal(0, 0.05);
  bool sparse_gradient = false;  // of the embeddings, as nn::embedding has it
  bool decay_biases = true;
  std::string name = {};
};
// Cheng et al. 2016: a linear model of ids, crosses and numbers, plus a network over embeddings of the
// ids beside the numbers. numbers [batch, n] may be empty. Gives [batch, classes].
TRIREME_API Value wide_and_deep(const std::vector<IdField>& fields, const Value& numbers,
                                WideAndDeepOptions options,
                                SourceLocation where = SourceLocation::current());

struct DeepfmOptions {
  std::int64_t width = 8;                        // of an embedding
  std::vector<std::int64_t> hidden = {100, 50};  // units of the deep part
  double dropout = 0;                            // behind each hidden layer
  std::optional<Initializer> weight_init = {};   // of the deep part, as nn::linear has it
  Initializer embedding_init = nn::normal(0, 0.05);
  bool sparse_gradient = false;  // of the embeddings, as nn::embedding has it
  bool decay_biases = true;
  std::string name = {};
};
// Guo et al. 2017: a factorisation machine and a network that share their embeddings. A number has
// an embedding too, which it multiplies. numbers [batch, n] may be empty. Gives [batch, 1].
TRIREME_API Value deepfm(const std::vector<IdField>& fields, const Value& numbers,
                         DeepfmOptions options, SourceLocation where = SourceLocation::current());

struct TwoTowerOptions {
  std::int64_t width = 32;                      // of the vectors that are multiplied
  std::vector<std::int64_t> hidden = {};        // units of each tower between embedding and vector
  double dropout = 0;                           // of the embeddings, and behind each hidden layer
  double mean = 0;                              // what the bias of all begins with
  std::optional<Initializer> weight_init = {};  // of the towers, as nn::linear has it
  Initializer embedding_init = nn::normal(0, 0.05);
  bool sparse_gradient = false;  // of the embeddings, as nn::embedding has it
  bool decay_biases = true;
  std::string name = {};
};
// A vector for the user and one for the item, each from an embedding through a tower of layers, or the
// embedding itself; their product, plus a bias of the user, of the item and of all (Koren et al.
// 2009, where there are no towers). Gives [batch, 1].
TRIREME_API Value two_tower(const IdField& user, const IdField& item, TwoTowerOptions options,
                            SourceLocation where = SourceLocation::current());

// --- Words --------------------------------------------------------------------------------------

struct SkipGramOptions {
  std::int64_t width = 100;                          // of the vectors that are multiplied
  bool bias = false;                                 // of each candidate
  Initializer embedding_init = nn::normal(0, 0.05);  // of the centres; candidates begin with zeros
  bool sparse_gradient = true;                       // as nn::embedding has it
  bool decay_biases = true;
  std::string name = {};
};
// The product of the vectors of a word and of each of its candidates, in tables of their own, which says how likely
// the candidate is right: Mikolov et al. 2013. centre is [batch]. Candidates [batch, n] are the word that stands near and
// noise; of sequences, [rows], the inner nodes on the way to it in a tree (hierarchical softmax, with a bias).
// Gives scores of the candidates' shape.
TRIREME_API Value skip_gram(const IdField& centre, const IdField& candidates,
                            SkipGramOptions options,
                            SourceLocation where = SourceLocation::current());

struct TaggerOptions {
  std::int64_t classes = 10;      // scores of a row
  std::int64_t width = 100;       // of the embedding of the first field, the words
  std::int64_t other_width = 32;  // of each other field, such as parts of speech
  std::int64_t units = 128;       // of an LSTM, of which each layer has one in either direction
  std::int64_t layers = 2;
  double dropout = 0.3;  // of the embeddings, between the layers and behind them
  // Where there is a position:
  std::int64_t context = 64;        // units of a layer over that row and its neighbours; 0: none
  std::int64_t mark_width = 16;     // of the embedding of the distance from that row; 0: none
  std::int64_t most_distance = 12;  // larger ones are this
  bool sparse_gradient = true;      // of the first field, as nn::embedding has it
  std::optional<Initializer> weight_init = {};  // of the last layer, as nn::linear has it
  bool decay_biases = true;
  std::string name = {};
};
// Scores [rows, classes] of labels for each row of sequences: LSTMs in both directions over embeddings, as Zhou and Xu 2015
// have it for semantic roles. fields are ids [rows] of the same sequences. position i64[batch] is the row, from 0, that
// the labels are about, the predicate; it may be empty.
TRIREME_API Value tagger(const std::vector<IdField>& fields, const Value& position,
                         TaggerOptions options, SourceLocation where = SourceLocation::current());

// --- From sequences to sequences ----------------------------------------------------------------

struct TranslatorOptions {
  enum class Cell : std::uint8_t { gru, transformer };
  Cell cell = Cell::gru;
  std::int64_t source_rows = 0;  // required: ids of the source are in [0, source_rows)
  std::int64_t rows = 0;         // required: ids of what is written, likewise
  std::int64_t width = 128;      // of the embeddings; all of a Transformer is as wide
  std::int64_t units = 192;  // of the decoder's GRU, and of both directions of the encoder's; even
  std::int64_t layers = 1;   // of the encoder's GRU, or blocks of a Transformer's two halves
  std::int64_t heads = 4;    // of a Transformer
  double dropout = 0.1;
  std::int64_t limit = 100;     // ids that are written at most, of a Transformer
  bool sparse_gradient = true;  // of the embeddings, as nn::embedding has it
  bool decay_biases = true;
  std::string name = {};
};
struct Translator {
  Value logits;         // [rows of `previous`, rows]: of the id that follows each
  nn::Decoder decoder;  // the same for nn::beam_search() and its like; lives as long as the Program
};
// source and previous are ids, rows of as many sequences. A GRU reads the source in both directions, another one begins
// with an image of the mean of what was read and looks at it before each id (Bahdanau et al. 2015, with one head of scaled
// dot products); or both are Transformers with sinusoidal positions (Vaswani et al. 2017).
TRIREME_API Translator translator(const Value& source, const Value& previous,
                                  TranslatorOptions options,
                                  SourceLocation where = SourceLocation::current());

}  // namespace trireme::models
