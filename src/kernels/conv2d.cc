#include "kernels/conv2d.h"

#include "kernels/families.h"

namespace trireme::kernels {

namespace {

const char* name_of_kind(ConvKind kind) {
  switch (kind) {
    case ConvKind::forward: return "conv2d_forward";
    case ConvKind::input_gradient: return "conv2d_input_gradient";
    case ConvKind::weight_gradient: return "conv2d_weight_gradient";
  }
  return "?";
}

struct Roles {
  const Sizes *x, *weight, *y;
};

Roles roles_of(ConvKind kind, const Call& call) {
  const auto& t = call.tensors;
  switch (kind) {
    case ConvKind::forward: return {&t[0].shape, &t[1].shape, &t.back().shape};
    case ConvKind::input_gradient: return {&t[2].shape, &t[1].shape, &t[0].shape};
    case ConvKind::weight_gradient: return {&t[0].shape, &t[2].shape, &t[1].shape};
  }
  return {};
}

// Top, bottom, left, right, from 1 number, 2 (vertical, horizontal) or 4.
void read_padding(const Call& call, Conv2d& conv) {
  const auto found = call.numbers.find("padding");
  const bool two = found != call.numbers.end() && found->second.size() == 2;
  const Sizes p = numbers(call, "padding", two ? 2 : 4, 0);
  conv.top = p[0];
  conv.bottom = two ? p[0] : p[1];
  conv.left = two ? p[1] : p[2];
  conv.right = two ? p[1] : p[3];
}

void read_epilogue(const char* name, const Call& call, Conv2d& conv) {
  conv.bias = flag(call, "has_bias");
  const std::string epilogue = text(call, "epilogue");
  conv.relu = epilogue == "relu";
  if (!conv.relu && !epilogue.empty()) fail_call(name, call, "there is no epilogue " + epilogue);
  if (conv.kind != ConvKind::forward && (conv.bias || conv.relu)) {
    fail_call(name, call, "a gradient has no bias and no epilogue");
  }
}

std::int64_t output_size(std::int64_t input, std::int64_t before, std::int64_t after,
                         std::int64_t window, std::int64_t dilation, std::int64_t stride) {
  const std::int64_t room = input + before + after - (dilation * (window - 1) + 1);
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

Conv2d read_conv2d(ConvKind kind, const Call& call) {
  const char* name = name_of_kind(kind);
  Conv2d conv;
  conv.kind = kind;
  read_epilogue(name, call, conv);
  require_tensors(name, call, conv.bias ? 4 : 3);
  const std::string layout = text(call, "layout");
  conv.nhwc = layout == "nhwc";
  if (!conv.nhwc && !layout.empty() && layout != "nchw") fail_call(name, call, "layout " + layout);
  const Roles roles = roles_of(kind, call);
  if (roles.x->size() != 4 || roles.weight->size() != 4 || roles.y->size() != 4) {
    fail_call(name, call, "every tensor needs four dimensions");
  }
  const auto at = [&](const Sizes& s, std::size_t nchw, std::size_t nhwc) {
    return s[conv.nhwc ? nhwc : nchw];
  };
  conv.n = (*roles.x)[0];
  conv.c = at(*roles.x, 1, 3);
  conv.h = at(*roles.x, 2, 1);
  conv.w = at(*roles.x, 3, 2);
  conv.k = at(*roles.y, 1, 3);
  conv.out_h = at(*roles.y, 2, 1);
  conv.out_w = at(*roles.y, 3, 2);
  conv.r = (*roles.weight)[2];
  conv.s = (*roles.weight)[3];
  conv.groups = numbers(call, "groups", 1, 1)[0];
  const Sizes stride = numbers(call, "stride", 2, 1);
  const Sizes dilation = numbers(call, "dilation", 2, 1);
  conv.stride_h = stride[0], conv.stride_w = stride[1];
  conv.dilation_h = dilation[0], conv.dilation_w = dilation[1];
  read_padding(call, conv);
  const bool positive = conv.groups > 0 && conv.stride_h > 0 && conv.stride_w > 0 &&
                        conv.dilation_h > 0 && conv.dilation_w > 0;
  if (!positive || conv.c % conv.groups != 0 || conv.k % conv.groups != 0 ||
      (*roles.y)[0] != conv.n || (*roles.weight)[0] != conv.k ||
      (*roles.weight)[1] != conv.group_c() ||
      conv.out_h !=
          output_size(conv.h, conv.top, conv.bottom, conv.r, conv.dilation_h, conv.stride_h) ||
      conv.out_w !=
          output_size(conv.w, conv.left, conv.right, conv.s, conv.dilation_w, conv.stride_w)) {
    fail_call(name, call, "the shapes, stride, padding, dilation or groups do not fit");
  }
  if (conv.bias && call.tensors[2].shape != Sizes{conv.k}) {
    fail_call(name, call, "bias must have one number per output channel");
  }
  for (const TensorDescription& tensor : call.tensors) {
    if (!is_float(tensor.dtype) || tensor.dtype != call.tensors[0].dtype) {
      fail_call(name, call, "all tensors must be f32, or all f64");
    }
  }
  return conv;
}

namespace {

std::unique_ptr<Prepared> prepare(ConvKind kind, const Call& call) {
  const Conv2d conv = read_conv2d(kind, call);
  const DType dtype = call.tensors[0].dtype;
  if (dtype == DType::f32 && !conv.empty()) return prepare_conv2d_onednn(conv);
  return prepare_conv2d_loops(conv, dtype);
}

}  // namespace

std::unique_ptr<Prepared> prepare_conv2d_forward(const Call& call) {
  return prepare(ConvKind::forward, call);
}
std::unique_ptr<Prepared> prepare_conv2d_input_gradient(const Call& call) {
  return prepare(ConvKind::input_gradient, call);
}
std::unique_ptr<Prepared> prepare_conv2d_weight_gradient(const Call& call) {
  return prepare(ConvKind::weight_gradient, call);
}

}  // namespace trireme::kernels
