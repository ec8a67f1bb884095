// Matrix products, convolutions, pooling, attention and Fourier transforms.

#include <algorithm>
#include <limits>
#include <numeric>

#include "onnx/export/attributes.h"
#include "onnx/export/exporter.h"
#include "onnx/export/sequences.h"

namespace trireme::onnx {
namespace {

std::string with_permutation(Exporter& e, const std::string& x, const Integers& order) {
  return e.node("Transpose", {x}, {{"perm", order}});
}

// --- Products ----------------------------------------------------------------------------------

void write_matmul(Exporter& e, const ir::Op& op) {
  std::vector<std::string> inputs;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    std::string x = e.operand(op, i);
    if (flag(op, i == 0 ? "transpose_a" : "transpose_b")) {
      Integers order(type_of(op, i).shape.size());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      x = with_permutation(e, x, order);
    }
    inputs.push_back(x);
  }
  e.set(op, e.node(is_integer(type_of(op, 0).dtype) ? "MatMulInteger" : "MatMul", inputs));
}

// top, bottom, left, right as top, left, bottom, right.
Integers pads_of(const ir::Op& op) {
  const Integers& padding = integers_of(op, "padding");
  Integers before, after;
  for (std::size_t i = 0; i < padding.size(); i += 2) {
    before.push_back(padding[i]);
    after.push_back(padding[i + 1]);
  }
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

void require_channels_first(const ir::Op& op) {
  if (get_attribute<std::string>(op.attributes, "layout") != "nchw")
    throw NotExported{"its channels are last"};
}

// Runtimes have convolutions of unsigned bytes: a signed one is 128 less.
std::vector<std::string> unsigned_operands(Exporter& e, const ir::Op& op) {
  const std::string &x = e.operand(op, 0), &weight = e.operand(op, 1);
  if (type_of(op, 0).dtype == DType::u8) return {x, weight};
  const std::string more = e.node("Add", {e.cast(x, DType::i32), e.scalar(128, DType::i32)});
  return {e.cast(more, DType::u8), weight, e.scalar(128, DType::u8)};
}

void write_conv(Exporter& e, const ir::Op& op) {
  require_channels_first(op);
  const bool bytes = is_integer(type_of(op, 0).dtype);
  const std::vector<std::string> operands =
      bytes ? unsigned_operands(e, op) : std::vector{e.operand(op, 0), e.operand(op, 1)};
  e.set(op, e.node(bytes ? "ConvInteger" : "Conv", operands,
                   {{"strides", integers_of(op, "stride")},
                    {"pads", pads_of(op)},
                    {"dilations", integers_of(op, "dilation")},
                    {"group", integer_of(op, "groups")}}));
}

// The pads that remain of the size are added at the end.
void write_conv_transpose(Exporter& e, const ir::Op& op) {
  require_channels_first(op);
  const Integers& size = integers_of(op, "size");
  const Integers& stride = integers_of(op, "stride");
  const Integers& dilation = integers_of(op, "dilation");
  const Integers& padding = integers_of(op, "padding");
  const Shape& dy = type_of(op, 0).shape;
  const Shape& weight = type_of(op, 1).shape;
  Integers more;
  for (std::size_t i = 0; i < size.size(); ++i) {
    more.push_back(size[i] - (dy[i + 2].constant() - 1) * stride[i] -
                   (dilation[i] * (weight[i + 2].constant() - 1) + 1) + padding[2 * i] +
                   padding[2 * i + 1]);
  }
  e.set(op, e.node("ConvTranspose", {e.operand(op, 0), e.operand(op, 1)},
                   {{"strides", stride},
                    {"pads", pads_of(op)},
                    {"dilations", dilation},
                    {"output_padding", more},
                    {"group", integer_of(op, "groups")}}));
}

void write_max_pool(Exporter& e, const ir::Op& op) {
  require_channels_first(op);
  e.set(op, e.node("MaxPool", {e.operand(op, 0)},
                   {{"kernel_shape", integers_of(op, "kernel")},
                    {"strides", integers_of(op, "stride")},
                    {"pads", pads_of(op)}}));
}

void write_avg_pool(Exporter& e, const ir::Op& op) {
  require_channels_first(op);
  e.set(op, e.node("AveragePool", {e.operand(op, 0)},
                   {{"kernel_shape", integers_of(op, "kernel")},
                    {"strides", integers_of(op, "stride")},
                    {"pads", pads_of(op)},
                    {"count_include_pad", std::int64_t{flag(op, "count_include_pad")}}}));
}

// --- Attention ---------------------------------------------------------------------------------

// [..., steps, heads, width] as [..., heads, steps, width].
std::string heads_first(Exporter& e, const std::string& x, std::size_t rank) {
  Integers order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 3], order[rank - 2]);
  return with_permutation(e, x, order);
}

