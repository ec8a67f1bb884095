#include "trireme/convolution.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "nn/windows.h"
#include "trireme/compression.h"

namespace trireme::nn {
namespace {

bool is_word_same(const std::string& word) {
  if (word != "same" && word != "valid") {
    fail_usage("padding must be \"same\", \"valid\" or numbers, not \"" + word + "\"");
  }
  return word == "same";
}

// The common options of all convolutions; the geometry is that of an image.
struct Geometry {
  Pair kernel, stride, dilation;
  Padding padding;
  bool line;  // the window of the weight has one axis
};

Geometry line_geometry(std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       const Padding1d& padding) {
  Geometry g{{1, kernel}, {1, stride}, {1, dilation}, {0, 0, padding.before, padding.after}, true};
  g.padding.same = padding.same;
  return g;
}

template <class Options>
void check(Layer& layer, const Options& options, const Geometry& g, std::int64_t divided,
           const char* what) {
  layer.require(options.channels > 0, "channels must be at least 1", "{.channels = 32}");
  layer.require(g.kernel.height > 0 && g.kernel.width > 0, "the kernel is empty");
  layer.require(options.groups > 0 && divided % options.groups == 0,
                std::to_string(divided) + " " + what + " cannot be divided into " +
                    std::to_string(options.groups) + " groups");
}

// Returns the weight [rows, columns, window] in the form of the ops.
template <class Options>
Value weight_of(Layer& layer, const Value& x, const Options& options, const Geometry& g,
                std::int64_t rows, std::int64_t columns, const Initializer& initializer) {
  const Shape image{rows, columns, g.kernel.height, g.kernel.width};
  const Shape shape = g.line ? Shape{rows, columns, g.kernel.width} : image;
  const Value weight =
      layer.parameter("weight", x.dtype(), shape, initializer, true, options.weight_settings);
  return g.line ? reshape(weight, {.shape = image}) : weight;
}

template <class Options>
Value convolve(Layer& layer, const Value& x, const Options& options, const Geometry& g,
               SourceLocation where) {
  const std::int64_t in = x.dim(1).constant();
  check(layer, options, g, in, "channels");
  const Value weight = weight_of(layer, x, options, g, options.channels, in / options.groups,
                                 weight_init(options.weight_init, options.activation));
  const Value y = trireme::conv2d(
      x, weight_in_form(weight, options.weight_form, 0, where),
      {.stride = list(g.stride),
       .padding = padding_of(size_of_image(x), g.padding, g.kernel, g.stride, g.dilation),
       .dilation = list(g.dilation),
       .groups = options.groups});
  return add_bias_and_activation(layer, g.line ? as_line(y) : y, options, where);
}

template <class Options>
Value convolve_transposed(Layer& layer, const Value& x, const Options& options, const Geometry& g,
                          const Pair& extra, SourceLocation where) {
  const std::int64_t in = x.dim(1).constant();
  check(layer, options, g, in, "channels");
  check(layer, options, g, options.channels, "channels of the result");
  const Pair size = size_of_image(x);
  Pair result = 0;
  if (g.padding.same) {
    result = {(Dim(size.height) * Dim(g.stride.height)).constant(),
              (Dim(size.width) * Dim(g.stride.width)).constant()};
  } else {
    result = {transposed_size(layer, size.height, g.kernel.height, g.stride.height,
                              g.dilation.height, g.padding.top + g.padding.bottom, extra.height),
              transposed_size(layer, size.width, g.kernel.width, g.stride.width, g.dilation.width,
                              g.padding.left + g.padding.right, extra.width)};
  }
  const auto groups = static_cast<double>(options.groups);
  const Initializer initializer = transposed_init(
      options.weight_init, options.activation,
      static_cast<double>(g.kernel.height * g.kernel.width),
      static_cast<double>(g.stride.height * g.stride.width), static_cast<double>(in) / groups,
      static_cast<double>(options.channels) / groups);
  const Value weight =
      weight_of(layer, x, options, g, in, options.channels / options.groups, initializer);
  const Value y = conv2d_input_gradient(
      x, weight,
      {.size = list(result),
       .stride = list(g.stride),
       .padding = padding_of(result, g.padding, g.kernel, g.stride, g.dilation),
       .dilation = list(g.dilation),
       .groups = options.groups});
  return add_bias_and_activation(layer, g.line ? as_line(y) : y, options, where);
}

}  // namespace

const char* const kImageHint =
    "reshape it to [batch, channels, height, width]; only the batch may be a symbol";

std::int64_t transposed_size(Layer& layer, std::int64_t size, std::int64_t kernel,
                             std::int64_t stride, std::int64_t dilation, std::int64_t padding,
                             std::int64_t extra) {
  layer.require(stride > 0 && dilation > 0, "stride and dilation must be at least 1");
  layer.require(
      extra >= 0 && extra < stride, "output_padding must be less than the stride",
      "output_padding selects one of the lengths that the convolution maps to the input's length");
  // Computes with Dims, which reject numbers that are too large.
  const Dim spread_out = Dim(size - 1) * Dim(stride) + Dim(dilation) * Dim(kernel - 1);
  const std::int64_t result = (spread_out - Dim(padding) + Dim(1 + extra)).constant();
  layer.require(result > 0, "the result is empty", "use less padding");
  return result;
}

// With a stride s, one result sums up a share 1 / s^2 of the window of every input channel.
Initializer transposed_init(const std::optional<Initializer>& given, const Activation& activation,
                            double window, double steps, double in, double out) {
  if (given) return *given;
  const double fan_in = std::max(1.0, in * window / steps);
  const double gain = gain_of(activation);
  const double variance = activation ? gain * gain / fan_in : 2 / (fan_in + out * window);
  return uniform(-std::sqrt(3 * variance), std::sqrt(3 * variance));
}

std::vector<std::int64_t> list(const Pair& pair) { return {pair.height, pair.width}; }

std::int64_t same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation) {
  const std::int64_t windows = (size + stride - 1) / stride;
  const std::int64_t span = dilation * (kernel - 1) + 1;
  return std::max<std::int64_t>(0, (windows - 1) * stride + span - size);
}

