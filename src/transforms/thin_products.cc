#include "transforms/thin_products.h"

#include <optional>
#include <utility>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

class ThinProduct {
 public:
  ThinProduct(ir::Program& program, const ir::Op& op)
      : program_(program),
        op_(op),
        a_(op.operands[0]),
        b_(op.operands[1]),
        transpose_a_(ir::get<bool>(op.attributes, "transpose_a")) {}

  ir::Value* run() {
    if (a_->type.rank() != 2 || b_->type.rank() != 2) return nullptr;
    const Dim inner = a_->type.shape[transpose_a_ ? 0 : 1];
    if (inner == Dim(1)) return outer_product();
    if (op_.result()->type.shape[1] == Dim(1)) return column();
    return nullptr;
  }

 private:
  // Broadcasts the elements of x, whose axes all have size 1 except one, along `axis` of `shape`.
  ir::Value* along(ir::Value* x, std::int64_t axis, const Shape& shape) {
    ir::Value* flat =
        make(program_, op_, "reshape", {x}, {{"shape", Shape{product(x->type.shape)}}});
    return make(program_, op_, "broadcast", {flat}, {{"axes", Integers{axis}}, {"shape", shape}});
  }

  // y[i, j] = a[i] * b[j]
  ir::Value* outer_product() {
    const Shape& shape = op_.result()->type.shape;
    return make(program_, op_, "mul", {along(a_, 0, shape), along(b_, 1, shape)});
  }

  // y[i, 0] = sum over l of a[i, l] * b[l], or of a[l, i] * b[l]
  ir::Value* column() {
    const std::int64_t summed = transpose_a_ ? 0 : 1;
    ir::Value* products = make(program_, op_, "mul", {a_, along(b_, summed, a_->type.shape)});
    ir::Value* sums = make(program_, op_, "sum", {products}, {{"axes", Integers{summed}}});
    return make(program_, op_, "reshape", {sums}, {{"shape", op_.result()->type.shape}});
  }

  ir::Program& program_;
  const ir::Op& op_;
  ir::Value* a_;
  ir::Value* b_;
  bool transpose_a_;
};

}  // namespace

void widen_thin_products(ir::Program& program) {
  rewrite(program, [&](ir::Op& op) -> std::optional<std::vector<ir::Value*>> {
    if (op.name() != "matmul") return std::nullopt;
    ir::Value* made = ThinProduct(program, op).run();
    if (made == nullptr) return std::nullopt;
    return {{made}};
  });
}

}  // namespace trireme::transforms