// For each row of a sequence its position, and the number of its sequence; i64[rows].
struct RowsOfSequences {
  std::string positions, ids;
};
RowsOfSequences rows_of(Exporter& e, const std::string& splits, const Dim& rows) {
  const std::string ids = sequence_ids(e, splits, rows);
  return {e.node("Sub", {e.range(e.size(rows)), e.node("Gather", {splits, ids})}), ids};
}

// Which queries read which keys, as boolean [..., queries, keys]; "" if all read all.
std::string attention_mask(Exporter& e, const ir::Op& op) {
  const std::size_t rank = type_of(op, 0).shape.size();
  const Dim &queries = type_of(op, 0).shape[rank - 3], &keys = type_of(op, 1).shape[rank - 3];
  RowsOfSequences q, k;
  std::string mask;
  const auto column = [&](const std::string& x, const Dim& size) {
    return e.reshape(x, {size, Dim(1)});
  };
  if (rank == 3) {
    q = rows_of(e, e.operand(op, 3), queries);
    k = rows_of(e, e.operand(op, 4), keys);
    mask = e.node("Equal", {column(q.ids, queries), k.ids});
  } else if (op.operands.size() > 3) {  // [batch, keys], beside heads and queries
    mask = e.reshape(e.operand(op, 3), {type_of(op, 3).shape[0], Dim(1), Dim(1), keys});
  }
  if (!flag(op, "causal")) return mask;
  if (rank == 4) {
    q.positions = e.range(e.size(queries));
    k.positions = e.range(e.size(keys));
  }
  const std::string past = e.node("GreaterOrEqual", {column(q.positions, queries), k.positions});
  return mask.empty() ? past : e.node("And", {mask, past});
}

// Keys and values [..., heads, steps, width] for all heads of the queries.
std::string for_all_heads(Exporter& e, const ir::Op& op, std::size_t operand) {
  const Shape& shape = type_of(op, operand).shape;
  const std::size_t rank = shape.size();
  const std::string x = heads_first(e, e.operand(op, operand), rank);
  const Dim heads = type_of(op, 0).shape[rank - 2];
  if (heads == shape[rank - 2]) return x;
  const std::int64_t repeats = heads.constant() / shape[rank - 2].constant();
  Shape single(shape.begin(), shape.end() - 3), all, merged = single;
  single.insert(single.end(), {shape[rank - 2], Dim(1), shape[rank - 3], shape[rank - 1]});
  all = single;
  all[all.size() - 3] = Dim(repeats);
  merged.insert(merged.end(), {heads, shape[rank - 3], shape[rank - 1]});
  return e.reshape(e.expand(e.reshape(x, single), all), merged);
}

// A query without keys has scores of -infinity only: its weights are 0.
void write_attention(Exporter& e, const ir::Op& op) {
  const std::size_t rank = type_of(op, 0).shape.size();
  const DType dtype = type_of(op, 0).dtype;
  const auto infinity = e.scalar(-std::numeric_limits<double>::infinity(), dtype);
  Integers order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 1], order[rank - 2]);
  const std::string q = heads_first(e, e.operand(op, 0), rank);
  const std::string k = with_permutation(e, for_all_heads(e, op, 1), order);
  std::string scores =
      e.node("Mul", {e.node("MatMul", {q, k}), e.scalar(number_of(op, "scale"), dtype)});
  if (const std::string mask = attention_mask(e, op); !mask.empty())
    scores = e.node("Where", {mask, scores, infinity});
  const std::string axes = e.integers({-1});
  // With one key of -infinity more, so that the maximum exists if there are no keys.
  Shape one = op.results[1]->type.shape;
  std::swap(one[rank - 3], one[rank - 2]);
  one.push_back(Dim(1));
  const std::string padded =
      e.node("Concat", {scores, e.filled(-std::numeric_limits<double>::infinity(), dtype, one)},
             {{"axis", std::int64_t{-1}}});
  const std::string largest = e.node("ReduceMax", {padded, axes});
  const std::string shift =
      e.node("Where", {e.node("Equal", {largest, infinity}), e.scalar(0, dtype), largest});
  const std::string weights = e.node("Exp", {e.node("Sub", {scores, shift})});
  const std::string total = e.node("ReduceSum", {weights, axes});
  const std::string divisor =
      e.node("Where", {e.node("Equal", {total, e.scalar(0, dtype)}), e.scalar(1, dtype), total});
  const std::string y =
      e.node("MatMul", {e.node("Div", {weights, divisor}), for_all_heads(e, op, 2)});
  e.set(op, heads_first(e, y, rank));
  if (!e.is_used(op, 1)) return;
  const std::string sums = e.node("Add", {shift, e.node("Log", {total})});
  e.set(op, e.reshape(heads_first(e, sums, rank), op.results[1]->type.shape), 1);
}

