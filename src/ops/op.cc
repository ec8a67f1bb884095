#include "ops/op.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {

RefTensor::RefTensor(std::vector<std::int64_t> shape) : shape(std::move(shape)) {
  data.assign(static_cast<std::size_t>(elements()), 0.0);
}

std::int64_t RefTensor::elements() const {
  std::int64_t count = 1;
  for (std::int64_t size : shape) count *= size;
  return count;
}

Op::Op(std::string text) {
  signature = std::move(text);
  ir::parse_signature(*this);
}

namespace {

// Folds constants of an elementwise op: runs its reference loop on one element.
double fold(const std::function<void(const Reference&)>& reference, const ir::Op& op,
            const std::vector<double>& numbers) {
  std::vector<RefTensor> operands(numbers.size(), RefTensor(std::vector<std::int64_t>{}));
  RefTensor result(std::vector<std::int64_t>{});
  Reference call{op, {}, {&result}};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    operands[i].data[0] = numbers[i];
    call.operands.push_back(&operands[i]);
  }
  reference(call);
  return result.data[0];
}

// Returns what is wrong with the ways to compute the op.
std::string missing_implementation(const Op& op) {
  using ir::Trait;
  const bool has_blocks = op.control != ir::ControlFlow::none;
  if (op.has(Trait::library) != (has_blocks || !op.library_kernel.empty())) {
    return "Trait::library and `library_kernel` (or `control`) belong together";
  }
  if (op.has(Trait::contraction) != static_cast<bool>(op.contraction)) {
    return "Trait::contraction and `contraction` belong together";
  }
  const int ways = (op.lower != nullptr) + !op.library_kernel.empty() + has_blocks +
                   op.has(Trait::reduction) + op.has(Trait::contraction) + op.has(Trait::replaced);
  if (ways != 1) {
    return "needs exactly one of `lower`, `library_kernel`, `control`, Trait::reduction, "
           "Trait::contraction and Trait::replaced";
  }
  return "";
}

std::vector<int> reduced_axes(const ir::Op& op) {
  if (!Catalog::of(op).reduces_blocks) return axes_of_attributes(op);
  std::vector<int> all(op.operands[0]->type.shape.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::string missing_fact(const Op& op) {
  using ir::Trait;
  if (op.doc.empty()) return "`doc` is missing";
  if (!op.type) return "`type` is missing";
  if (std::string text = missing_implementation(op); !text.empty()) return text;
  const bool has_blocks = op.control != ir::ControlFlow::none;
  if (has_blocks != op.variadic_results) return "results `...` and `control` belong together";
  if (!op.flops) return "`flops` is missing";
  if (!op.reference && !has_blocks) return "`reference` is missing";
  if (op.samples.empty() && !has_blocks) return "`samples` is missing";
  if (op.torch_reference.empty() == op.no_torch_reason.empty()) {
    return "needs either `torch_reference` or `no_torch_reason`";
  }
  const int gradients =
      (op.gradient != nullptr) + op.has(Trait::not_differentiable) + !op.no_gradient_reason.empty();
  if (gradients != 1 && !has_blocks && !op.operands.empty()) {
    return "needs exactly one of `gradient`, Trait::not_differentiable and `no_gradient_reason`";
  }
  return "";
}

void Catalog::add(Op op) {
  if (!op.flops) op.flops = flops_of_traits(op);
  if (op.has(ir::Trait::reduction) && !op.mixed_axes) op.mixed_axes = reduced_axes;
  if (const std::string fact = missing_fact(op); !fact.empty()) {
    fail_internal("op " + op.name + ": " + fact);
  }
  if (op.has(ir::Trait::elementwise) && op.result_count == 1 && op.reference) {
    op.fold = [reference = op.reference](const ir::Op& o, const std::vector<double>& numbers) {
      return fold(reference, o, numbers);
    };
  }
  ops_.push_back(std::make_unique<Op>(std::move(op)));
}

// Binary search: gen_ops.py lists the ops sorted by name.
const Op* Catalog::find(std::string_view name) const {
  const auto less = [](const std::unique_ptr<Op>& op, std::string_view n) { return op->name < n; };
  const auto it = std::lower_bound(ops_.begin(), ops_.end(), name, less);
  return it != ops_.end() && (*it)->name == name ? it->get() : nullptr;
}

const ir::OpDef* Catalog::find_renamed(std::string_view name) const {
  for (const auto& op : ops_) {
    if (!op->old_name.empty() && op->old_name == name) return op.get();
  }
  return nullptr;
}

std::vector<std::string> Catalog::names() const {
  std::vector<std::string> names;
  for (const auto& op : ops_) names.push_back(op->name);
  return names;
}

const Catalog& catalog() {
  static const Catalog instance;
  return instance;
}

}  // namespace trireme::ops
