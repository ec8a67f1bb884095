#include "ops/conv.h"

#include <algorithm>

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

// TypeError unless the types can be operands of one convolution.
void require_convolution(const Convolution& convolution, const Type& x, const Type& weight,
                         const std::string& x_text, const std::string& weight_text) {
  const std::size_t axes = convolution.window.axes();
  const bool bytes = axes == 2 && (x.dtype == DType::u8 || x.dtype == DType::i8);
  if (bytes) require_image_shape(x, x_text, axes);
  else require_image(x, x_text, axes);
  require(weight.rank() == static_cast<int>(2 + axes) && is_constant(weight.shape) &&
              product_dtype(x.dtype, weight.dtype),
          weight_text + " is not a weight " +
              (axes == 3 ? "[K, C/groups, Q, R, S]" : "[K, C/groups, R, S]") +
              (bytes ? " of i8" : " of the dtype of " + x_text));
  const std::int64_t channels = weight.shape[1].constant() * convolution.groups;
  require(x.shape[1] == Dim(channels),
          "the channels differ: " + x_text + ", while " + weight_text + " with groups = " +
              std::to_string(convolution.groups) + " needs " + std::to_string(channels),
          "the weight is [out channels, in channels / groups, height, width]");
  require(weight.shape[0].constant() % convolution.groups == 0,
          "the out channels of " + weight_text + " cannot be divided into " +
              std::to_string(convolution.groups) + " groups");
  require(std::all_of(weight.shape.begin() + 2, weight.shape.end(),
                      [](const Dim& size) { return size.constant() > 0; }),
          weight_text + " has an empty window");
}

Type result_type(const Convolution& convolution, const Type& x, const Type& weight,
                 const std::string& x_text) {
  return {product_dtype(x.dtype, weight.dtype).value_or(x.dtype),
          windows_shape(x.shape, weight.shape[0], convolution.window, x_text)};
}

// TypeError unless `y` is the type of the result for x and weight.
void require_result(const Convolution& convolution, const Type& x, const Type& weight,
                    const Type& y, const std::string& y_text) {
  const Type expected = result_type(convolution, x, weight, x.str());
  require(y.shape == expected.shape && y.dtype == expected.dtype,
          y_text + " is not the type of the convolution's result, " + expected.str());
}

std::vector<Type> conv_type(const TypeContext& c, std::size_t axes) {
  const Type& x = c.operands[0];
  const Type& weight = c.operands[1];
  const Convolution convolution = convolution_of(c.attributes, weight.shape, axes);
  require_convolution(convolution, x, weight, c.operand_texts[0], c.operand_texts[1]);
  return {result_type(convolution, x, weight, c.operand_texts[0])};
}

std::vector<Type> type_of_input_gradient(const TypeContext& c, std::size_t axes) {
  const Type& dy = c.operands[0];
  const Type& weight = c.operands[1];
  const Ints& size = get_attribute<Ints>(c.attributes, "size");
  const Convolution convolution = convolution_of(c.attributes, weight.shape, axes);
  require_image(dy, c.operand_texts[0], axes);
  require(size.size() == axes, axes == 3
                                   ? "`size` must be the depth, height and width of the volume"
                                   : "`size` must be the height and width of the image");
  require(weight.rank() == static_cast<int>(2 + axes) && is_constant(weight.shape),
          c.operand_texts[1] + " is not a weight [K, C/groups, ...] with a window of " +
              std::to_string(axes) + " axes");
  Type dx{dy.dtype, {dy.shape[0], weight.shape[1] * Dim(convolution.groups)}};
  dx.shape.insert(dx.shape.end(), size.begin(), size.end());
  require_convolution(convolution, dx, weight, dx.str(), c.operand_texts[1]);
  require_result(convolution, dx, weight, dy, c.operand_texts[0]);
  return {dx};
}

std::vector<Type> type_of_weight_gradient(const TypeContext& c, std::size_t axes) {
  const Type& x = c.operands[0];
  const Type& dy = c.operands[1];
  const Convolution convolution = convolution_of(c.attributes, {}, axes);
  require_image(x, c.operand_texts[0], axes);
  require_image(dy, c.operand_texts[1], axes);
  require(x.shape[1].is_constant() && dy.shape[1].is_constant() &&
              x.shape[1].constant() % convolution.groups == 0,
          "the channels of " + c.operand_texts[0] + " cannot be divided into " +
              std::to_string(convolution.groups) + " groups");
  const auto& kernel = convolution.window.kernel;
  Type dw{x.dtype, {dy.shape[1], x.shape[1].constant() / convolution.groups}, ""};
  dw.shape.insert(dw.shape.end(), kernel.begin(), kernel.end());
  require_convolution(convolution, x, dw, c.operand_texts[0], dw.str());
  require_result(convolution, x, dw, dy, c.operand_texts[1]);
  return {dw};
}

}  // namespace

