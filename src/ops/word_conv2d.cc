#include <algorithm>
#include <cmath>

#include "ops/common.h"
#include "ops/window.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

// Returns the window of words [R, W, K]; its width is an attribute.
Window window_of_words(const Attributes& attributes, const Shape& words) {
  Window window = window_of(attributes);
  window.kernel[0] = words[0].constant();
  window.kernel[1] = get_attribute<std::int64_t>(attributes, "width");
  return window;
}

std::vector<Type> word_conv2d_type(const TypeContext& c) {
  Type x = c.operands[0];
  const Type& words = c.operands[1];
  const std::int64_t n = elements_of_word(x.dtype);
  require(n > 0 && x.rank() == 4, c.operand_texts[0] + " is not u8, i8 or i16 [N, H, W, C]");
  require(words.dtype == DType::i32 && words.rank() == 3 && is_constant(words.shape),
          c.operand_texts[1] + " is not i32 [R, W, K]");
  x.shape = {x.shape[0], x.shape[3], x.shape[1], x.shape[2]};
  require_image_shape(x, c.operand_texts[0]);
  const Window window = window_of_words(c.attributes, words.shape);
  require(window.dilation[1] == 1 && window.kernel[0] > 0 && window.kernel[1] > 0,
          "a window in words has columns side by side, and is not empty");
  require(x.shape[1].is_constant() &&
              words.shape[1] == Dim((x.shape[1].constant() * window.kernel[1] + n - 1) / n),
          "the words are not those of a window of " + std::to_string(window.kernel[1]) +
              " columns and the channels of " + c.operand_texts[0]);
  const Shape y = windows_shape(x.shape, words.shape[2], window, c.operand_texts[0]);
  return {Type{DType::i32, {y[0], y[2], y[3], y[1]}}};
}

void word_conv2d_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const RefTensor& words = *r.operands[1];
  const Window window = window_of_words(r.op.attributes, r.op.operands[1]->type.shape);
  const auto pad = static_cast<double>(get_attribute<std::int64_t>(r.op.attributes, "pad_value"));
  const std::int64_t channels = x.shape[3], n = elements_of_word(r.op.operands[0]->type.dtype);
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    double total = 0;
    for_each_index({window.kernel[0], window.kernel[1], channels}, [&](const Index& tap) {
      Index from{index[0], 0, 0, tap[2]};
      bool inside = true;
      for (std::size_t axis = 0; axis < 2; ++axis) {
        std::int64_t& place = from[1 + axis];
        place = index[1 + axis] * window.stride[axis] + tap[axis] * window.dilation[axis] -
                window.before(axis);
        inside = inside && place >= 0 && place < x.shape[1 + axis];
      }
      const std::int64_t place = tap[1] * channels + tap[2];
      total += (inside ? at(x, from) : pad) *
               part_of_word(at(words, {tap[0], place / n, index[3]}), n, place % n);
    });
    at(*r.results[0], index) = total;
  });
}

Contraction word_conv2d_contraction(const ir::Op& op) {
  const Window window = window_of_words(op.attributes, op.operands[1]->type.shape);
  Contraction result{.windows = true, .words = elements_of_word(op.operands[0]->type.dtype)};
  result.pad_value = get_attribute<std::int64_t>(op.attributes, "pad_value");
  std::copy_n(window.kernel.begin(), 2, result.kernel.begin());
  std::copy_n(window.stride.begin(), 2, result.stride.begin());
  std::copy_n(window.dilation.begin(), 2, result.dilation.begin());
  std::copy_n(window.padding.begin(), 4, result.padding.begin());
  return result;
}

