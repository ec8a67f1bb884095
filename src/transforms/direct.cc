// Names these ops: add, bitcast, bitwise_xor, broadcast, cast, concat, conv2d,
// conv2d_input_gradient, direct_conv2d, direct_matmul, flip, matmul, mul, pack_words,
// packed_matmul, pad, reshape, slice, sub, sum, transpose, winograd_conv2d, word_conv2d,
// word_matmul

#include "transforms/direct.h"

#include <utility>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

ir::Value* transposed(ir::Builder& b, ir::Value* x, const Integers& permutation) {
  return b.make("transpose", {x}, {{"permutation", permutation}});
}

// Whether a convolution of x [N, H, W, C] with weight [R, S, C, K] and stride 1 is possible and
// faster with Winograd's algorithm. With few channels its transforms cost more than they save.
bool suits_winograd(const ir::Value& x, const ir::Value& weight, const Integers& dilation,
                    const Integers& padding, std::int64_t groups) {
  constexpr std::int64_t kMinChannels = 16;
  const Shape& window = weight.type.shape;
  if (groups != 1 || dilation != Integers{1, 1} || x.type.dtype != DType::f32 ||
      window[0] != Dim(3) || window[1] != Dim(3) || window[2].constant() < kMinChannels ||
      window[3].constant() < kMinChannels) {
    return false;
  }
  const std::int64_t height = x.type.shape[1].constant() + padding[0] + padding[1] - 2;
  const std::int64_t width = x.type.shape[2].constant() + padding[2] + padding[3] - 2;
  return height % 2 == 0 && width % 2 == 0;
}

// Maps w0, w1, w2 along `axis` to w0, (w0 + w1 + w2) / 2, (w0 - w1 + w2) / 2, w2.
ir::Value* winograd_lines(ir::Builder& b, ir::Value* w, std::size_t axis) {
  std::vector<ir::Value*> parts;
  for (std::int64_t i = 0; i < 3; ++i) {
    Shape starts(w->type.shape.size(), 0), limits = w->type.shape;
    starts[axis] = i;
    limits[axis] = i + 1;
    parts.push_back(
        b.make("slice", {w}, {{"limits", limits}, {"starts", starts}, {"strides", Integers{}}}));
  }
  ir::Value* half = b.constant(parts[0]->type, 0.5);
  ir::Value* ends = b.make("add", {parts[0], parts[2]});
  ir::Value* plus = b.make("mul", {b.make("add", {ends, parts[1]}), half});
  ir::Value* minus = b.make("mul", {b.make("sub", {ends, parts[1]}), half});
  return b.make("concat", {parts[0], plus, minus, parts[2]},
                {{"axis", static_cast<std::int64_t>(axis)}});
}

// Returns the convolution of x [N, H, W, C] with weight [R, S, C/groups, K].
ir::Value* direct(ir::Builder& b, ir::Value* x, ir::Value* weight, const Integers& stride,
                  const Integers& dilation, const Integers& padding, std::int64_t groups) {
  if (stride == Integers{1, 1} && suits_winograd(*x, *weight, dilation, padding, groups)) {
    ir::Value* w = winograd_lines(b, winograd_lines(b, weight, 0), 1);
    const Shape shape{16, weight->type.shape[2], weight->type.shape[3]};
    w = b.make("reshape", {w}, {{"shape", shape}});
    return b.make("winograd_conv2d", {x, w}, {{"padding", padding}});
  }
  return b.make(
      "direct_conv2d", {x, weight},
      {{"dilation", dilation}, {"groups", groups}, {"padding", padding}, {"stride", stride}});
}

// --- Sums of products of bytes ---

ir::Value* constant_like(ir::Builder& b, const ir::Value* x, double number) {
  return b.constant({x->type.dtype, x->type.shape, ""}, number);
}

// The first operand of a product of bytes in the form that kernels read. Its numbers are those of
// the operand plus `offset`.
struct ByteOperand {
  ir::Value* value;
  std::int64_t offset = 0;
};

ByteOperand in_form(ir::Builder& b, ir::Value* x, ByteForm form) {
  if (form == ByteForm::pairs) return {b.make("cast", {x}, {{"dtype", DType::i16}})};
  const DType wanted = form == ByteForm::unsigned_bytes ? DType::u8 : DType::i8;
  if (x->type.dtype == wanted) return {x};
  // Changing the highest bit adds 128 to a signed number that becomes unsigned.
  ir::Value* bits = b.make("bitcast", {x}, {{"dtype", DType::u8}});
  bits = b.make("bitwise_xor", {bits, constant_like(b, bits, 128)});
  return {b.make("bitcast", {bits}, {{"dtype", wanted}}), wanted == DType::u8 ? 128 : -128};
}

