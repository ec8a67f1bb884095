#pragma once

// Layers: functions that build Programs from the ops of trireme/ops.h. A layer with parameters
// opens a scope with its own name ("linear_0"), which prefixes its parameters ("linear_0.weight").
// Invalid arguments throw Error(usage) with the layer and the caller's line. Images are [batch,
// channels, height, width].

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/deprecated.h"
#include "trireme/export.h"
#include "trireme/loss.h"
#include "trireme/ops.h"
#include "trireme/program.h"

namespace trireme {

// exp(x) divided by its sum along `axis`, and the logarithm of that. Numerically stable for large
// x.
TRIREME_API Value softmax(const Value& x, int axis = -1,
                          SourceLocation where = SourceLocation::current());
TRIREME_API Value log_softmax(const Value& x, int axis = -1,
                              SourceLocation where = SourceLocation::current());

}  // namespace trireme

namespace trireme::nn {

using trireme::log_softmax;
using trireme::softmax;

// --- Initializers -----------------------------------------------------------------------------
// Values depend only on the seed of the Session and the name of the parameter. fan_in is the number
// of inputs of one unit, fan_out the number of units that one input feeds: [in, out] for matrices;
// for convolutions [out, in / groups, height, width], with both fans multiplied by height * width.

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
// These numbers in row-major order, one for each element.
TRIREME_API Initializer values(std::vector<double> numbers);
// Treats the first axis as rows and all others as columns. The matrix has orthonormal rows or, if
// there are more rows than columns, orthonormal columns, times gain: Saxe et al. 2013.
TRIREME_API Initializer orthogonal(double gain = 1);

// --- Activations ------------------------------------------------------------------------------

using Activation = std::function<Value(const Value&, SourceLocation)>;

#define TRIREME_ACTIVATION(name) \
  TRIREME_API Value name(const Value& x, SourceLocation where = SourceLocation::current())
TRIREME_ACTIVATION(identity);
TRIREME_ACTIVATION(relu);          // max(x, 0)
TRIREME_ACTIVATION(relu6);         // min(max(x, 0), 6)
TRIREME_ACTIVATION(leaky_relu);    // x, or 0.01 x where x < 0; LeakyRelu sets the slope
TRIREME_ACTIVATION(elu);           // x, or exp(x) - 1 where x < 0; Elu sets the scale
TRIREME_ACTIVATION(gelu);          // x * erfc(-x / sqrt(2)) / 2
TRIREME_ACTIVATION(gelu_tanh);     // its approximation with tanh
TRIREME_ACTIVATION(silu);          // x * sigmoid(x)
TRIREME_ACTIVATION(mish);          // x * tanh(softplus(x))
TRIREME_ACTIVATION(softplus);      // log(1 + exp(x))
TRIREME_ACTIVATION(hard_sigmoid);  // relu6(x + 3) / 6
TRIREME_ACTIVATION(hard_swish);    // x * hard_sigmoid(x)
TRIREME_ACTIVATION(hard_tanh);     // min(max(x, -1), 1); HardTanh sets the limits
TRIREME_ACTIVATION(selu);         // 1.0507 x, or 1.7581 (exp(x) - 1) where x < 0: self-normalizing,
                                  // Klambauer et al. 2017
TRIREME_ACTIVATION(celu);         // x, or exp(x) - 1 where x < 0; Celu sets alpha
TRIREME_ACTIVATION(log_sigmoid);  // -softplus(-x)
TRIREME_ACTIVATION(softsign);     // x / (1 + |x|), NaN at infinity
TRIREME_ACTIVATION(tanh_shrink);  // x - tanh(x)
TRIREME_ACTIVATION(soft_shrink);  // x moved by 0.5 towards 0, not beyond; SoftShrink sets the 0.5
TRIREME_ACTIVATION(hard_shrink);  // x, or 0 where |x| <= 0.5; HardShrink sets the 0.5
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
// max(x, 0) + min(alpha (exp(x / alpha) - 1), 0), for alpha above 0: Barron 2017, "Continuously
// Differentiable Exponential Linear Units".
struct TRIREME_API Celu {
  double alpha = 1;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
// min(max(x, low), high); low must be below high.
struct TRIREME_API HardTanh {
  double low = -1, high = 1;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
// x - lambda where x > lambda, x + lambda where x < -lambda, else 0; lambda must not be negative.
struct TRIREME_API SoftShrink {
  double lambda = 0.5;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
// x where |x| > lambda, else 0; lambda must not be negative.
struct TRIREME_API HardShrink {
  double lambda = 0.5;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
// x where x > limit, else `value`.
struct TRIREME_API Threshold {
  double limit = 0, value = 0;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
// x where x > limit, else `value`.
TRIREME_API Value threshold(const Value& x, double limit = 0, double value = 0,
                            SourceLocation where = SourceLocation::current());
// x * sigmoid(beta * x), which is silu for beta 1: Ramachandran et al. 2017.
struct TRIREME_API Swish {
  double beta = 1;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
// x * sigmoid(beta * x).
TRIREME_API Value swish(const Value& x, double beta = 1,
                        SourceLocation where = SourceLocation::current());
// Gated linear unit: the first half of x along the axis, times the sigmoid of the second half. The
// axis must have a constant even size, which is halved: Dauphin et al. 2016.
struct TRIREME_API Glu {
  int axis = -1;
  Value operator()(const Value& x, SourceLocation where = SourceLocation::current()) const;
};
TRIREME_API Value glu(const Value& x, SourceLocation where = SourceLocation::current());

// Finds an activation of one element by its name above, so not glu; empty if there is none. For
// job files.
TRIREME_API Activation find_activation(std::string_view name);
TRIREME_API std::vector<std::string> activation_names();

// --- Layers -----------------------------------------------------------------------------------

// The numbers that a layer computes with instead of its weight, with straight-through gradients for
// the weight itself: trireme/compression.h.
enum class WeightForm : std::uint8_t {
  full,     // the weight
  binary,   // binary_weight()
  ternary,  // ternary_weight()
  log3,     // power_of_two_weight() of 3 bits
  log4,
  log5,
};

struct LinearOptions {
  std::int64_t units = 0;  // required
  bool bias = true;
  Activation activation = {};  // none if empty
  // By default kaiming_uniform() with the gain of the activation, else xavier_uniform(). The gain
  // is 5 / 3 for tanh, 1 for identity, sigmoid and hard_sigmoid, and sqrt(2) for the others.
  std::optional<Initializer> weight_init = {};
  Initializer bias_init = {};  // zeros
  ParameterSettings weight_settings = {}, bias_settings = {};
  WeightForm weight_form = WeightForm::full;
  std::string name = {};  // of the layer; empty: "linear_0" and so on
};
// x [..., in] times weight [in, units], plus bias [units]. x has rank 2 or more.
TRIREME_API Value linear(const Value& x, LinearOptions options,
                         SourceLocation where = SourceLocation::current());

struct EmbeddingOptions {
  std::int64_t num_embeddings = 0;  // required: ids are in [0, num_embeddings)
  DeprecatedOption<std::int64_t, "rows", "num_embeddings"> rows = {};
  std::int64_t dim = 0;  // required: elements of a row
  DeprecatedOption<std::int64_t, "width", "dim"> width = {};
  // Default: normal(0, 1 / sqrt(dim)), which gives rows with a norm of about 1.
  std::optional<Initializer> weight_init = {};
  // The gradient contains only the rows that a step looked up, and optimizers update only these
  // (trireme/optimizer.h). The cost of a step does not depend on `num_embeddings`.
  bool sparse_gradient = false;
  // This row is zero and stays zero: looking it up gives zeros and no gradient.
  std::optional<std::int64_t> padding_row = {};
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// Looks up rows of the table weight [num_embeddings, dim] by integer ids of any shape. The result
// has the shape of the ids followed by [dim]. An id outside [0, num_embeddings) is Error(data) at
// run time, with the id, the layer and the caller's line.
TRIREME_API Value embedding(const Value& ids, EmbeddingOptions options,
                            SourceLocation where = SourceLocation::current());

// Height and width; one number sets both.
struct Pair {
  std::int64_t height = 1, width = 1;
  Pair(int both) : height(both), width(both) {}           // NOLINT
  Pair(std::int64_t both) : height(both), width(both) {}  // NOLINT
  Pair(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

// Padding around the image: one number for all sides, vertical and horizontal, or each side. "same"
// makes the result ceil(size / stride) long; an odd element is added at the bottom and right.
// "valid" is no padding.
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
  std::int64_t channels = 0;  // required: channels of the result
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
  WeightForm weight_form = WeightForm::full;
  std::string name = {};
};
// weight [channels, in / groups, kernel height, kernel width], bias [channels].
TRIREME_API Value conv2d(const Value& x, Conv2dOptions options,
                         SourceLocation where = SourceLocation::current());

struct PoolOptions {
  Pair kernel = 2;
  std::optional<Pair> stride = {};  // default: the kernel's size
  Padding padding = {};
  // Adds a last window that begins inside the image, or in the padding before it, and ends after
  // the padding. What it has there does not count. Not with "same".
  bool ceil_mode = false;
  bool count_include_pad = true;  // avg_pool only: padding counts as elements
  DeprecatedOption<bool, "count_padding", "count_include_pad"> count_padding = {};
};
TRIREME_API Value max_pool(const Value& x, PoolOptions options,
                           SourceLocation where = SourceLocation::current());
TRIREME_API Value avg_pool(const Value& x, PoolOptions options,
                           SourceLocation where = SourceLocation::current());
// [batch, channels, height, width] to [batch, channels].
TRIREME_API Value global_avg_pool(const Value& x, SourceLocation where = SourceLocation::current());
TRIREME_API Value global_max_pool(const Value& x, SourceLocation where = SourceLocation::current());
// Pools to an image of `size`: row i covers the rows from floor(i * height / size) up to but
// excluding ceil((i + 1) * height / size); columns likewise. Neighboring windows may share rows.
TRIREME_API Value adaptive_avg_pool(const Value& x, Pair size,
                                    SourceLocation where = SourceLocation::current());
TRIREME_API Value adaptive_max_pool(const Value& x, Pair size,
                                    SourceLocation where = SourceLocation::current());

// Merges all axes except the first into one.
TRIREME_API Value flatten(const Value& x, SourceLocation where = SourceLocation::current());

struct BatchNormOptions {
  double momentum = 0.1;  // weight of the new batch in the running statistics
  double epsilon = 1e-5;
  bool affine = true;  // with parameters weight and bias [channels]
  std::string name = {};
};
// (x - mean) / sqrt(variance + epsilon) for every channel, axis 1 of x. In training, mean and
// variance are those of the batch; running_mean and running_var are updated from them, with the
// unbiased variance. In inference, mean and variance are the running statistics.
TRIREME_API Value batch_norm(const Value& x, BatchNormOptions options = {},
                             SourceLocation where = SourceLocation::current());

struct LayerNormOptions {
  int axes = 1;  // number of last axes that are normalized together
  double epsilon = 1e-5;
  bool affine = true;  // with parameters weight and bias of the shape of these axes
  std::string name = {};
};
TRIREME_API Value layer_norm(const Value& x, LayerNormOptions options = {},
                             SourceLocation where = SourceLocation::current());

struct GroupNormOptions {
  std::int64_t groups = 0;  // required: number of groups of channels
  double epsilon = 1e-5;
  bool affine = true;  // with parameters weight and bias [channels]
  std::string name = {};
};
// (x - mean) / sqrt(variance + epsilon) for every example and group of adjacent channels, axis 1 of
// x, in training and inference: Wu and He 2018.
TRIREME_API Value group_norm(const Value& x, GroupNormOptions options,
                             SourceLocation where = SourceLocation::current());

struct InstanceNormOptions {
  double epsilon = 1e-5;
  bool affine = false;
  std::string name = {};
};
// group_norm with one group per channel. x needs axes after the channels: Ulyanov et al. 2016.
TRIREME_API Value instance_norm(const Value& x, InstanceNormOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct RmsNormOptions {
  int axes = 1;  // number of last axes that are normalized together
  double epsilon = 1e-6;
  bool affine = true;  // with the parameter weight of the shape of these axes
  std::string name = {};
};
// x / sqrt(mean(x^2) + epsilon): layer_norm without the mean and the bias. Zhang and Sennrich 2019.
// x has a float dtype, and constant sizes of these axes.
// Errors: usage, for other operands and axes that x does not have.
TRIREME_API Value rms_norm(const Value& x, RmsNormOptions options = {},
                           SourceLocation where = SourceLocation::current());

struct LocalResponseNormOptions {
  std::int64_t size = 5;  // channels of a window
  double alpha = 1e-4, beta = 0.75, k = 1;
};
// x / (k + alpha * m)^beta, where m is the mean of x^2 over the window of `size` channels, axis 1:
// those from size / 2 before to (size - 1) / 2 after the channel, with zeros beyond the ends.
// Krizhevsky et al. 2012, whose alpha is alpha / size here. x has a float dtype, rank 2 or more,
// and constant sizes except the batch. k must be above 0.
// Errors: usage, for other operands and invalid options.
TRIREME_API Value local_response_norm(const Value& x, LocalResponseNormOptions options = {},
                                      SourceLocation where = SourceLocation::current());

struct WeightNormOptions {
  int axis = -1;                    // of the units: each has a length of its own
  Initializer init = ones();        // the first lengths
  ParameterSettings settings = {};  // of the lengths
  std::string name = {};
};
// Separates the length of a weight from its direction: length * v / |v|, with the norm over all
// axes except `axis` and the parameter length [units]. Salimans and Kingma 2016. Use the result
// with an op: matmul(x, nn::weight_norm(program.parameter("w", f32, {8, 4}))). A unit of zeros
// stays zero and has gradient 0. v is f32 or f64 with rank 2 or more and constant sizes.
// Errors: usage, for other operands and an axis that v does not have.
TRIREME_API Value weight_norm(const Value& v, WeightNormOptions options = {},
                              SourceLocation where = SourceLocation::current());

struct SpectralNormOptions {
  int axis = -1;                // of the units
  std::int64_t iterations = 1;  // of the power method, in each training step; 1 to 1000
  double epsilon = 1e-12;       // lower limit of norms
  std::string name = {};
};
// A weight divided by its largest singular value, as a matrix of the units and all other axes:
// Miyato et al. 2018. In training, the power method improves the parameter `u` [units], which is
// not trained and starts as normal numbers; in inference it stays. The gradient takes the singular
// vectors as constants. Use the result with an op, as that of weight_norm(). The weight is f32 or
// f64 with rank 2 or more and constant sizes.
// Errors: usage, for other operands, an axis that the weight does not have and invalid options.
TRIREME_API Value spectral_norm(const Value& weight, SpectralNormOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct DropoutOptions {
  double rate = 0.5;  // in [0, 1)
};
// In training, drops every element with probability `rate` and divides the others by 1 - rate. In
// inference, returns x.
TRIREME_API Value dropout(const Value& x, DropoutOptions options = {},
                          SourceLocation where = SourceLocation::current());
// The same with one decision for each channel, axis 1, of each example: neighbors in a picture are
// too alike for dropout of single elements: Tompson et al. 2014. x has rank 2 or more.
TRIREME_API Value channel_dropout(const Value& x, DropoutOptions options = {},
                                  SourceLocation where = SourceLocation::current());
// The same with one decision for each example, axis 0, for the branch of a residual block:
// stochastic depth of Huang et al. 2016. x has rank 1 or more.
TRIREME_API Value drop_path(const Value& x, DropoutOptions options = {},
                            SourceLocation where = SourceLocation::current());
// For networks of selu: dropped elements become the limit of selu, -1.7581, and an affine function
// keeps mean 0 and variance 1: Klambauer et al. 2017. In inference, returns x.
TRIREME_API Value alpha_dropout(const Value& x, DropoutOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct PreluOptions {
  bool per_channel = false;  // one slope per channel (axis 1), or one for all
  double slope = 0.25;       // initial value
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// x, or weight * x where x < 0. The slopes are the parameter weight [1] or [channels]: He et al.
// 2015.
TRIREME_API Value prelu(const Value& x, PreluOptions options = {},
                        SourceLocation where = SourceLocation::current());

struct MaxoutOptions {
  std::int64_t pieces = 2;
  int axis = 1;  // of the channels or features
};
// The maximum of every `pieces` adjacent elements along the axis; the axis becomes `pieces` times
// shorter: Goodfellow et al. 2013.
TRIREME_API Value maxout(const Value& x, MaxoutOptions options = {},
                         SourceLocation where = SourceLocation::current());

struct CosineOptions {
  int axis = -1;
  double epsilon = 1e-8;  // lower limit of the norms
};
// sum(a * b) / (|a| |b|) along the axis. a and b have the same type.
TRIREME_API Value cosine_similarity(const Value& a, const Value& b, CosineOptions options = {},
                                    SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
