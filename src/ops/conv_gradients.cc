#include "ops/conv.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

// Returns the sizes after the channels, which the gradients call `size` and `kernel`.
Ints window_sizes(const Value& x) {
  Ints sizes;
  for (int i = 2; i < x.rank(); ++i) sizes.push_back(x.dim(i).constant());
  return sizes;
}

}  // namespace

ConvolutionFamily::ConvolutionFamily(const Attributes& attributes, std::size_t axes)
    : name_(axes == 3 ? "conv3d" : "conv2d") {
  for (const NamedAttribute& attribute : attributes) {
    for (const char* shared : {"stride", "padding", "dilation", "groups"}) {
      if (attribute.name == shared) attributes_.push_back(attribute);
    }
  }
}

Value ConvolutionFamily::make(const char* suffix, const Value& a, const Value& b,
                              Attributes attributes) const {
  attributes.insert(attributes.end(), attributes_.begin(), attributes_.end());
  return emit(name_ + suffix, {a, b}, std::move(attributes), SourceLocation::current()).front();
}

Value ConvolutionFamily::y(const Value& x, const Value& weight) const {
  return make("", x, weight, {});
}
Value ConvolutionFamily::dx(const Value& dy, const Value& weight, Ints size) const {
  return make("_input_gradient", dy, weight, {{"size", std::move(size)}});
}
Value ConvolutionFamily::dweight(const Value& x, const Value& dy, Ints kernel) const {
  return make("_weight_gradient", x, dy, {{"kernel", std::move(kernel)}});
}

GradientRule convolution_gradient(std::size_t axes) {
  return [axes](GradientContext& c) {
    const ConvolutionFamily family(c.op().attributes, axes);
    const Value x = c.operand(0), weight = c.operand(1), dy = c.gradient();
    if (c.needs_gradient(0)) c.accumulate(0, family.dx(dy, weight, window_sizes(x)));
    if (c.needs_gradient(1)) c.accumulate(1, family.dweight(x, dy, window_sizes(weight)));
  };
}

GradientRule input_gradient_gradient(std::size_t axes) {
  return [axes](GradientContext& c) {
    const ConvolutionFamily family(c.op().attributes, axes);
    const Value dy = c.operand(0), weight = c.operand(1), g = c.gradient();
    if (c.needs_gradient(0)) c.accumulate(0, family.y(g, weight));
    if (c.needs_gradient(1)) c.accumulate(1, family.dweight(g, dy, window_sizes(weight)));
  };
}

GradientRule weight_gradient_gradient(std::size_t axes) {
  return [axes](GradientContext& c) {
    const ConvolutionFamily family(c.op().attributes, axes);
    const Value x = c.operand(0), dy = c.operand(1), g = c.gradient();
    if (c.needs_gradient(0)) c.accumulate(0, family.dx(dy, g, window_sizes(x)));
    if (c.needs_gradient(1)) c.accumulate(1, family.y(x, g));
  };
}

}  // namespace trireme::ops
