#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ir/program.h"
#include "runtime/limits.h"
#include "trireme/tensor.h"

namespace trireme {

// The values of the parameters of a Program. A parameter gets its first value at its first use. Its
// memory then stays at one address during the lifetime of the store.
class ParameterStore {
 public:
  // `limits` counts the memory of parameters.
  ParameterStore(std::uint64_t seed, std::shared_ptr<runtime::Limits> limits)
      : seed_(seed), limits_(std::move(limits)) {}

  // From now on, parameters that `program`, the Program of another store, has with the same name
  // and type are those of that store. Call it before the first use.
  void share(std::shared_ptr<ParameterStore> store, std::shared_ptr<const ir::Program> program);

  Tensor& get(const ir::Parameter& parameter);
  void set(const ir::Parameter& parameter, const Tensor& value);  // copies. Errors: usage

  // Changes whenever a parameter may have changed, so that values derived from parameters are
  // computed again.
  std::uint64_t version() const { return version_ + (other_ ? other_->version() : 0); }
  void changed();

 private:
  void count(const ir::Type& type) const;
  // The parameter in the other store; null if it is not shared.
  const ir::Parameter* shared(const ir::Parameter& parameter) const;

  std::uint64_t seed_;
  std::shared_ptr<runtime::Limits> limits_;
  std::shared_ptr<ParameterStore> other_;
  std::shared_ptr<const ir::Program> other_program_;
  std::uint64_t version_ = 1;
  std::map<std::string, Tensor, std::less<>> values_;
};

// Errors: not_found with the nearest name.
const ir::Parameter& find_parameter(const ir::Program& program, std::string_view name);

}  // namespace trireme
