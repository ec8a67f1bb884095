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

// gen_ops.py lists the ops sorted by name.
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
