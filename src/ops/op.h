#pragma once

// The definition of one op. The function `Op <name>()` in the file <name>.cc returns it, and
// CMakeLists.txt lists the name.

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

// The input of a lowering rule, which computes the element `index` of one result from elements of
// the operands ("pull"). Fusion: load() calls the lowering of the op that computes the operand.
class Lowering {
 public:
  virtual ~Lowering() = default;
  virtual kernel_ir::Builder& k() = 0;
  virtual const ir::Op& op() const = 0;
  virtual int result() const = 0;                     // the result to compute
  virtual std::span<const ExprId> index() const = 0;  // i64, one per dimension of the result
  // Returns the element of operand i at `index`, or zero if `guard` (boolean) is given and false.
  virtual ExprId load(int operand, std::span<const ExprId> index,
                      ExprId guard = kernel_ir::kNoExpr) = 0;
  virtual ExprId dim(const Dim& dim) = 0;  // a Dim as an i64 expression
  // Row-major position of `index` in `shape`, and the inverse.
  virtual ExprId linear(std::span<const ExprId> index, const Shape& shape) = 0;
  virtual std::vector<ExprId> delinear(ExprId position, const Shape& shape) = 0;
  // For random ops: the seed of this run, an i64. The Session changes it for every run.
  virtual ExprId run_seed() = 0;
};

// A host tensor of doubles for reference implementations. Integers up to 2^53 and booleans (0, 1)
// are exact.
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
  std::vector<RefTensor*> results;  // of the right shape, filled with zeros
  std::uint64_t run_seed = 0;
  SymbolSizes sizes = {};  // sizes of the symbols that attributes may use
};

// One case of the conformance suite: operand types without symbols, and how to fill them.
struct Sample {
  std::vector<ir::Type> operands;
  Attributes attributes;
  double low = -2, high = 2;  // operands are uniform in [low, high]; integers in [low, high)
  std::vector<std::pair<double, double>> ranges;  // per operand; empty: [low, high] for all
  bool check_gradient = true;  // false where the op is not smooth; the file says why
  double tolerance = 1e-5;     // relative, compiled f32 against the double reference
};

// The sum that a contraction (Trait::contraction) of operands x and weight computes for each
// element of its result y. With windows, images [N, H, W, C] and weights [R, S, C/groups, K]:
//   y[n, p, q, k] = sum over r, s, c of x[n, h, w, g*C/groups + c] * weight[r, s, c, k],
//   h = p * stride + r * dilation - padding, w alike, g the group of k.
// Without windows: y[..., m, k] = sum over c of x[..., m, c] * weight[..., c, k], where weight has
// the leading dimensions of x or none.
// With `winograd`, the window is 3 by 3 and the weight is [16, C, K], as for winograd_conv2d.
struct Contraction {
  bool windows = false, winograd = false;
  // 0, or the elements of x in a word: 4 bytes, or 2 of i16. The weight is then packed in words,
  // [k / words, n] or [R, S * C / words, K].
  std::int64_t words = 0;
  std::int64_t pad_value = 0;  // of the elements around x
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  // top, bottom, left, right
  std::int64_t groups = 1;

  bool is_padded() const { return padding != std::array<std::int64_t, 4>{}; }
  // Whether every element of y reads x only at the same position.
  bool is_product() const {
    return kernel == std::array<std::int64_t, 2>{1, 1} &&
           stride == std::array<std::int64_t, 2>{1, 1} && !is_padded() && groups == 1;
  }
};

struct Op : ir::OpDef {
  explicit Op(std::string signature);

  // Computes one element; empty for ops that run as a library kernel.
  std::function<ExprId(Lowering&)> lower;

  // Reductions (Trait::reduction) have no `lower`. `reduce` says how summands are combined, and
  // `finish`, which may be empty, what is computed from the total. `count` is the number of
  // summands as f32 or f64.
  kernel_ir::ReduceOp reduce = kernel_ir::ReduceOp::sum;
  std::function<ExprId(kernel_ir::Builder&, ExprId total, ExprId count)> finish;
  // True if the result is the index of the selected element (i64, along the single axis).
  bool reduce_gives_index = false;

  // Reductions of blocks of attribute `size` elements, in row-major order, instead of axes.
  bool reduces_blocks = false;

  // Contractions: the sum that the op computes.
  std::function<Contraction(const ir::Op&)> contraction;

  // Library ops: the name of the kernel in src/kernels, such as "gemm" or "convolution".
  std::string library_kernel;
  // True if the library kernel accepts one more operand, a bias [channels] that is added along the
  // last dimension of the result, and the string `epilogue` = "relu".
  bool takes_epilogue = false;

  // Operations on single numbers by the definition of the op, whatever its kernel does: two for
  // each product that is summed, one for each summand of a reduction, none for moved elements.
  // Operations in blocks belong to the ops in the blocks. Set by the constructor of Catalog where
  // traits say it (see flops.h); other ops must set it.
  std::function<Dim(const ir::Op&)> flops;

  std::function<void(const Reference&)> reference;
  // The NumPy or PyTorch expression of an independent implementation; "" if there is none, and then
  // `no_torch_reason` is set. Operands are torch tensors x[0], x[1] ...; attributes are Python
  // variables.
  std::string torch_reference;
  std::string no_torch_reason;
  std::vector<Sample> samples;
};

// Returns which fact of the op is missing or contradicts another; "" if none. Every op must state
// how it is computed, its cost, its gradient, and how it is tested.
std::string missing_fact(const Op& op);

// All ops that CMakeLists.txt lists. The constructor fails with Error(internal) if a fact of an op
// is missing. A Catalog is immutable and owns the ops.
class Catalog : public ir::OpSet {
 public:
  Catalog();
  const Op* find(std::string_view name) const override;
  const ir::OpDef* find_renamed(std::string_view name) const override;
  std::vector<std::string> names() const override;
  static const Op& of(const ir::Op& op) { return static_cast<const Op&>(*op.def); }

 private:
  void add(Op op);
  std::vector<std::unique_ptr<Op>> ops_;
};

// Returns the catalog of this build: immutable, shared by all Programs.
const Catalog& catalog();

}  // namespace trireme::ops
