#include "ops/common.h"

namespace trireme::ops {
namespace {

std::int64_t block_size(const Attributes& attributes) {
  return get_attribute<std::int64_t>(attributes, "size");
}

std::vector<Type> block_sum_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const std::int64_t size = block_size(c.attributes);
  require(is(x.dtype, Numbers::common), c.operand_texts[0] + " cannot be summed",
          "cast it to f32 first");
  require(is_constant(x.shape),
          "block_sum needs a constant number of elements, not " + c.operand_texts[0]);
  require(size > 0, "a block must have at least one element, not " + std::to_string(size));
  return {Type{x.dtype, {(product(x.shape).constant() + size - 1) / size}}};
}

void block_sum_reference(const Reference& r) {
  const auto size = static_cast<std::size_t>(block_size(r.op.attributes));
  const std::vector<double>& x = r.operands[0]->data;
  std::vector<double>& sums = r.results[0]->data;
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i / size] += x[i];
}

void block_sum_gradient_rule(GradientContext& c) {
  const Value x = c.operand(0), dy = c.gradient();
  const std::int64_t size = block_size(c.op().attributes), blocks = dy.dim(0).constant();
  const Value spread =
      reshape(broadcast(dy, {.shape = {blocks, size}, .axes = {0}}), {.shape = {blocks * size}});
  const Value used = slice(spread, {.starts = {0}, .limits = {product(x.shape())}});
  c.accumulate(0, reshape(used, {.shape = x.shape()}));
}

Sample block_sum_sample(std::vector<std::int64_t> shape, std::int64_t size,
                        DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.attributes = {{"size", size}};
  s.check_gradient = is_arithmetic_float(dtype);  // integers have no gradient
  return s;
}

}  // namespace

Op block_sum() {
  Op op("block_sum(x; size: int = 4096)");
  op.doc =
      "The sums of consecutive blocks of `size` elements of x in row-major order.\n"
      "n elements have ceil(n / size) sums; the last block may be shorter.\n"
      "x has a numeric dtype and a constant shape.\n"
      "The compiler replaces sums over all elements with it, so that every thread computes a "
      "part.";
  op.traits = Trait::reduction | Trait::internal;
  op.reduces_blocks = true;
  op.type = block_sum_type;
  op.reduce = kernel_ir::ReduceOp::sum;
  op.reference = block_sum_reference;
  op.gradient = block_sum_gradient_rule;
  op.torch_reference =
      "torch.stack([b.sum() for b in torch.split(x[0].flatten(), size)]) if x[0].numel() "
      "else x[0].flatten()";
  op.samples = {block_sum_sample({37}, 5),
                block_sum_sample({40}, 8),
                block_sum_sample({4, 9}, 10),
                block_sum_sample({1}, 4096),
                block_sum_sample({0, 3}, 7),
                block_sum_sample({}, 1),
                block_sum_sample({3}, 1),
                block_sum_sample({5000}, 700),
                block_sum_sample({3, 7}, 4, DType::i64)};
  return op;
}

}  // namespace trireme::ops
