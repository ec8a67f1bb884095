#pragma once

// Layers and functions for small networks: weights of a few bits, weights and rows of tables that
// are shared by hashing, and losses of distillation. docs/how-to/compression.md has examples.
// Invalid arguments throw Error(usage) with the function, the caller's line and the value.

#include <cstdint>
#include <optional>
#include <string>

#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::nn {

// --- Few bits ---------------------------------------------------------------------------------
// Functions that a weight or an activation passes through. Their results have few different
// numbers; the weight itself stays f32 or f64 and is trained with straight-through gradients:
// the gradient of the result, unchanged, where the function says so. LinearOptions::weight_form
// and Conv2dOptions::weight_form use them.

// 1 where x >= 0, else -1; NaN stays NaN. The gradient passes where |x| <= 1, elsewhere it is 0:
// Hubara et al. 2016, "Binarized Neural Networks". For activations. x is f32 or f64 of any shape.
// Errors: usage, for other dtypes.
TRIREME_API Value binarize(const Value& x, SourceLocation where = SourceLocation::current());

struct WeightScaleOptions {
  // The axis of the units, each of which has a scale of its own: 1 or -1 for linear layers, 0 for
  // convolutions. Empty: one scale for all elements.
  std::optional<int> axis = {};
};
// binarize(weight) times the mean of |weight| over each unit: Rastegari et al. 2016, "XNOR-Net".
// The gradient passes through binarize() and through the mean. The weight is f32 or f64 with
// constant sizes and rank 1 or more.
// Errors: usage, for other weights, and an axis that the weight does not have.
TRIREME_API Value binary_weight(const Value& weight, WeightScaleOptions options = {},
                                SourceLocation where = SourceLocation::current());

// -s, 0 or s: 0 where |weight| <= 0.7 times its mean, else with the sign of the weight; s is the
// mean of the |weight| that remain, 0 if there are none: Li et al. 2016, "Ternary Weight Networks".
// Means are those of each unit. All gradients pass. Weights and errors as for binary_weight().
TRIREME_API Value ternary_weight(const Value& weight, WeightScaleOptions options = {},
                                 SourceLocation where = SourceLocation::current());

struct PowerOfTwoOptions {
  int bits = 4;                  // of a number, with its sign; 2 to 6
  std::optional<int> axis = {};  // as in WeightScaleOptions
};
// Each weight rounded to the nearest of 0 and +-2^k, where k has 2^(bits - 1) - 1 values; the
// largest is that of the nearest power of the largest |weight| of the unit. The middle between two
// numbers rounds away from 0. Zhou et al. 2017, "Incremental Network Quantization", and Miyashita
// et al. 2016. All gradients pass. The weight must be finite, and powers below the smallest normal
// number are 0.
// Errors: usage, as for binary_weight(), and for other bits.
TRIREME_API Value power_of_two_weight(const Value& weight, PowerOfTwoOptions options = {},
                                      SourceLocation where = SourceLocation::current());

// The weight in that form, for layers of your own: with a scale for each unit of the axis.
// Errors: usage, as for the functions above.
TRIREME_API Value weight_in_form(const Value& weight, WeightForm form, int axis,
                                 SourceLocation where = SourceLocation::current());

// --- Hashing ----------------------------------------------------------------------------------
// A hash function decides which trained numbers are shared. It depends on the seed alone, so that
// saved models need no tables. It is the finalizer of MurmurHash3 (Appleby, public domain) on 32
// bits; a bucket is the high part of its product with the number of buckets (Lemire 2019).

struct HashedLinearOptions {
  std::int64_t units = 0;        // required
  std::int64_t num_weights = 0;  // required: trained numbers in place of in * units
  // Numbers for each weight, from as many hash functions. They are added, and divided by the root
  // of `hashes`; or, with `hidden` units, a small network of tanh combines them, which all weights
  // share: Shi et al. 2016, "Functional Hashing for Compressing Neural Networks".
  int hashes = 1;
  std::int64_t hidden = 0;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // default: normal, with the variance of linear()
  std::int64_t seed = 1;                        // of the hash functions, 0 to 2^31 - 1
  std::string name = {};
};
// linear() whose weight [in, units] has only num_weights different numbers, up to their sign:
// weight[i, j] = s(i, j) w[h(i, j)], where s is 1 or -1: Chen et al. 2015, "Compressing Neural
// Networks with the Hashing Trick". The parameter weight is [num_weights]; with `hidden`, there are
// also mix [hashes, hidden], mix_bias [hidden] and mix_out [hidden]. x is f32 or f64 [..., in].
// Errors: usage, for options out of range, in * units of 2^32 or more, and an `in` that is no
// constant.
TRIREME_API Value hashed_linear(const Value& x, HashedLinearOptions options,
                                SourceLocation where = SourceLocation::current());

