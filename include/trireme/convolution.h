#pragma once

// Further layers of windows, beside conv2d and the pooling of trireme/nn.h: convolutions in one and
// three dimensions, transposed ones, of sequences, and windows as sequences. Lines are [batch, channels, length]
// and volumes [batch, channels, depth, height, width]; only the batch may be a symbol.

#include <cstdint>
#include <optional>
#include <string>

#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::nn {

// Elements before and behind a line: one number for both; "same" and "valid" as in Padding.
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
  std::int64_t channels = 0;  // required: of the result
  std::int64_t kernel = 3, stride = 1;
  Padding1d padding = {};
  std::int64_t dilation = 1, groups = 1;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in LinearOptions
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// weight [channels, in / groups, kernel], bias [channels].
TRIREME_API Value conv1d(const Value& x, Conv1dOptions options,
                         SourceLocation where = SourceLocation::current());

// A transposed convolution is the gradient of a convolution by its images: every element of x is
// spread over a window of the result, which is (size - 1) * stride - padding + dilation *
// (kernel - 1) + 1 + output_padding long, or size * stride with padding "same". `output_padding`,
// less than the stride, adds to the end of each axis.
struct ConvTranspose2dOptions {
  std::int64_t channels = 0;  // required: of the result
  Pair kernel = 3;
  Pair stride = 1;
  Padding padding = {};  // cut off from the result
  Pair output_padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in LinearOptions, its fan_in of the result
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// weight [in, channels / groups, kernel height, kernel width], bias [channels].
TRIREME_API Value conv_transpose2d(const Value& x, ConvTranspose2dOptions options,
                                   SourceLocation where = SourceLocation::current());

struct ConvTranspose1dOptions {
  std::int64_t channels = 0;  // required: of the result
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

// Depth, height and width: one number stands for all.
struct Triple {
  std::int64_t depth = 1, height = 1, width = 1;
  Triple(int all) : Triple(all, all, all) {}           // NOLINT
  Triple(std::int64_t all) : Triple(all, all, all) {}  // NOLINT
  Triple(std::int64_t d, std::int64_t h, std::int64_t w) : depth(d), height(h), width(w) {}
};

// Elements on both sides of each axis; "same" and "valid" as in Padding.
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
  std::int64_t channels = 0;  // required: of the result
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

struct Pool3dOptions {
  Triple kernel = 2;
  std::optional<Triple> stride = {};  // the kernel's size if not set
  Padding3d padding = {};
  bool count_padding = true;  // avg_pool3d only: padding counts as elements
};
TRIREME_API Value max_pool3d(const Value& x, Pool3dOptions options,
                             SourceLocation where = SourceLocation::current());
TRIREME_API Value avg_pool3d(const Value& x, Pool3dOptions options,
                             SourceLocation where = SourceLocation::current());

struct Im2SequenceOptions {
  Pair kernel = 1;
  std::optional<Pair> stride = {};  // the kernel's size if not set
  Padding padding = {};             // with zeros
  Pair dilation = 1;
};
// The windows of an image, row by row, as the steps of a sequence: [batch, steps, features], where
// the features of a window are its [channels, kernel height, kernel width] elements in that order.
TRIREME_API Value im2sequence(const Value& x, Im2SequenceOptions options,
                              SourceLocation where = SourceLocation::current());

// --- Sequences of different lengths: x is [rows, width], its rows being sequences (trireme/sequence.h) ------

struct SequenceConvOptions {
  std::int64_t units = 0;  // required: of the result
  std::int64_t kernel = 3;
  // The first row that a row sees, counted from itself; by default as many before as behind, of an even
  // kernel one more behind.
  std::optional<std::int64_t> first = {};
  bool bias = true;
  Activation activation = {};
  std::optional<Initializer> weight_init = {};  // as in LinearOptions
  Initializer bias_init = {};
  ParameterSettings weight_settings = {}, bias_settings = {};
  std::string name = {};
};
// Of each row the `kernel` rows around it in its own sequence, zeros beyond, times weight [kernel * width,
// units], plus bias [units]: [rows, units]. The layer of Kim 2014, "Convolutional Neural Networks for
// Sentence Classification", where a pooling follows.
TRIREME_API Value sequence_conv(const Value& x, SequenceConvOptions options,
                                SourceLocation where = SourceLocation::current());

struct RowConvOptions {
  std::int64_t future = 1;                      // rows that are looked ahead
  std::optional<Initializer> weight_init = {};  // xavier_uniform()
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// Row t becomes the sum over j of weight[j] * x[t + j], column by column, of its own sequence; weight is
// [future + 1, width]. The row convolution of Wang et al. 2016, "Lookahead Convolution Layer for
// Unidirectional Recurrent Neural Networks".
TRIREME_API Value row_conv(const Value& x, RowConvOptions options = {},
                           SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
