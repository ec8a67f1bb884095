#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ir/program.h"
#include "runtime/limits.h"
#include "trireme/tensor.h"

namespace trireme {

// The values of the parameters of a Program. A parameter gets its first value at its first use. Its
// memory then stays at one address during the lifetime of the store.
class ParameterStore {
 public:
  // `limits`, which may be null, counts the memory of parameters.
  ParameterStore(std::uint64_t seed, runtime::Limits* limits) : seed_(seed), limits_(limits) {}

  Tensor& get(const ir::Parameter& parameter);
  void set(const ir::Parameter& parameter, const Tensor& value);  // copies. Errors: usage

  // Changes whenever a parameter may have changed, so that values derived from parameters are
  // computed again.
  std::uint64_t version() const { return version_; }
  void changed() { ++version_; }

  // The elements of all parameters used so far, by name, for copies of the whole state.
  std::map<std::string, Tensor, std::less<>>& all() { return values_; }

 private:
  void count(const ir::Type& type) const;

  std::uint64_t seed_;
  runtime::Limits* limits_;
  std::uint64_t version_ = 1;
  std::map<std::string, Tensor, std::less<>> values_;
};

// Errors: not_found with the nearest name.
const ir::Parameter& find_parameter(const ir::Program& program, std::string_view name);

}  // namespace trireme
