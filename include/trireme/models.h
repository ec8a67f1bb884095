#pragma once

// A collection of well-known networks. Each is a function from inputs to logits, built from the
// layers of trireme/nn.h. A model opens a scope with its own name ("resnet_0"), which prefixes the
// names of its parameters ("resnet_0/block_3/conv2d_1.weight"). Invalid arguments throw
// Error(usage) with the model or layer, the caller's line and the value.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/decoding.h"
#include "trireme/deprecated.h"
#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::models {

// --- Common options -----------------------------------------------------------------------------
//   classes       number of logits per example
//   weight_init   of all matrices and kernels; default: the initializer of the model's paper
//   decay_biases  false: weight decay applies only to matrices and kernels, not to biases and to
//                 weights and biases of batch norms
//   name          of the scope; default: made from the model's name

// --- Feature vectors or images ------------------------------------------------------------------
// x is [batch, ...]; axes after the second are flattened into it.

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
  double dropout = 0;                           // after each hidden layer
  std::optional<Initializer> weight_init = {};  // as in nn::linear
  bool decay_biases = true;
  std::string name = {};
};
TRIREME_API Value mlp(const Value& x, MlpOptions options,
                      SourceLocation where = SourceLocation::current());

// --- Images -------------------------------------------------------------------------------------
// x is [batch, channels, height, width].

// (x - mean) / standard deviation, with one number per channel or one for all. Part of the model,
// so a saved model takes the same images as training.
TRIREME_API Value normalize(const Value& x, const std::vector<double>& mean,
                            const std::vector<double>& stddev,
                            SourceLocation where = SourceLocation::current());

[[deprecated("use normalize()")]] inline Value normalise(
    const Value& x, const std::vector<double>& mean, const std::vector<double>& stddev,
    SourceLocation where = SourceLocation::current()) {
  return normalize(x, mean, stddev, where);
}

struct LenetOptions {
  std::int64_t classes = 10;
  std::int64_t padding = 2;  // of the first convolution: 2 for images of 28 pixels, 0 for 32
  nn::Activation activation = nn::relu;
  std::optional<Initializer> weight_init = {};
  bool decay_biases = true;
  std::string name = {};
};
// LeNet-5, LeCun et al. 1998, but with max pooling, fully connected feature maps and a linear
// output layer.
TRIREME_API Value lenet(const Value& x, LenetOptions options,
                        SourceLocation where = SourceLocation::current());

struct VggOptions {
  int depth = 16;    // 11, 13, 16 or 19
  double width = 1;  // factor for 64, 128, 256 and 512 channels
  bool batch_norm = false;
  std::vector<std::int64_t> hidden = {4096, 4096};  // units before the last layer
  double dropout = 0.5;                             // after each of them
  std::int64_t classes = 1000;
  std::optional<Initializer> weight_init = {};  // kaiming_normal()
  bool decay_biases = true;
  std::string name = {};
};
// Simonyan and Zisserman 2015, configurations A, B, D and E. Images of at least 32 pixels; with 224
// pixels it is the network of the paper.
TRIREME_API Value vgg(const Value& x, VggOptions options,
                      SourceLocation where = SourceLocation::current());

// The shortcut of a block that changes the number of channels.
enum class Shortcut : std::uint8_t {
  pad,      // every second pixel, and zeros for new channels: option A
  project,  // a convolution with kernel 1 and a batch norm: option B
};
struct ResnetOptions {
  // 20, 32, 44, 56 and 110 are the paper's networks for images of about 32 pixels (section 4.2),
  // with three stages of 16, 32 and 64 channels. 18 and 34 (basic blocks) and 50, 101 and 152
  // (bottlenecks) are its networks for large images (table 1), with four stages of 64, 128, 256 and
  // 512 channels.
  int depth = 20;
  double width = 1;                       // factor for the channels
  std::optional<Shortcut> shortcut = {};  // default: pad for three stages, project for four
  // Bottlenecks have their stride of 2 in the 3 x 3 convolution, as in many libraries, not in the
  // first 1 x 1.
  bool stride_in_3x3 = false;
  // four stages only: starts with a 3 x 3 convolution of stride 1, without pooling
  bool small_input = false;
  std::int64_t classes = 10;
  std::optional<Initializer> weight_init = {};  // kaiming_normal()
  bool decay_biases = true;
  std::string name = {};
};
// He et al. 2015.
TRIREME_API Value resnet(const Value& x, ResnetOptions options,
                         SourceLocation where = SourceLocation::current());

