#pragma once

// One op, one file: everything there is to say of an op is an ops::Op, made by the function
// `Op <name>()` in the file <name>.cc and listed in CMakeLists.txt.

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/op_def.h"
#include "ir/program.h"
#include "kernel_ir/kernel.h"

namespace trireme::ops {

using kernel_ir::ExprId;

// What a lowering sees: the element `index` of one result is to be computed from elements of the
// operands ("pull"). Fusion is one lowering asking another through load().
class Lowering {
 public:
  virtual ~Lowering() = default;
  virtual kernel_ir::Builder& k() = 0;
  virtual const ir::Op& op() const = 0;
  virtual int result() const = 0;                     // which result is asked for
  virtual std::span<const ExprId> index() const = 0;  // i64, one per dimension of the result
  // The element of operand i at `index`; where `guard` (boolean) is given and false, zero.
  virtual ExprId load(int operand, std::span<const ExprId> index,
                      ExprId guard = kernel_ir::kNoExpr) = 0;
  virtual ExprId dim(const Dim& dim) = 0;  // a Dim as an i64 expression
  // Row-major position of `index` in `shape`, and back.
  virtual ExprId linear(std::span<const ExprId> index, const Shape& shape) = 0;
  virtual std::vector<ExprId> delinear(ExprId position, const Shape& shape) = 0;
  // Random ops: the seed of this run, an i64 that the Session changes at every run.
  virtual ExprId run_seed() = 0;
};

// A host tensor of doubles: what reference implementations compute with. Integers up to 2^53 and
// booleans (0, 1) are held exactly.
struct RefTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  RefTensor() = default;
  explicit RefTensor(std::vector<std::int64_t> shape);  // zeros
  std::int64_t elements() const;
};

struct Reference {
  const ir::Op& op;
  std::vector<const RefTensor*> operands;
  std::vector<RefTensor*> results;  // already of the right shape, zero
  std::uint64_t run_seed = 0;
  SymbolSizes sizes = {};  // of what symbols attributes may name
};

// One case of the conformance suite: operand types with numbers only, and how to fill them.
struct Sample {
  std::vector<ir::Type> operands;
  Attributes attributes;
  double low = -2, high = 2;  // operands are uniform in [low, high]; integers in [low, high)
  std::vector<std::pair<double, double>> ranges;  // per operand, where they differ
  bool check_gradient = true;  // false at points where the op is not smooth; say why in the file
  double tolerance = 1e-5;     // relative, compiled f32 against the double reference
};

// What a contraction (Trait::contraction) of operands x and weight sums up, for every element of its
// result y. With windows, images and weights being [N, H, W, C] and [R, S, C/groups, K]:
//   y[n, p, q, k] = sum over r, s, c of x[n, h, w, g*C/groups + c] * weight[r, s, c, k],
//   h = p * stride + r * dilation - padding, w alike, g the group of k.
// Without windows: y[..., m, k] = sum over c of x[..., m, c] * weight[..., c, k], where weight has
// the leading dimensions of x or none.
// With `winograd` the window is of 3 by 3, and the weight is [16, C, K], as of winograd_conv2d.
struct Contraction {
  bool windows = false, winograd = false;
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  // top, bottom, left, right
  std::int64_t groups = 1;

  bool is_padded() const { return padding != std::array<std::int64_t, 4>{}; }
  // Whether every element of y comes from the element of x at the same place.
  bool is_product() const {
    return kernel == std::array<std::int64_t, 2>{1, 1} &&
           stride == std::array<std::int64_t, 2>{1, 1} && !is_padded() && groups == 1;
  }
};

struct Op : ir::OpDef {
  explicit Op(std::string signature);

  // How one element is computed; empty for ops that run as a library kernel.
  std::function<ExprId(Lowering&)> lower;

  // Reductions (Trait::reduction) are described instead of lowered: how summands are combined and
  // what is done with the total. `finish` may be empty. count is the number of summands as f32/f64.
  kernel_ir::ReduceOp reduce = kernel_ir::ReduceOp::sum;
  std::function<ExprId(kernel_ir::Builder&, ExprId total, ExprId count)> finish;
  // True where the index of the winner (an i64 along the single axis) is the result.
  bool reduce_gives_index = false;

  // Contractions: what is summed up.
  std::function<Contraction(const ir::Op&)> contraction;

  // Library ops: the name of the kernel in src/kernels ("gemm", "convolution" ...).
  std::string library_kernel;
  // True if the library kernel takes a further operand, a bias [channels] added along the last
  // dimension of the result, and the text `epilogue` = "relu".
  bool takes_epilogue = false;

  std::function<void(const Reference&)> reference;
  // The NumPy/PyTorch expression of the independent twin, or "" with `no_twin_reason` set.
  // Operands are torch tensors x[0], x[1] ...; attributes are Python variables.
  std::string twin;
  std::string no_twin_reason;
  std::vector<Sample> samples;
};

// All ops of the build list. The Catalog is immutable and owns the ops; make one and pass it.
class Catalog : public ir::OpSet {
 public:
  Catalog();
  const Op* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  static const Op& of(const ir::Op& op) { return static_cast<const Op&>(*op.def); }

 private:
  void add(Op op);
  std::vector<std::unique_ptr<Op>> ops_;
};

// The catalog of this build: immutable, shared by all Programs.
const Catalog& catalog();

}  // namespace trireme::ops
