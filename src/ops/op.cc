#include "ops/op.h"

#include <algorithm>

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

}  // namespace

void Catalog::add(Op op) {
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