std::vector<std::int64_t> padding_of(const Pair& size, const Padding& padding, const Pair& kernel,
                                     const Pair& stride, const Pair& dilation) {
  if (!padding.same) return {padding.top, padding.bottom, padding.left, padding.right};
  if (stride.height < 1 || stride.width < 1)
    return {0, 0, 0, 0};  // the op reports the wrong stride
  const std::int64_t v = same_padding(size.height, kernel.height, stride.height, dilation.height);
  const std::int64_t h = same_padding(size.width, kernel.width, stride.width, dilation.width);
  return {v / 2, v - v / 2, h / 2, h - h / 2};
}

bool is_image(const Value& x) {
  return x.rank() == 4 && x.dim(1).is_constant() && x.dim(2).is_constant() &&
         x.dim(3).is_constant();
}

const char* const kLineHint =
    "reshape it to [batch, channels, length]; only the batch may be a symbol";

bool is_line(const Value& x) {
  return x.rank() == 3 && x.dim(1).is_constant() && x.dim(2).is_constant();
}

void require_line(const Value& x, const char* what) {
  if (!is_line(x)) fail_layer(what, "the input is not a batch of lines", kLineHint, x);
}

Value as_image(const Value& line) {
  return reshape(line, {.shape = {line.dim(0), line.dim(1), 1, line.dim(2)}});
}
Value as_line(const Value& image) {
  return reshape(image, {.shape = {image.dim(0), image.dim(1), image.dim(3)}});
}

void require_image(const Value& x, const char* what) {
  if (!is_image(x)) fail_layer(what, "the input is not a batch of images", kImageHint, x);
}

Pair size_of_image(const Value& x) { return {x.dim(2).constant(), x.dim(3).constant()}; }

Padding::Padding(const char* word) : Padding(std::string(word)) {}
Padding::Padding(const std::string& word) : same(is_word_same(word)) {}
Padding1d::Padding1d(const char* word) : Padding1d(std::string(word)) {}
Padding1d::Padding1d(const std::string& word) : same(is_word_same(word)) {}

Value conv2d(const Value& x, Conv2dOptions options, SourceLocation where) {
  Layer layer(x, "conv2d", options.name, where);
  layer.require(is_image(x), "the input is not a batch of images", kImageHint);
  const Geometry g{options.kernel, options.stride, options.dilation, options.padding, false};
  return convolve(layer, x, options, g, where);
}

Value conv1d(const Value& x, Conv1dOptions options, SourceLocation where) {
  Layer layer(x, "conv1d", options.name, where);
  layer.require(is_line(x), "the input is not a batch of lines", kLineHint);
  const Geometry g =
      line_geometry(options.kernel, options.stride, options.dilation, options.padding);
  return convolve(layer, as_image(x), options, g, where);
}

Value conv_transpose2d(const Value& x, ConvTranspose2dOptions options, SourceLocation where) {
  Layer layer(x, "conv_transpose2d", options.name, where);
  layer.require(is_image(x), "the input is not a batch of images", kImageHint);
  const Geometry g{options.kernel, options.stride, options.dilation, options.padding, false};
  return convolve_transposed(layer, x, options, g, options.output_padding, where);
}

Value conv_transpose1d(const Value& x, ConvTranspose1dOptions options, SourceLocation where) {
  Layer layer(x, "conv_transpose1d", options.name, where);
  layer.require(is_line(x), "the input is not a batch of lines", kLineHint);
  const Geometry g =
      line_geometry(options.kernel, options.stride, options.dilation, options.padding);
  return convolve_transposed(layer, as_image(x), options, g, {0, options.output_padding}, where);
}

}  // namespace trireme::nn
