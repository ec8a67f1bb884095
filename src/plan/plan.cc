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

std::vector<std::string> defined_symbols(const Plan& plan) {
  std::vector<std::string> symbols;
  for (const Step& step : plan.steps) {
    if (!step.defines.empty()) symbols.push_back(step.defines);
  }
  return symbols;
}

namespace {

template <class Count>
int count_with_nested(const Plan& plan, Count count) {
  int total = count(plan);
  for (const Step& step : plan.steps) {
    for (const Nested& nested : step.control.blocks) {
      total += count_with_nested(*nested.plan, count);
    }
  }
  return total;
}

}  // namespace

int count_library_calls(const Plan& plan) {
  return count_with_nested(plan, [](const Plan& p) {
    int calls = 0;
    for (const Step& step : p.steps) calls += step.library.kernel.empty() ? 0 : 1;
    return calls;
  });
}

int count_kernels(const Plan& plan) {
  return count_with_nested(plan, [](const Plan& p) { return static_cast<int>(p.kernels.size()); });
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