// x [N, H, W, C], and a window [R, S] to K channels.
Sample word_conv2d_sample(const Ints& x, const Ints& window, std::int64_t channels,
                          const Attributes& attributes, DType dtype = DType::u8) {
  Sample s;
  const std::int64_t n = elements_of_word(dtype), words = (window[1] * x[3] + n - 1) / n;
  s.operands = {type_of(x, dtype), type_of({window[0], words, channels}, DType::i32)};
  s.attributes = {{"dilation", Ints{1, 1}},
                  {"pad_value", std::int64_t{0}},
                  {"padding", Ints{0, 0, 0, 0}},
                  {"stride", Ints{1, 1}},
                  {"width", window[1]}};
  for (const auto& [name, value] : attributes) set_attribute(s.attributes, name, value);
  s.ranges = {dtype == DType::u8 ? std::pair{0.0, 256.0} : std::pair{-128.0, 128.0},
              {-2147483648.0, 2147483648.0}};
  // Elements after the last one of a row are 0.
  const std::int64_t last = window[1] * x[3] % n;
  if (last > 0) s.ranges[1] = {0.0, std::exp2(32 / n * last - 1)};
  return s;
}

}  // namespace

Op word_conv2d() {
  Op op(
      "word_conv2d(x, words; width: int, stride: ints = [1, 1], padding: ints = [0, 0, 0, 0], "
      "dilation: ints = [1, 1], pad_value: int = 0)");
  op.doc =
      "The convolution of images x [N, H, W, C] with a weight [R, S * C, K] that is packed in "
      "words "
      "by pack_words.\n"
      "If x is u8 or i8, words is i32 [R, S * C / 4 rounded up, K].\n"
      "If x is i16, words is i32 [R, S * C / 2 rounded up, K].\n"
      "`width` is S. Elements of the last word after those of the weight are 0.\n"
      " Elements around the image are `pad_value`.\n"
      "The second number of `dilation` must be 1.\n"
      "The result is i32 [N, P, Q, K], whose sums wrap.\n"
      "It always becomes a generated kernel, fused with the elementwise ops that follow it.";
  op.traits = Trait::contraction | Trait::internal;
  op.no_gradient_reason = "of integers";
  op.type = word_conv2d_type;
  op.contraction = word_conv2d_contraction;
  op.reference = word_conv2d_reference;
  op.torch_reference =
      "(lambda w: torch.nn.functional.conv2d(torch.nn.functional.pad(x[0].double().permute(0, 3, "
      "1, 2), padding[2:] + padding[:2], value=pad_value), w[:, :width * x[0].shape[3]].unflatten("
      "1, (width, -1)).permute(3, 2, 0, 1).double(), stride=stride, dilation=dilation).permute(0, "
      "2, 3, 1).to(torch.int32))(x[1].contiguous().view(torch.int16 if x[0].dtype == torch.int16 "
      "else torch.int8).unflatten(2, (x[1].shape[2], -1)).transpose(2, 3).flatten(1, 2))";
  const Ints around{1, 1, 1, 1};
  op.samples = {
      word_conv2d_sample({2, 6, 6, 4}, {3, 3}, 5, {{"padding", around}}),
      word_conv2d_sample({1, 7, 7, 3}, {3, 3}, 33, {{"padding", around}, {"stride", Ints{2, 2}}}),
      word_conv2d_sample({2, 5, 9, 8}, {1, 1}, 16, {}),
      word_conv2d_sample({2, 5, 9, 8}, {1, 1}, 16, {{"stride", Ints{2, 2}}}, DType::i8),
      word_conv2d_sample({1, 8, 8, 5}, {3, 3}, 24, {{"dilation", Ints{2, 1}}}),
      word_conv2d_sample({2, 4, 5, 16}, {3, 3}, 16,
                         {{"padding", around}, {"pad_value", std::int64_t{128}}}),
      word_conv2d_sample({1, 4, 5, 6}, {3, 2}, 9, {{"padding", Ints{0, 2, 1, 0}}}, DType::i8),
      word_conv2d_sample({2, 5, 3, 5}, {1, 1}, 18, {}),
      word_conv2d_sample({1, 7, 7, 3}, {3, 3}, 33, {{"padding", around}, {"stride", Ints{2, 2}}},
                         DType::i16),
      word_conv2d_sample({2, 5, 9, 4}, {1, 1}, 16, {{"stride", Ints{2, 2}}}, DType::i16),
      word_conv2d_sample({0, 4, 5, 4}, {3, 3}, 9, {})};
  return op;
}

}  // namespace trireme::ops
