#pragma once

// Dims without symbols, which are fast to evaluate for every step of a loop.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/shape.h"

namespace trireme::runtime {

// The sizes of the symbols of a Plan, in the order of Plan::symbols.
using Sizes = std::vector<std::int64_t>;

class FlatDim {
 public:
  FlatDim() = default;
  // Error(internal) if `symbols` lacks one; `seed` counts as 0.
  FlatDim(const Dim& dim, const std::vector<std::string>& symbols);
  std::int64_t evaluate(const Sizes& sizes) const {
    std::int64_t total = constant_;
    for (const Term& term : terms_) {
      std::int64_t product = term.coefficient;
      for (const int factor : term.factors) product *= sizes[static_cast<std::size_t>(factor)];
      total += product;
    }
    return total;
  }

 private:
  struct Term {
    std::int64_t coefficient;
    std::vector<int> factors;
  };
  std::int64_t constant_ = 0;
  std::vector<Term> terms_;
};

}  // namespace trireme::runtime
