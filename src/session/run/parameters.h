#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "ir/program.h"
#include "runtime/limits.h"
#include "trireme/session.h"
#include "trireme/tensor.h"

namespace trireme {

// The values of the parameters of a Program. A parameter gets its first value at its first use. Its
// memory then stays at one address during the lifetime of the store, and of stores that share it.
class ParameterStore {
 public:
  // `limits` counts the memory of parameters.
  ParameterStore(std::shared_ptr<const ir::Program> program, std::uint64_t seed,
                 std::shared_ptr<runtime::Limits> limits)
      : program_(std::move(program)), seed_(seed), limits_(std::move(limits)) {}
  // Shares the parameters of `other` that `program` has with the same name and type.
  ParameterStore(std::shared_ptr<const ir::Program> program, std::uint64_t seed,
                 std::shared_ptr<runtime::Limits> limits, std::shared_ptr<ParameterStore> other);

  Tensor& get(const ir::Parameter& parameter);
  void set(const ir::Parameter& parameter, const Tensor& value);  // copies. Errors: usage

  // Changes whenever a parameter may have changed, also in a store that shares it, so that values
  // derived from parameters are computed again.
  std::uint64_t version() const { return version_->load(); }
  void changed() { version_->fetch_add(1); }

 private:
  // The same parameter of the other store; null if there is none.
  const ir::Parameter* shared(const ir::Parameter& parameter) const;
  Tensor& add(const ir::Parameter& parameter, Tensor value);

  std::shared_ptr<const ir::Program> program_;
  std::uint64_t seed_;
  std::shared_ptr<runtime::Limits> limits_;
  std::shared_ptr<ParameterStore> other_;
  std::shared_ptr<std::atomic<std::uint64_t>> version_ =
      std::make_shared<std::atomic<std::uint64_t>>(1);
  std::mutex mutex_;  // for `values_`: Sessions of several threads may share the store
  std::map<std::string, Tensor, std::less<>> values_;
};

// For functions of this folder that are no members of Session.
struct SessionAccess {
  static const ir::Program& program(const Session& session);
  static ParameterStore& parameters(const Session& session);
};

// Errors: not_found with the nearest name.
const ir::Parameter& find_parameter(const ir::Program& program, std::string_view name);

}  // namespace trireme
