// Convolutions of images or volumes. Attributes of all three: stride, padding, dilation, groups;
// layout.
// convolution: x, weight, [bias,] y; also has_bias and epilogue, as gemm.
// convolution_input_gradient: dy, weight, dx.
// convolution_weight_gradient: x, dy, dweight.
#include "kernels/convolution.h"

#include "base/attributes.h"
#include "base/checked.h"
#include "kernels/families.h"

namespace trireme::kernels {

namespace {

const char* name_of_kind(ConvolutionKind kind) {
  switch (kind) {
    case ConvolutionKind::forward: return "convolution";
    case ConvolutionKind::input_gradient: return "convolution_input_gradient";
    case ConvolutionKind::weight_gradient: return "convolution_weight_gradient";
  }
  return "?";
}

struct Roles {
  const Sizes *x, *weight, *y;
};

Roles roles_of(ConvolutionKind kind, const Call& call) {
  const auto& t = call.tensors;
  switch (kind) {
    case ConvolutionKind::forward: return {&t[0].shape, &t[1].shape, &t.back().shape};
    case ConvolutionKind::input_gradient: return {&t[2].shape, &t[1].shape, &t[0].shape};
    case ConvolutionKind::weight_gradient: return {&t[0].shape, &t[2].shape, &t[1].shape};
  }
  return {};
}

// Before and behind each axis, from one number, one for each axis, or two for each.
Sizes read_padding(const Call& call, std::size_t axes) {
  const Attribute* padding = find_attribute(call.attributes, "padding");
  const auto* sides = padding != nullptr ? std::get_if<Sizes>(padding) : nullptr;
  if (sides == nullptr || sides->size() != axes || axes == 1) {
    return integers(call, "padding", 2 * axes, 0);
  }
  Sizes both;
  for (const std::int64_t side : *sides) both.insert(both.end(), {side, side});
  return both;
}

void read_epilogue(const char* name, const Call& call, Convolution& conv) {
  conv.bias = flag(call, "has_bias");
  const std::string epilogue = text(call, "epilogue");
  conv.relu = epilogue == "relu";
  if (!conv.relu && !epilogue.empty()) fail_call(name, call, "there is no epilogue " + epilogue);
  if (conv.kind != ConvolutionKind::forward && (conv.bias || conv.relu)) {
    fail_call(name, call, "a gradient has no bias and no epilogue");
  }
}

// Whether the numbers make windows, and y as many of them as there fit.
bool fits(const Axis& axis) {
  if (axis.stride < 1 || axis.dilation < 1) return false;
  const Checked span = Checked(axis.dilation) * (Checked(axis.window) - 1) + 1;
  const Checked room = Checked(axis.x) + axis.before + axis.after - span;
  if (!room.valid()) return false;
  return axis.y == (room.value() < 0 ? 0 : room.value() / axis.stride + 1);
}

void read_axes(const Call& call, const Roles& roles, Convolution& conv) {
  const std::size_t count = roles.x->size() - 2;
  const std::size_t before_axes = conv.channels_last ? 1 : 2;
  const Sizes stride = integers(call, "stride", count, 1);
  const Sizes dilation = integers(call, "dilation", count, 1);
  const Sizes padding = read_padding(call, count);
  for (std::size_t i = 0; i < count; ++i) {
    Axis& axis = conv.axes[conv.first_axis() + i];
    axis.x = (*roles.x)[before_axes + i];
    axis.y = (*roles.y)[before_axes + i];
    axis.window = (*roles.weight)[2 + i];
    axis.stride = stride[i];
    axis.dilation = dilation[i];
    axis.before = padding[2 * i];
    axis.after = padding[2 * i + 1];
  }
}

}  // namespace

Convolution read_convolution(ConvolutionKind kind, const Call& call) {
  const char* name = name_of_kind(kind);
  Convolution conv;
  conv.kind = kind;
  read_epilogue(name, call, conv);
  require_tensors(name, call, conv.bias ? 4 : 3);
  const std::string layout = text(call, "layout");
  conv.channels_last = layout == "nhwc";
  if (!conv.channels_last && !layout.empty() && layout != "nchw") {
    fail_call(name, call, "layout " + layout);
  }
  const Roles roles = roles_of(kind, call);
  const std::size_t rank = roles.x->size();
  if ((rank != 4 && rank != 5) || roles.weight->size() != rank || roles.y->size() != rank) {
    fail_call(name, call, "every tensor needs four dimensions, or five");
  }
  conv.volume = rank == 5;
  conv.n = (*roles.x)[0];
  conv.c = (*roles.x)[conv.channels_last ? rank - 1 : 1];
  conv.k = (*roles.y)[conv.channels_last ? rank - 1 : 1];
  conv.groups = integer(call, "groups", 1);
  read_axes(call, roles, conv);
  if (conv.groups < 1 || conv.c % conv.groups != 0 || conv.k % conv.groups != 0 ||
      (*roles.y)[0] != conv.n || (*roles.weight)[0] != conv.k ||
      (*roles.weight)[1] != conv.group_c() || !fits(conv.axes[0]) || !fits(conv.axes[1]) ||
      !fits(conv.axes[2])) {
    fail_call(name, call, "the shapes, stride, padding, dilation or groups do not fit");
  }
  if (conv.bias && call.tensors[2].shape != Sizes{conv.k}) {
    fail_call(name, call, "bias must have one number per output channel");
  }
  for (const TensorDescription& tensor : call.tensors) {
    if (!is_arithmetic_float(tensor.dtype) || tensor.dtype != call.tensors[0].dtype) {
      fail_call(name, call, "all tensors must be f32, or all f64");
    }
  }
  return conv;
}

namespace {

std::unique_ptr<KernelInstance> prepare(ConvolutionKind kind, const Call& call) {
  const Convolution conv = read_convolution(kind, call);
  const DType dtype = call.tensors[0].dtype;
  if (dtype == DType::f32 && !conv.empty()) return prepare_convolution_onednn(conv);
  return prepare_convolution_loops(conv, dtype);
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_convolution(const Call& call) {
  return prepare(ConvolutionKind::forward, call);
}
std::unique_ptr<KernelInstance> prepare_convolution_input_gradient(const Call& call) {
  return prepare(ConvolutionKind::input_gradient, call);
}
std::unique_ptr<KernelInstance> prepare_convolution_weight_gradient(const Call& call) {
  return prepare(ConvolutionKind::weight_gradient, call);
}

}  // namespace trireme::kernels
