#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ir/program.h"
#include "trireme/tensor.h"

namespace trireme {

// What the parameters of a Program hold. A parameter gets its first value when it is first asked
// for; its memory then stays where it is until the store dies.
class ParameterStore {
 public:
  explicit ParameterStore(std::uint64_t seed) : seed_(seed) {}

  Tensor& get(const ir::Parameter& parameter);
  void set(const ir::Parameter& parameter, const Tensor& value);  // copies. Errors: usage

  // Changes whenever a parameter may have: what is made of parameters is then made anew.
  std::uint64_t version() const { return version_; }
  void changed() { ++version_; }

  // Elements by name of those asked for so far, for copies of the whole state.
  std::map<std::string, Tensor, std::less<>>& all() { return values_; }

 private:
  std::uint64_t seed_;
  std::uint64_t version_ = 1;
  std::map<std::string, Tensor, std::less<>> values_;
};

// Errors: not_found, with the nearest name.
const ir::Parameter& find_parameter(const ir::Program& program, std::string_view name);

}  // namespace trireme