struct MobilenetV2Options {
  double width = 1;          // factor for the channels, which are then rounded to multiples of 8
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

// How a model represents the order of the steps.
enum class Positions : std::uint8_t {
  none,
  sinusoidal,  // nn::add_sinusoidal_positions
  learned,     // nn::add_learned_positions
  rotary,      // nn::Rotary, in all blocks
  relative     // nn::RelativePositions, in all blocks
};
// How the steps of a sequence become one row.
enum class Pooling : std::uint8_t {
  mean,   // of the steps that are not padding; zeros if all are
  first,  // only the first step
};
struct TransformerEncoderOptions {
  std::int64_t classes = 10;
  // Width of a step in the model: of the embedding of ids, or of the linear layer that numbers go
  // through. 0: numbers have no such layer.
  std::int64_t width = 64;
  std::int64_t rows = 0;  // number of ids; required for ids, which are in [0, rows)
  std::optional<std::int64_t> padding_id = {};  // the id of padding steps
  std::optional<nn::Pair> patch = {};           // of images; default: one row of pixels
  Positions positions = Positions::sinusoidal;
  DeprecatedOption<std::int64_t, "most_steps", "max_steps"> most_steps = {};
  std::int64_t max_steps = 0;  // for learned positions; 0: the number of steps of x, if constant
  std::int64_t layers = 2;
  std::int64_t heads = 4;      // a divisor of width
  std::int64_t key_heads = 0;  // grouped queries, as in nn::AttentionOptions
  bool blockwise = false;      // as in nn::TransformerBlockOptions, for long sequences
  // Units between the two linear layers of a block; 0: 4 times width.
  std::int64_t feed_forward = 0;
  nn::Activation activation = nn::relu;
  double dropout = 0.1;  // of the input of the first block, and in the blocks
  bool pre_norm = true;  // as in nn::TransformerBlockOptions; also adds a final norm
  bool causal = false;   // a step attends only to itself and earlier steps
  Pooling pooling = Pooling::mean;
  std::optional<Initializer> weight_init = {};     // as in the layers
  std::optional<Initializer> embedding_init = {};  // as in nn::embedding
  bool sparse_gradient = false;                    // of the embedding, as in nn::embedding
  bool decay_biases = true;
  std::string name = {};
};
// The encoder of Vaswani et al. 2017, followed by one linear layer on the pooled steps. x is
// integer ids [batch, steps], numbers [batch, steps, width], or images [batch, channels, height,
// width], whose patches in row-major order are the steps (Dosovitskiy et al. 2021).
TRIREME_API Value transformer_encoder(const Value& x, TransformerEncoderOptions options,
                                      SourceLocation where = SourceLocation::current());

// --- Ids and numbers ----------------------------------------------------------------------------

// Ids in [0, rows): [batch], or [batch, n] if an example has n ids with the same meaning.
struct IdField {
  Value ids = {};
  std::int64_t rows = 0;
};

struct WideAndDeepOptions {
  std::int64_t width = 8;                        // of an embedding
  std::vector<std::int64_t> hidden = {100, 50};  // units of the deep part
  // Pairs of fields, given by their indices, with one id each: the wide part also has a weight for
  // each pair of their ids.
  std::vector<std::pair<std::int64_t, std::int64_t>> crosses = {};
  double dropout = 0;                           // after each hidden layer
  std::int64_t classes = 1;                     // 1: a logit of two classes, or a number
  std::optional<Initializer> weight_init = {};  // of the deep part, as in nn::linear
  Initializer embedding_init = nn::normal(0, 0.05);
  bool sparse_gradient = false;  // of the embeddings, as in nn::embedding
  bool decay_biases = true;
  std::string name = {};
};
// Cheng et al. 2016: a linear model of ids, crosses and numbers, plus a network over the embeddings
// of the ids and the numbers. numbers [batch, n] may be empty. Returns [batch, classes].
TRIREME_API Value wide_and_deep(const std::vector<IdField>& fields, const Value& numbers,
                                WideAndDeepOptions options,
                                SourceLocation where = SourceLocation::current());

struct DeepfmOptions {
  std::int64_t width = 8;                        // of an embedding
  std::vector<std::int64_t> hidden = {100, 50};  // units of the deep part
  double dropout = 0;                            // after each hidden layer
  std::optional<Initializer> weight_init = {};   // of the deep part, as in nn::linear
  Initializer embedding_init = nn::normal(0, 0.05);
  bool sparse_gradient = false;  // of the embeddings, as in nn::embedding
  bool decay_biases = true;
  std::string name = {};
};
// Guo et al. 2017: a factorization machine and a network that share their embeddings. A number also
// has an embedding, which it multiplies. numbers [batch, n] may be empty. Returns [batch, 1].
TRIREME_API Value deepfm(const std::vector<IdField>& fields, const Value& numbers,
                         DeepfmOptions options, SourceLocation where = SourceLocation::current());

struct TwoTowerOptions {
  std::int64_t width = 32;                      // of the vectors that are multiplied
  std::vector<std::int64_t> hidden = {};        // units of the layers of each tower
  double dropout = 0;                           // of the embeddings and after each hidden layer
  double mean = 0;                              // initial value of the global bias
  std::optional<Initializer> weight_init = {};  // of the towers, as in nn::linear
  Initializer embedding_init = nn::normal(0, 0.05);
  bool sparse_gradient = false;  // of the embeddings, as in nn::embedding
  bool decay_biases = true;
  std::string name = {};
};
// Computes a vector for the user and one for the item: each an embedding, followed by a tower of
// layers if `hidden` is not empty. The result is their dot product plus a bias of the user, of the
// item and a global bias (Koren et al. 2009, if there are no towers). Returns [batch, 1].
TRIREME_API Value two_tower(const IdField& user, const IdField& item, TwoTowerOptions options,
                            SourceLocation where = SourceLocation::current());

// --- Words --------------------------------------------------------------------------------------

struct SkipGramOptions {
  std::int64_t width = 100;                          // of the vectors that are multiplied
  bool bias = false;                                 // of each candidate
  Initializer embedding_init = nn::normal(0, 0.05);  // of the centers; candidates start at zero
  bool sparse_gradient = true;                       // as in nn::embedding
  bool decay_biases = true;
  std::string name = {};
};
// The dot product of the vector of a word and of each of its candidates, from two tables. It says
// how likely the candidate is correct: Mikolov et al. 2013. center is [batch]. Candidates [batch,
// n] are the context word and noise words. Candidates that are sequences, [rows], are the inner
// nodes on the path to the word in a tree (hierarchical softmax, with a bias). Returns scores of
// the candidates' shape.
TRIREME_API Value skip_gram(const IdField& center, const IdField& candidates,
                            SkipGramOptions options,
                            SourceLocation where = SourceLocation::current());

struct TaggerOptions {
  std::int64_t classes = 10;      // scores per row
  std::int64_t width = 100;       // of the embedding of the first field, the words
  std::int64_t other_width = 32;  // of each other field, such as part-of-speech tags
  std::int64_t units = 128;       // of an LSTM; each layer has one per direction
  std::int64_t layers = 2;
  double dropout = 0.3;  // of the embeddings, between the layers and after them
  // If there is a position:
  std::int64_t context = 64;       // units of a layer over that row and its neighbors; 0: none
  std::int64_t mark_width = 16;    // width of the embedding of the distance to that row; 0: none
  std::int64_t max_distance = 12;  // larger distances are clamped to this
  DeprecatedOption<std::int64_t, "most_distance", "max_distance"> most_distance = {};
  bool sparse_gradient = true;                  // of the first field, as in nn::embedding
  std::optional<Initializer> weight_init = {};  // of the last layer, as in nn::linear
  bool decay_biases = true;
  std::string name = {};
};
// Returns scores [rows, classes] of labels for each row of sequences: bidirectional LSTMs over
// embeddings, as in Zhou and Xu 2015 for semantic roles. fields are ids [rows] of the same
// sequences. position i64[batch] is the row, from 0, that the labels refer to, the predicate; it
// may be empty.
TRIREME_API Value tagger(const std::vector<IdField>& fields, const Value& position,
                         TaggerOptions options, SourceLocation where = SourceLocation::current());

// --- Sequence to sequence -----------------------------------------------------------------------

struct TranslatorOptions {
  enum class Cell : std::uint8_t { gru, transformer };
  Cell cell = Cell::gru;
  std::int64_t source_rows = 0;  // required: source ids are in [0, source_rows)
  std::int64_t rows = 0;         // required: target ids are in [0, rows)
  std::int64_t width = 128;      // of the embeddings, and of the whole Transformer
  std::int64_t units = 192;  // of the decoder's GRU and of both directions of the encoder's; even
  std::int64_t layers = 1;   // of the encoder's GRU, or blocks in each half of a Transformer
  std::int64_t heads = 4;    // of a Transformer
  double dropout = 0.1;
  std::int64_t limit = 100;     // maximum number of generated ids, for a Transformer
  bool sparse_gradient = true;  // of the embeddings, as in nn::embedding
  bool decay_biases = true;
  std::string name = {};
};
struct Translator {
  Value logits;  // [rows of `previous`, rows]: of the id that follows each
  // the same model for nn::beam_search() and similar; valid as long as the Program
  nn::Decoder decoder;
};
// A model from sequences to sequences, such as a translator. source and previous are ids, rows of n
// sequences each. With `gru`, a bidirectional GRU reads the source. The decoder's GRU starts from a
// projection of the mean of the encoder's outputs and attends to them before each id (Bahdanau et
// al. 2015, with one head of scaled dot products). With `transformer`, both are Transformers with
// sinusoidal positions (Vaswani et al. 2017).
TRIREME_API Translator translator(const Value& source, const Value& previous,
                                  TranslatorOptions options,
                                  SourceLocation where = SourceLocation::current());

}  // namespace trireme::models
