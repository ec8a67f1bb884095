#pragma once

// Layers: functions that build Programs out of the ops of trireme/ops.h. A layer with parameters
// opens a scope with a name of its own ("linear_0"); its parameters are named in that scope
// ("linear_0.weight"). A mistake is Error(usage) naming the layer and the caller's line.
// Images are [batch, channels, height, width].

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"
#include "trireme/loss.h"
#include "trireme/ops.h"
#include "trireme/program.h"

namespace trireme {

// exp(x) by its sum along `axis`, and the logarithm of that; safe for large x.
TRIREME_API Value softmax(const Value& x, int axis = -1,
                          SourceLocation where = SourceLocation::current());
TRIREME_API Value log_softmax(const Value& x, int axis = -1,
                              SourceLocation where = SourceLocation::current());

}  // namespace trireme

namespace trireme::nn {

using trireme::log_softmax;
using trireme::softmax;

// --- Initializers -----------------------------------------------------------------------------
// Deterministic by the seed of the Session and the name of the parameter. With fan_in inputs of one
// unit and fan_out units fed by one input: [in, out] for matrices and, for convolutions,
// [out, in / groups, height, width], where both fans are multiplied by height * width.

TRIREME_API Initializer constant(double value);
TRIREME_API Initializer zeros();
TRIREME_API Initializer ones();
TRIREME_API Initializer uniform(double low, double high);
TRIREME_API Initializer normal(double mean = 0, double stddev = 1);
// Normal numbers beyond two standard deviations are drawn again.
TRIREME_API Initializer truncated_normal(double mean = 0, double stddev = 1);
// Variance gain^2 * 2 / (fan_in + fan_out): Glorot and Bengio 2010.
TRIREME_API Initializer xavier_uniform(double gain = 1);
TRIREME_API Initializer xavier_normal(double gain = 1);
// Variance gain^2 / fan_in: He et al. 2015; the default gain is sqrt(2), for relu.
TRIREME_API Initializer kaiming_uniform(double gain = 1.4142135623730951);
TRIREME_API Initializer kaiming_normal(double gain = 1.4142135623730951);
// The first axis by all others as a matrix of orthonormal rows or, if there are more rows than
// columns, columns, times gain: Saxe et al. 2013.
TRIREME_API Initializer orthogonal(double gain = 1);

// --- Activations ------------------------------------------------------------------------------

using Activation = std::function<Value(const Value&, SourceLocation)>;

#define TRIREME_ACTIVATION(name) \
  TRIREME_API Value name(const Value& x, SourceLocation where = SourceLocation::current())
TRIREME_ACTIVATION(identity);
TRIREME_ACTIVATION(relu);          // max(x, 0)
TRIREME_ACTIVATION(relu6);         // min(max(x, 0), 6)
TRIREME_ACTIVATION(leaky_relu);    // x, or 0.01 x where x < 0; LeakyRelu takes another slope
TRIREME_ACTIVATION(elu);           // x, or exp(x) - 1 where x < 0; Elu takes another scale
TRIREME_ACTIVATION(gelu);          // x * (1 + erf(x / sqrt(2))) / 2
TRIREME_ACTIVATION(gelu_tanh);     // its approximation by tanh
TRIREME_ACTIVATION(silu);          // x * sigmoid(x)
TRIREME_ACTIVATION(mish);          // x * tanh(softplus(x))
TRIREME_ACTIVATION(softplus);      // log(1 + exp(x))
TRIREME_ACTIVATION(hard_sigmoid);  // relu6(x + 3) / 6
TRIREME_ACTIVATION(hard_swish);    // x * hard_sigmoid(x)
TRIREME_ACTIVATION(tanh);
TRIREME_ACTIVATION(sigmoid);
#undef TRIREME_ACTIVATION

struct TRIREME_API LeakyRelu {
  double slope = 0.01;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
struct TRIREME_API Elu {
  double scale = 1;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};

// By the names above; empty if there is none. For job files.
TRIREME_API Activation find_activation(std::string_view name);
TRIREME_API std::vector<std::string> activation_names();

// --- Layers -----------------------------------------------------------------------------------

struct LinearOptions {
  std::int64_t units = 0;  // required
  bool bias = true;
  Activation activation = {};  // none if empty
  // By default kaiming_uniform() where there is an activation, else xavier_uniform().
  std::optional<Initializer> weight_init = {};
  Initializer bias_init = {};  // zeros
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};  // of the layer; "linear_0" and so on if empty
};
// x [..., in] times weight [in, units], plus bias [units], for x of rank 2 or more.
TRIREME_API Value linear(const Value& x, LinearOptions options,
                         SourceLocation where = SourceLocation::current());

struct EmbeddingOptions {
  std::int64_t rows = 0;   // required: ids are in [0, rows)
  std::int64_t width = 0;  // required
  std::optional<Initializer> weight_init =
      {};  // normal(0, 1 / sqrt(width)): rows of length about 1
  // The gradient is a list of the rows that a step looked up, and optimizers update these alone
  // (trireme/optimizer.h): what a step costs does not depend on `rows`.
  bool sparse_gradient = false;
  // This row is zero and stays so: what it is looked up for gives zeros and no gradient.
  std::optional<std::int64_t> padding_row = {};
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// Rows of the table weight [rows, width] by integer ids of any shape: the ids' shape and [width]. An
// id outside [0, rows) is Error(data) when it runs, naming it, the layer and the caller's line.
TRIREME_API Value embedding(const Value& ids, EmbeddingOptions options,
                            SourceLocation where = SourceLocation::current());

// Height and width: one number stands for both.
struct Pair {
  std::int64_t height = 1, width = 1;
  Pair(int both) : height(both), width(both) {}           // NOLINT
  Pair(std::int64_t both) : height(both), width(both) {}  // NOLINT
  Pair(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

// Elements around the image: one number for all sides, vertical and horizontal, or each side.
// "same" is what makes the result ceil(size / stride) long, the odd one at the bottom and right;
// "valid" is none.
struct TRIREME_API Padding {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool same = false;
  Padding() = default;
  Padding(int all) : Padding(all, all, all, all) {}           // NOLINT
  Padding(std::int64_t all) : Padding(all, all, all, all) {}  // NOLINT
  Padding(std::int64_t v, std::int64_t h) : Padding(v, v, h, h) {}
  Padding(std::int64_t t, std::int64_t b, std::int64_t l, std::int64_t r)
      : top(t), bottom(b), left(l), right(r) {}
  Padding(const char* word);         // NOLINT
  Padding(const std::string& word);  // NOLINT
};

struct Conv2dOptions {
  std::int64_t channels = 0;  // required: of the result
  Pair kernel = 3;
  Pair stride = 1;
  Padding padding = {};
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in LinearOptions
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// weight [channels, in / groups, kernel height, kernel width], bias [channels].
TRIREME_API Value conv2d(const Value& x, Conv2dOptions options,
                         SourceLocation where = SourceLocation::current());

struct PoolOptions {
  Pair kernel = 2;
  std::optional<Pair> stride = {};  // the kernel's size if not set
  Padding padding = {};
  bool count_padding = true;  // avg_pool only: padding counts as elements
};
TRIREME_API Value max_pool(const Value& x, PoolOptions options,
                           SourceLocation where = SourceLocation::current());
TRIREME_API Value avg_pool(const Value& x, PoolOptions options,
                           SourceLocation where = SourceLocation::current());
// [batch, channels, height, width] to [batch, channels].
TRIREME_API Value global_avg_pool(const Value& x, SourceLocation where = SourceLocation::current());
TRIREME_API Value global_max_pool(const Value& x, SourceLocation where = SourceLocation::current());
// Pooling to an image of `size`: row i is made of the rows from floor(i * height / size) to, not
// with, ceil((i + 1) * height / size), and columns likewise. Neighbours may share rows.
TRIREME_API Value adaptive_avg_pool(const Value& x, Pair size,
                                    SourceLocation where = SourceLocation::current());
TRIREME_API Value adaptive_max_pool(const Value& x, Pair size,
                                    SourceLocation where = SourceLocation::current());

// All axes but the first become one.
TRIREME_API Value flatten(const Value& x, SourceLocation where = SourceLocation::current());

struct BatchNormOptions {
  double momentum = 0.1;  // how far the running statistics move towards those of a batch
  double epsilon = 1e-5;
  bool affine = true;  // with parameters weight and bias [channels]
  std::string name = {};
};
// (x - mean) / sqrt(variance + epsilon) for every channel, axis 1 of x. In training mean and
// variance are those of the batch, and running_mean and running_var follow them, the variance
// unbiased.
TRIREME_API Value batch_norm(const Value& x, BatchNormOptions options = {},
                             SourceLocation where = SourceLocation::current());

struct LayerNormOptions {
  int axes = 1;  // how many of the last axes are normalised together
  double epsilon = 1e-5;
  bool affine = true;  // with parameters weight and bias of the shape of these axes
  std::string name = {};
};
TRIREME_API Value layer_norm(const Value& x, LayerNormOptions options = {},
                             SourceLocation where = SourceLocation::current());

struct GroupNormOptions {
  std::int64_t groups = 0;  // required: the channels are divided into so many
  double epsilon = 1e-5;
  bool affine = true;  // with parameters weight and bias [channels]
  std::string name = {};
};
// (x - mean) / sqrt(variance + epsilon) for every example and group of neighbouring channels, axis
// 1 of x, in training and inference alike: Wu and He 2018.
TRIREME_API Value group_norm(const Value& x, GroupNormOptions options,
                             SourceLocation where = SourceLocation::current());

struct InstanceNormOptions {
  double epsilon = 1e-5;
  bool affine = false;
  std::string name = {};
};
// group_norm with a group for every channel, for x with axes behind it: Ulyanov et al. 2016.
TRIREME_API Value instance_norm(const Value& x, InstanceNormOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct DropoutOptions {
  double rate = 0.5;  // in [0, 1)
};
// In training every element is dropped with probability `rate` and the others are divided by
// 1 - rate; in inference x.
TRIREME_API Value dropout(const Value& x, DropoutOptions options = {},
                          SourceLocation where = SourceLocation::current());

struct PreluOptions {
  bool per_channel = false;  // a slope for each channel, axis 1, or one for all
  double slope = 0.25;       // at first
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// x, or weight * x where x < 0, with the slopes as parameter weight [1] or [channels]: He et al.
// 2015.
TRIREME_API Value prelu(const Value& x, PreluOptions options = {},
                        SourceLocation where = SourceLocation::current());

struct MaxoutOptions {
  std::int64_t pieces = 2;
  int axis = 1;  // of the channels, or features
};
// The largest of every `pieces` neighbours along the axis, which becomes as much shorter:
// Goodfellow et al. 2013.
TRIREME_API Value maxout(const Value& x, MaxoutOptions options = {},
                         SourceLocation where = SourceLocation::current());

struct CosineOptions {
  int axis = -1;
  double epsilon = 1e-8;  // shorter vectors count as so long
};
// sum(a * b) / (|a| |b|) along the axis, for a and b of one type.
TRIREME_API Value cosine_similarity(const Value& a, const Value& b, CosineOptions options = {},
                                    SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
