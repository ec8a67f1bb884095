#include "plan/plan.h"

#include <fmt/core.h>

#include "base/error.h"

namespace trireme::plan {

std::int64_t Quotient::evaluate(const SymbolSizes& sizes) const {
  if (denominator <= 0) {
    fail_internal(fmt::format("a trip count is divided by {}", denominator));
  }
  const std::int64_t value = numerator.evaluate(sizes);
  return value <= 0 ? 0 : (value + denominator - 1) / denominator;
}

int root_of(const Plan& plan, int buffer) {
  const int count = static_cast<int>(plan.buffers.size());
  int root = buffer;
  for (int hops = 0; hops <= count; ++hops) {
    if (root < 0 || root >= count) {
      fail_internal(fmt::format("plan: buffer {} does not exist; there are {}", root, count));
    }
    const int next = plan.buffers[static_cast<std::size_t>(root)].alias_of;
    if (next < 0) return root;
    root = next;
  }
  fail_internal(fmt::format("plan: the aliases of buffer {} go in a circle", buffer));
}

}  // namespace trireme::plan
