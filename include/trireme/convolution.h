#pragma once

// More layers that work on windows, in addition to conv2d and the pooling of trireme/nn.h:
// convolutions in one and three dimensions, transposed convolutions, convolutions of sequences, and
// windows as sequences. 1-d inputs are [batch, channels, length], 3-d inputs [batch, channels,
// depth, height, width]; only the batch may be a symbol.

#include <cstdint>
#include <optional>
#include <string>

#include "trireme/deprecated.h"
#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::nn {

// Padding before and after a line; one number sets both. "same" and "valid" as in Padding.
struct TRIREME_API Padding1d {
  std::int64_t before = 0, after = 0;
  bool same = false;
  Padding1d() = default;
  Padding1d(int both) : before(both), after(both) {}           // NOLINT
  Padding1d(std::int64_t both) : before(both), after(both) {}  // NOLINT
  Padding1d(std::int64_t b, std::int64_t a) : before(b), after(a) {}
  Padding1d(const char* word);         // NOLINT
  Padding1d(const std::string& word);  // NOLINT
};

struct Conv1dOptions {
  std::int64_t channels = 0;  // required: channels of the result
  std::int64_t kernel = 3, stride = 1;
  Padding1d padding = {};
  std::int64_t dilation = 1, groups = 1;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in LinearOptions
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  WeightForm weight_form = WeightForm::full;
  std::string name = {};
};
// weight [channels, in / groups, kernel], bias [channels].
TRIREME_API Value conv1d(const Value& x, Conv1dOptions options,
                         SourceLocation where = SourceLocation::current());

