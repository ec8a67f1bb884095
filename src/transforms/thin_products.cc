// Names these ops: broadcast, matmul, mul, sum

#include "transforms/thin_products.h"

#include <optional>
#include <utility>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

class ThinProduct {
 public:
  ThinProduct(ir::Builder& b, const ir::Op& op)
      : b_(b),
        op_(op),
        left_(op.operands[0]),
        right_(op.operands[1]),
        transpose_a_(get_attribute<bool>(op.attributes, "transpose_a")) {}

  ir::Value* run() {
    if (left_->type.rank() != 2 || right_->type.rank() != 2) return nullptr;
    if (is_integer(left_->type.dtype)) return nullptr;  // a sum of products has another dtype
    const Dim inner = left_->type.shape[transpose_a_ ? 0 : 1];
    if (inner == Dim(1)) return outer_product();
    if (op_.result()->type.shape[1] == Dim(1)) return column();
    return nullptr;
  }

 private:
  // Broadcasts the elements of x, whose axes all have size 1 except one, along `axis` of `shape`.
  ir::Value* along(ir::Value* x, std::int64_t axis, const Shape& shape) {
    ir::Value* flat = b_.reshape(x, {product(x->type.shape)});
    return b_.make("broadcast", {flat}, {{"axes", Integers{axis}}, {"shape", shape}});
  }

  // y[i, j] = a[i] * b[j]
  ir::Value* outer_product() {
    const Shape& shape = op_.result()->type.shape;
    return b_.make("mul", {along(left_, 0, shape), along(right_, 1, shape)});
  }

  // y[i, 0] = sum over l of a[i, l] * b[l], or of a[l, i] * b[l]
  ir::Value* column() {
    const std::int64_t summed = transpose_a_ ? 0 : 1;
    ir::Value* products = b_.make("mul", {left_, along(right_, summed, left_->type.shape)});
    ir::Value* sums = b_.make("sum", {products}, {{"axes", Integers{summed}}});
    return b_.reshape(sums, op_.result()->type.shape);
  }

  ir::Builder& b_;
  const ir::Op& op_;
  ir::Value* left_;
  ir::Value* right_;
  bool transpose_a_;
};

}  // namespace

void widen_thin_products(ir::Program& program) {
  rewrite(program, [&](ir::Builder& b, ir::Op& op) -> Replacement {
    if (op.name() != "matmul") return std::nullopt;
    ir::Value* made = ThinProduct(b, op).run();
    if (made == nullptr) return std::nullopt;
    return {{made}};
  });
}

}  // namespace trireme::transforms