// --- Fourier transforms ------------------------------------------------------------------------

std::string fourier(Exporter& e, const std::string& x, std::int64_t axis, bool inverse,
                    bool one_sided) {
  NodeAttributes attributes = {{"inverse", std::int64_t{inverse}},
                               {"onesided", std::int64_t{one_sided}}};
  if (e.opset() >= 20)
    return e.node("DFT", {x, "", e.scalar(static_cast<double>(axis), DType::i64)}, attributes);
  attributes.emplace_back("axis", axis);
  return e.node("DFT", {x}, attributes);
}

// Lines [..., n, 2] as [all lines, n, 2]; ONNX divides by n in the inverse.
void write_complex_fft(Exporter& e, const ir::Op& op) {
  const ir::Type& type = type_of(op, 0);
  const Dim n = type.shape[type.shape.size() - 2];
  const bool inverse = flag(op, "inverse");
  std::string x = e.node("Reshape", {e.operand(op, 0), e.integers({-1, n.constant(), 2})});
  x = fourier(e, x, 1, inverse, false);
  if (inverse) x = e.node("Mul", {x, e.scalar(static_cast<double>(n.constant()), type.dtype)});
  e.set(op, e.reshape(x, op.result()->type.shape));
}

void write_real_fft(Exporter& e, const ir::Op& op) {
  const Dim n = type_of(op, 0).shape.back();
  const std::string x = e.node("Reshape", {e.operand(op, 0), e.integers({-1, n.constant(), 1})});
  e.set(op, e.reshape(fourier(e, x, 1, false, true), op.result()->type.shape));
}

// The other half of the spectrum has the conjugates, in reverse. The real part of the result does
// not depend on the imaginary parts of its first and middle number.
void write_inverse_real_fft(Exporter& e, const ir::Op& op) {
  const DType dtype = type_of(op, 0).dtype;
  const std::int64_t n = integer_of(op, "size"), half = n / 2 + 1;
  std::string x = e.node("Reshape", {e.operand(op, 0), e.integers({-1, half, 2})});
  if (n > half) {
    const std::string mirrored = e.node(
        "Slice", {x, e.integers({n - half}), e.integers({0}), e.integers({1}), e.integers({-1})});
    const Tensor signs = Tensor::from({2}, std::vector<double>{1, -1}).cast(dtype);
    x = e.node("Concat", {x, e.node("Mul", {mirrored, e.constant(signs)})},
               {{"axis", std::int64_t{1}}});
  }
  const std::string y = e.slice(fourier(e, x, 1, true, false), 2, 0, 1);
  e.set(op, e.reshape(e.node("Mul", {y, e.scalar(static_cast<double>(n), dtype)}),
                      op.result()->type.shape));
}

constexpr ExportedOp kProducts[] = {
    {"attention", write_attention},
    {"avg_pool", write_avg_pool},
    {"complex_fft", write_complex_fft},
    {"conv2d", write_conv},
    {"conv2d_input_gradient", write_conv_transpose},
    {"conv3d", write_conv},
    {"conv3d_input_gradient", write_conv_transpose},
    {"inverse_real_fft", write_inverse_real_fft},
    {"matmul", write_matmul},
    {"max_pool", write_max_pool},
    {"real_fft", write_real_fft},
};

}  // namespace

std::span<const ExportedOp> exported_products() { return kProducts; }

}  // namespace trireme::onnx