std::int64_t elements_of_word(ByteForm form) { return form == ByteForm::pairs ? 2 : 4; }

// Returns y minus `offset` times the sums of the columns of `weight` [..., n].
ir::Value* without_offset(ir::Builder& b, ir::Value* y, std::int64_t offset, ir::Value* weight) {
  if (offset == 0) return y;
  ir::Value* wide = b.make("cast", {weight}, {{"dtype", DType::i32}});
  Integers axes;
  for (int i = 0; i + 1 < wide->type.rank(); ++i) axes.push_back(i);
  ir::Value* sums = b.make("sum", {wide}, {{"axes", axes}, {"keep", false}});
  ir::Value* offsets = b.make("mul", {sums, constant_like(b, sums, static_cast<double>(offset))});
  ir::Value* rows = b.make("broadcast", {offsets},
                           {{"axes", Integers{y->type.rank() - 1}}, {"shape", y->type.shape}});
  return b.make("sub", {y, rows});
}

// Returns the convolution of bytes x [N, H, W, C] with weight i8 [R, S, C, K].
ir::Value* convolution_of_bytes(ir::Builder& b, ir::Value* x, ir::Value* weight,
                                const Integers& stride, const Integers& dilation,
                                const Integers& padding, ByteForm form) {
  const Shape& window = weight->type.shape;
  ir::Value* rows = b.reshape(weight, {window[0], window[1] * window[2], window[3]});
  const ByteOperand operand = in_form(b, x, form);
  ir::Value* words = b.make("pack_words", {rows}, {{"elements", elements_of_word(form)}});
  ir::Value* y = b.make("word_conv2d", {operand.value, words},
                        {{"dilation", dilation},
                         {"pad_value", operand.offset},
                         {"padding", padding},
                         {"stride", stride},
                         {"width", window[1].constant()}});
  return without_offset(b, y, operand.offset, weight);
}

// Returns the product of bytes a [..., m, k] and i8 b [k, n], or null if kernels have no special
// code for it.
ir::Value* product_of_bytes(ir::Builder& b, ir::Value* a, ir::Value* weight, ByteForm form) {
  if (weight->type.rank() != 2 || !is_constant(weight->type.shape)) return nullptr;
  const ByteOperand operand = in_form(b, a, form);
  ir::Value* x = operand.value;
  const std::int64_t elements = elements_of_word(form);
  const std::int64_t missing = (elements - weight->type.shape[0].constant() % elements) % elements;
  if (missing > 0) {  // the last word of a row must not reach beyond the last row
    Shape low(x->type.shape.size(), 0), high = low;
    high.back() = missing;
    x = b.make("pad", {x},
               {{"high", high}, {"interior", Integers{}}, {"low", low}, {"value", 0.0}});
  }
  ir::Value* words = b.make("pack_words", {weight}, {{"elements", elements}});
  ir::Value* y = b.make("word_matmul", {x, words});
  return without_offset(b, y, operand.offset, weight);
}

Replacement direct_convolution(ir::Builder& b, const ir::Op& op, ByteForm form) {
  if (get_attribute<std::string>(op.attributes, "layout") != "nhwc") return std::nullopt;
  ir::Value* weight = transposed(b, op.operands[1], {2, 3, 1, 0});
  const auto list = [&](const char* name) { return get_attribute<Integers>(op.attributes, name); };
  if (is_integer(weight->type.dtype) && list("dilation")[1] == 1 &&
      get_attribute<std::int64_t>(op.attributes, "groups") == 1) {
    return {{convolution_of_bytes(b, op.operands[0], weight, list("stride"), list("dilation"),
                                  list("padding"), form)}};
  }
  return {{direct(b, op.operands[0], weight, list("stride"), list("dilation"), list("padding"),
                  get_attribute<std::int64_t>(op.attributes, "groups"))}};
}
Replacement direct_input_gradient(ir::Builder& b, const ir::Op& op) {
  const ir::Value* weight = op.operands[1];
  const auto groups = get_attribute<std::int64_t>(op.attributes, "groups");
  const bool depthwise = weight->type.shape[1] == Dim(1) && weight->type.shape[0] == Dim(groups);
  if (get_attribute<std::string>(op.attributes, "layout") != "nhwc" ||
      (groups != 1 && !depthwise) ||
      get_attribute<Integers>(op.attributes, "stride") != Integers{1, 1}) {
    return std::nullopt;
  }
  const auto dilation = get_attribute<Integers>(op.attributes, "dilation");
  Integers padding = get_attribute<Integers>(op.attributes, "padding");  // top, bottom, left, right
  for (std::size_t i = 0; i < padding.size(); ++i) {
    padding[i] = dilation[i / 2] * (weight->type.shape[2 + i / 2].constant() - 1) - padding[i];
    if (padding[i] < 0) return std::nullopt;
  }
  ir::Value* ordered =
      transposed(b, op.operands[1], depthwise ? Integers{2, 3, 1, 0} : Integers{2, 3, 0, 1});
  ir::Value* flipped = b.make("flip", {ordered}, {{"axes", Integers{0, 1}}});
  return {{direct(b, op.operands[0], flipped, {1, 1}, dilation, padding, groups)}};
}