// A transposed convolution is the gradient of a convolution with respect to its input: every
// element of x is spread over a window of the result. The result's size is (size - 1) * stride -
// padding + dilation * (kernel - 1) + 1 + output_padding, or size * stride with padding "same".
// `output_padding`, less than the stride, is added at the end of each axis.
struct ConvTranspose2dOptions {
  std::int64_t channels = 0;  // required: channels of the result
  Pair kernel = 3;
  Pair stride = 1;
  Padding padding = {};  // cut off from the result
  Pair output_padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = {};
  // As in LinearOptions. fan_in is the number of inputs that one result sums up: in / groups *
  // kernel / stride, with the areas of kernel and stride.
  std::optional<Initializer> weight_init = {};
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// weight [in, channels / groups, kernel height, kernel width], bias [channels].
TRIREME_API Value conv_transpose2d(const Value& x, ConvTranspose2dOptions options,
                                   SourceLocation where = SourceLocation::current());

struct ConvTranspose1dOptions {
  std::int64_t channels = 0;  // required: channels of the result
  std::int64_t kernel = 3, stride = 1;
  Padding1d padding = {};  // cut off from the result
  std::int64_t output_padding = 0, dilation = 1, groups = 1;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// weight [in, channels / groups, kernel], bias [channels].
TRIREME_API Value conv_transpose1d(const Value& x, ConvTranspose1dOptions options,
                                   SourceLocation where = SourceLocation::current());

// Depth, height and width; one number sets all.
struct Triple {
  std::int64_t depth = 1, height = 1, width = 1;
  Triple(int all) : Triple(all, all, all) {}           // NOLINT
  Triple(std::int64_t all) : Triple(all, all, all) {}  // NOLINT
  Triple(std::int64_t d, std::int64_t h, std::int64_t w) : depth(d), height(h), width(w) {}
};

// Padding on both sides of each axis; "same" and "valid" as in Padding.
struct TRIREME_API Padding3d {
  Triple sides = 0;
  bool same = false;
  Padding3d() = default;
  Padding3d(int all) : sides(all) {}           // NOLINT
  Padding3d(std::int64_t all) : sides(all) {}  // NOLINT
  Padding3d(std::int64_t d, std::int64_t h, std::int64_t w) : sides(d, h, w) {}
  Padding3d(const char* word);         // NOLINT
  Padding3d(const std::string& word);  // NOLINT
};

struct Conv3dOptions {
  std::int64_t channels = 0;  // required: channels of the result
  Triple kernel = 3;
  Triple stride = 1;
  Padding3d padding = {};
  Triple dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in LinearOptions
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// weight [channels, in / groups, kernel depth, height, width], bias [channels].
TRIREME_API Value conv3d(const Value& x, Conv3dOptions options,
                         SourceLocation where = SourceLocation::current());

struct ConvTranspose3dOptions {
  std::int64_t channels = 0;  // required: channels of the result
  Triple kernel = 3;
  Triple stride = 1;
  Padding3d padding = {};  // cut off from the result
  Triple output_padding = 0;
  Triple dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in ConvTranspose2dOptions
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// weight [in, channels / groups, kernel depth, height, width], bias [channels].
TRIREME_API Value conv_transpose3d(const Value& x, ConvTranspose3dOptions options,
                                   SourceLocation where = SourceLocation::current());

struct Pool3dOptions {
  Triple kernel = 2;
  std::optional<Triple> stride = {};  // default: the kernel's size
  Padding3d padding = {};
  bool ceil_mode = false;         // as in PoolOptions, along each axis
  bool count_include_pad = true;  // avg_pool3d only: padding counts as elements
  DeprecatedOption<bool, "count_padding", "count_include_pad"> count_padding = {};
};
TRIREME_API Value max_pool3d(const Value& x, Pool3dOptions options,
                             SourceLocation where = SourceLocation::current());
TRIREME_API Value avg_pool3d(const Value& x, Pool3dOptions options,
                             SourceLocation where = SourceLocation::current());

// [batch, channels, depth, height, width] to [batch, channels].
TRIREME_API Value global_avg_pool3d(const Value& x,
                                    SourceLocation where = SourceLocation::current());
TRIREME_API Value global_max_pool3d(const Value& x,
                                    SourceLocation where = SourceLocation::current());
// Pools to volumes of `size`, as adaptive_avg_pool along each axis. All sizes are at least 1.
TRIREME_API Value adaptive_avg_pool3d(const Value& x, Triple size,
                                      SourceLocation where = SourceLocation::current());
TRIREME_API Value adaptive_max_pool3d(const Value& x, Triple size,
                                      SourceLocation where = SourceLocation::current());

// --- Pooling of lines ---------------------------------------------------------------------------
// x is [batch, channels, length].

struct Pool1dOptions {
  std::int64_t kernel = 2;
  std::optional<std::int64_t> stride = {};  // default: the kernel's size
  Padding1d padding = {};
  bool ceil_mode = false;         // as in PoolOptions
  bool count_include_pad = true;  // avg_pool1d only: padding counts as elements
};
// The maximum and the mean of each window: [batch, channels, windows]. They are max_pool and
// avg_pool of images of height 1.
// Errors: usage, for other shapes and invalid windows.
TRIREME_API Value max_pool1d(const Value& x, Pool1dOptions options,
                             SourceLocation where = SourceLocation::current());
TRIREME_API Value avg_pool1d(const Value& x, Pool1dOptions options,
                             SourceLocation where = SourceLocation::current());
// [batch, channels, length] to [batch, channels].
TRIREME_API Value global_avg_pool1d(const Value& x,
                                    SourceLocation where = SourceLocation::current());
TRIREME_API Value global_max_pool1d(const Value& x,
                                    SourceLocation where = SourceLocation::current());
// Pools to lines of `size` elements, at least 1, as adaptive_avg_pool along its width.
TRIREME_API Value adaptive_avg_pool1d(const Value& x, std::int64_t size,
                                      SourceLocation where = SourceLocation::current());
TRIREME_API Value adaptive_max_pool1d(const Value& x, std::int64_t size,
                                      SourceLocation where = SourceLocation::current());

// --- Unpooling ----------------------------------------------------------------------------------

// What max pooling returns with the positions of the maxima.
struct PooledMaxima {
  Value values;
  // i64, of the shape of the values: the position of each maximum in its channel, row-major, such
  // as row * width + column. Of equal elements the first; NaN counts as larger than all numbers.
  Value indices;
};
// Max pooling of images, lines and volumes, with positions for max_unpool(). Only the values have a
// gradient. A window that lies in the padding alone has no position: do not use its index.
// Errors: usage, as for max_pool.
TRIREME_API PooledMaxima max_pool_with_indices(const Value& x, PoolOptions options,
                                               SourceLocation where = SourceLocation::current());
TRIREME_API PooledMaxima max_pool1d_with_indices(const Value& x, Pool1dOptions options,
                                                 SourceLocation where = SourceLocation::current());
TRIREME_API PooledMaxima max_pool3d_with_indices(const Value& x, Pool3dOptions options,
                                                 SourceLocation where = SourceLocation::current());
// Images, lines and volumes of this size, [batch, channels, ...], that are zero except at the
// positions `indices`, which have the elements of x: Zeiler and Fergus 2014. Where several elements
// of x have one position, their mean. x is f32 or f64, and `indices`, i64 or i32, has its shape.
// Errors: usage, for other shapes and dtypes; data, at run time, for an index out of range.
TRIREME_API Value max_unpool(const Value& x, const Value& indices, Pair size,
                             SourceLocation where = SourceLocation::current());
TRIREME_API Value max_unpool1d(const Value& x, const Value& indices, std::int64_t size,
                               SourceLocation where = SourceLocation::current());
TRIREME_API Value max_unpool3d(const Value& x, const Value& indices, Triple size,
                               SourceLocation where = SourceLocation::current());

// --- Norms of windows ---------------------------------------------------------------------------

struct LpPoolOptions {
  double power = 2;  // p, at least 1 and finite
  Pair kernel = 2;
  std::optional<Pair> stride = {};  // default: the kernel's size
};
// The norm sum(|x|^p)^(1/p) of each window of an image, without padding. Its gradient is 0 where
// the norm is 0. Powers may overflow: f32 numbers above 1e19 for p = 2. x is f32 or f64.
// Errors: usage, for other operands and invalid options.
TRIREME_API Value lp_pool(const Value& x, LpPoolOptions options = {},
                          SourceLocation where = SourceLocation::current());
struct LpPool1dOptions {
  double power = 2;
  std::int64_t kernel = 2;
  std::optional<std::int64_t> stride = {};  // default: the kernel's size
};
// The same of lines [batch, channels, length].
TRIREME_API Value lp_pool1d(const Value& x, LpPool1dOptions options = {},
                            SourceLocation where = SourceLocation::current());

// --- Windows as sequences -----------------------------------------------------------------------

struct Im2SequenceOptions {
  Pair kernel = 1;
  std::optional<Pair> stride = {};  // default: the kernel's size
  Padding padding = {};             // filled with zeros
  Pair dilation = 1;
};
// The windows of an image, in row-major order, as steps of a sequence: [batch, steps, features].
// The features of a window are its elements [channels, kernel height, kernel width] in that order.
TRIREME_API Value im2sequence(const Value& x, Im2SequenceOptions options,
                              SourceLocation where = SourceLocation::current());

struct FoldOptions {
  Pair size = 0;  // required: height and width of the image
  Pair kernel = 1;
  std::optional<Pair> stride = {};  // default: the kernel's size
  Padding padding = {};             // cut off from the result
  Pair dilation = 1;
};
// Adds up windows [batch, steps, features], as im2sequence returns them for these options, to an
// image [batch, channels, height, width]. Where windows overlap, their elements are added, so that
// it is the gradient of im2sequence. The numbers of steps and features are constant.
// Errors: usage, for numbers of steps and features that such an image does not have.
TRIREME_API Value fold(const Value& x, FoldOptions options,
                       SourceLocation where = SourceLocation::current());

// --- Sequences of different lengths -------------------------------------------------------------
// x is [rows, width]; its rows are sequences (trireme/sequence.h).

struct SequenceConvOptions {
  std::int64_t units = 0;  // required: width of the result
  std::int64_t kernel = 3;
  // Offset of the first row of the window, relative to the current row. Default: centered; an even
  // kernel has one more row after than before.
  std::optional<std::int64_t> first = {};
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in LinearOptions
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// Multiplies the `kernel` rows around each row of the same sequence, with zeros outside the
// sequence, by weight [kernel * width, units], and adds bias [units]: [rows, units]. This is the
// layer of Kim 2014, "Convolutional Neural Networks for Sentence Classification", which then pools.
TRIREME_API Value sequence_conv(const Value& x, SequenceConvOptions options,
                                SourceLocation where = SourceLocation::current());

struct RowConvOptions {
  std::int64_t future = 1;                      // number of following rows in the window
  std::optional<Initializer> weight_init = {};  // xavier_uniform()
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// Row t of the result is the sum over j of weight[j] * x[t + j], column by column, within the
// sequence; weight is [future + 1, width]. The row convolution of Wang et al. 2016, "Lookahead
// Convolution Layer for Unidirectional Recurrent Neural Networks".
TRIREME_API Value row_conv(const Value& x, RowConvOptions options = {},
                           SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