// How the rows that several hash functions find become one.
enum class HashCombine : std::uint8_t {
  sum,     // their sum; rows of the table have `dim` numbers
  concat,  // one after another; rows of the table have dim / hashes numbers
};
struct HashedEmbeddingOptions {
  std::int64_t num_buckets = 0;  // required: rows of the table
  std::int64_t dim = 0;          // required: numbers of the result
  int hashes = 2;                // hash functions: 1 is the hashing trick; at most 64
  HashCombine combine = HashCombine::sum;
  // Hidden units, of relu, of a small network that maps the combined row to `dim` numbers and is
  // added to it; 0: none.
  std::int64_t hidden = 0;
  bool sparse_gradient = false;                 // as in EmbeddingOptions
  std::optional<Initializer> weight_init = {};  // default: that of embedding()
  std::int64_t seed = 1;                        // of the hash functions, 0 to 2^31 - 1
  std::string name = {};
};
// Looks up rows by the hashes of ids, which are any integers: two ids share all their rows only if
// all hash functions agree. Svenstrup et al. 2017, "Hash Embeddings", without
// importance weights. The result has the shape of the ids followed by [dim]; the parameter
// weight is [num_buckets, dim], or [num_buckets, dim / hashes].
// Errors: usage, for options out of range, ids that are no integers, and a dim that `hashes` does
// not divide.
TRIREME_API Value hashed_embedding(const Value& ids, HashedEmbeddingOptions options,
                                   SourceLocation where = SourceLocation::current());

struct HashedNgramsOptions {
  std::int64_t num_buckets = 0;        // required, as all in HashedEmbeddingOptions
  std::int64_t dim = 0;                // required
  int min_length = 1, max_length = 3;  // of the n-grams, 1 to 16
  int hashes = 2;
  HashCombine combine = HashCombine::concat;
  bool sparse_gradient = false;
  std::optional<Initializer> weight_init = {};
  std::int64_t seed = 1;
  std::string name = {};
};
// The sum of the rows of all n-grams of each sequence, divided by the root of their number: the
// pyramid of PaddlePaddle's pyramid_hash, whose n-grams share one table. ids are integers [rows] of
// a ragged input (trireme/sequence.h); the result is [n, dim], zeros for a sequence without
// n-grams.
// Errors: usage, as for hashed_embedding(), and for ids that are no sequences.
TRIREME_API Value hashed_ngrams(const Value& ids, HashedNgramsOptions options,
                                SourceLocation where = SourceLocation::current());

// --- Distillation -----------------------------------------------------------------------------
// Losses that teach a small network, the student, what a large one computes. The gradient goes to
// the student alone. Operands are f32 or f64, both with one dtype.

struct DistillationOptions {
  double temperature = 4;  // divides both logits; above 0
};
// temperature^2 times the Kullback-Leibler divergence of softmax(student / temperature) from
// softmax(teacher / temperature), for logits [..., classes]; the result is [...]: Hinton et al.
// 2015, "Distilling the Knowledge in a Neural Network". The factor keeps the size of the gradient
// when the temperature changes.
// Errors: usage, for operands of different types, and a temperature that is not above 0.
TRIREME_API Value distillation(const Value& student, const Value& teacher,
                               DistillationOptions options = {},
                               SourceLocation where = SourceLocation::current());

// The mean squared distance of the attention maps of two feature maps [batch, channels, ...], whose
// sizes after the channels agree; the channels may differ. A map is the mean over the channels of
// the squares, divided by its norm, or 0 if that is 0. The result is [batch]: Zagoruyko and
// Komodakis 2017, "Paying More Attention to Attention".
// Errors: usage, for operands of other shapes or different dtypes.
TRIREME_API Value attention_transfer(const Value& student, const Value& teacher,
                                     SourceLocation where = SourceLocation::current());

// How the student's embeddings [batch, a] lie to each other, compared with the teacher's [batch,
// b]: smooth_l1() of the Euclidean distances of all pairs of examples, each divided by the mean of
// the distances above 0. The result is a scalar, the mean over batch^2 pairs: the distance loss of
// Park et al. 2019, "Relational Knowledge Distillation". 0 for one example, and for equal ones.
// Errors: usage, for operands of other ranks or different dtypes.
TRIREME_API Value relation_distance(const Value& student, const Value& teacher,
                                    SourceLocation where = SourceLocation::current());
// The same for the cosines of the angles of all triples of examples; the mean over batch^3 triples.
// Memory and work grow with batch^3.
// Errors: as relation_distance().
TRIREME_API Value relation_angle(const Value& student, const Value& teacher,
                                 SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