ir::Value* last_two_swapped(ir::Builder& b, ir::Value* x) {
  Integers permutation;
  for (int i = 0; i < x->type.rank(); ++i) permutation.push_back(i);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return transposed(b, x, permutation);
}

Replacement direct_product(ir::Builder& b, const ir::Op& op, ByteForm form) {
  std::vector<ir::Value*> operands = op.operands;
  if (get_attribute<bool>(op.attributes, "transpose_a")) {
    operands[0] = last_two_swapped(b, operands[0]);
  }
  if (get_attribute<bool>(op.attributes, "transpose_b")) {
    operands[1] = last_two_swapped(b, operands[1]);
  }
  if (is_integer(operands[1]->type.dtype)) {
    if (ir::Value* y = product_of_bytes(b, operands[0], operands[1], form)) return {{y}};
  }
  return {{b.make("direct_matmul", std::move(operands))}};
}

// Whether the rows of x are rows of sequences.
bool has_rows_of_sequences(const ir::Program& program, const ir::Value* x) {
  return x->type.rank() == 2 && ir::find_splits(program.main(), x->type.shape[0]) != nullptr;
}

Replacement packed_product(ir::Builder& b, const ir::Op& op) {
  if (is_integer(op.operands[0]->type.dtype) || get_attribute<bool>(op.attributes, "transpose_a") ||
      !has_rows_of_sequences(b.program(), op.operands[0])) {
    return std::nullopt;
  }
  ir::Value* weight = op.operands[1];
  if (weight->type.rank() != 2) return std::nullopt;
  if (get_attribute<bool>(op.attributes, "transpose_b")) weight = last_two_swapped(b, weight);
  ir::Value* packed = packed_columns(b, weight);
  if (packed == nullptr) return std::nullopt;
  return {{b.make("packed_matmul", {op.operands[0], packed})}};
}

}  // namespace

ir::Value* packed_columns(ir::Builder& b, ir::Value* weight) {
  constexpr std::int64_t kMinElements = 16 * 1024, kMaxElements = 1024 * 1024;
  const Shape& shape = weight->type.shape;
  const Dim elements = product(shape);
  if (!elements.is_constant() || elements.constant() < kMinElements ||
      elements.constant() > kMaxElements) {
    return nullptr;
  }
  for (const std::int64_t width : {32, 16}) {
    if (shape[1].constant() % width != 0) continue;
    const Shape strips{shape[0], shape[1].constant() / width, width};
    return transposed(b, b.make("reshape", {weight}, {{"shape", strips}}), {1, 0, 2});
  }
  return nullptr;
}

void use_direct_kernels(ir::Program& program, const std::function<bool(const ir::Op&)>& wanted,
                        ByteForm form) {
  rewrite(program, [&](ir::Builder& b, ir::Op& op) -> Replacement {
    const bool is_product = op.name() == "matmul", is_convolution = op.name() == "conv2d";
    if (!is_product && !is_convolution && op.name() != "conv2d_input_gradient") return std::nullopt;
    const ir::Type& type = op.result()->type;
    if (product(type.shape) == Dim(0)) return {{b.constant(type, 0)}};  // no loops to generate
    if (is_product) {
      if (Replacement packed = packed_product(b, op)) return packed;
    }
    const bool bytes = is_integer(op.operands[0]->type.dtype);  // no library multiplies them
    if (!bytes && !wanted(op)) return std::nullopt;
    if (is_product) return direct_product(b, op, form);
    return is_convolution ? direct_convolution(b, op, form) : direct_input_gradient(b, op);
  });
}

}  // namespace trireme::transforms
