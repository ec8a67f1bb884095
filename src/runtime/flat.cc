#include "runtime/flat.h"

#include <algorithm>

#include "base/error.h"
#include "plan/plan.h"

namespace trireme::runtime {

FlatDim::FlatDim(const Dim& dim, const std::vector<std::string>& symbols) {
  for (const auto& [monomial, coefficient] : dim.terms()) {
    if (monomial.empty()) {
      constant_ = coefficient;
      continue;
    }
    if (monomial.size() == 1 && monomial[0] == plan::kSeedSymbol) continue;
    Term term{coefficient, {}};
    for (const std::string& symbol : monomial) {
      const auto found = std::find(symbols.begin(), symbols.end(), symbol);
      if (found == symbols.end()) fail_internal("plan: it does not list its symbol " + symbol);
      term.factors.push_back(static_cast<int>(found - symbols.begin()));
    }
    terms_.push_back(std::move(term));
  }
}

}  // namespace trireme::runtime