Convolution convolution_of(const Attributes& attributes, const Shape& weight, std::size_t axes) {
  Convolution convolution{window_of(attributes, axes),
                          get_attribute<std::int64_t>(attributes, "groups")};
  require(convolution.groups > 0, "groups must be at least 1");
  for (std::size_t i = 0; i < axes && weight.size() == 2 + axes; ++i) {
    if (weight[2 + i].is_constant()) convolution.window.kernel[i] = weight[2 + i].constant();
  }
  return convolution;
}

TypeRule convolution_type(std::size_t axes) {
  return [axes](const TypeContext& c) { return conv_type(c, axes); };
}
TypeRule input_gradient_type(std::size_t axes) {
  return [axes](const TypeContext& c) { return type_of_input_gradient(c, axes); };
}
TypeRule weight_gradient_type(std::size_t axes) {
  return [axes](const TypeContext& c) { return type_of_weight_gradient(c, axes); };
}

ReferenceRule convolution_reference(std::size_t axes) {
  return [axes](const Reference& r) {
    const Shape& weight = r.op.operands[1]->type.shape;
    RefTensor& y = *r.results[0];
    for_each_product(convolution_of(r.op.attributes, weight, axes), r.operands[0]->shape,
                     r.operands[1]->shape, y.shape,
                     [&](const Index& x, const Index& w, const Index& out) {
                       at(y, out) += at(*r.operands[0], x) * at(*r.operands[1], w);
                     });
  };
}

ReferenceRule input_gradient_reference(std::size_t axes) {
  return [axes](const Reference& r) {
    const Shape& weight = r.op.operands[1]->type.shape;
    RefTensor& dx = *r.results[0];
    for_each_product(convolution_of(r.op.attributes, weight, axes), dx.shape, r.operands[1]->shape,
                     r.operands[0]->shape, [&](const Index& x, const Index& w, const Index& y) {
                       at(dx, x) += at(*r.operands[0], y) * at(*r.operands[1], w);
                     });
  };
}

ReferenceRule weight_gradient_reference(std::size_t axes) {
  return [axes](const Reference& r) {
    RefTensor& dw = *r.results[0];
    for_each_product(convolution_of(r.op.attributes, {}, axes), r.operands[0]->shape, dw.shape,
                     r.operands[1]->shape, [&](const Index& x, const Index& w, const Index& y) {
                       at(dw, w) += at(*r.operands[0], x) * at(*r.operands[1], y);
                     });
  };
}

void for_each_product(const Convolution& convolution, const Index& x, const Index& weight,
                      const Index& y,
                      const std::function<void(const Index&, const Index&, const Index&)>& f) {
  const Window& window = convolution.window;
  const std::int64_t out_per_group = weight[0] / convolution.groups;
  const Index taps(weight.begin() + 1, weight.end());
  Index from(x.size()),
      filter(weight.size());  // allocated once: finite differences call this very often
  for_each_index(y, [&](const Index& i) {
    const std::int64_t first_channel = i[1] / out_per_group * weight[1];
    for_each_index(taps, [&](const Index& tap) {
      from[0] = i[0], from[1] = first_channel + tap[0];
      filter[0] = i[1], filter[1] = tap[0];
      for (std::size_t axis = 0; axis < window.axes(); ++axis) {
        const std::int64_t place = i[2 + axis] * window.stride[axis] +
                                   tap[1 + axis] * window.dilation[axis] - window.before(axis);
        if (place < 0 || place >= x[2 + axis]) return;
        from[2 + axis] = place;
        filter[2 + axis] = tap[1 + axis];
      }
      f(from, filter, i);
    });
  });
}

namespace {

// Every element of the images y is a sum over the weight of one output channel. `layout` gives the
// position of the channels in y.
Dim count_products(const ir::Op& op, const ir::Value* y, const ir::Value* weight) {
  const bool last = get_attribute<std::string>(op.attributes, "layout") == "nhwc";
  const Shape& image = y->type.shape;
  const std::int64_t channels = (last ? image.back() : image[1]).constant();
  if (channels == 0) return Dim(0);
  return Dim(2 * product(weight->type.shape).constant() / channels) * product(image);
}

}  // namespace

Dim convolution_flops(const ir::Op& op) { return count_products(op, op.result(), op.operands[1]); }
Dim input_gradient_flops(const ir::Op& op) {
  return count_products(op, op.operands[0], op.operands[1]);
}
Dim weight_gradient_flops(const ir::Op& op) {
  return count_products(op, op.operands[1], op.result());
}

}  // namespace trireme::ops
