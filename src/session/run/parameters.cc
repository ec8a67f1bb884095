#include "session/run/parameters.h"

#include <fmt/core.h>

#include <cstring>

#include "base/error.h"
#include "nn/initialize.h"

namespace trireme {

ParameterStore::ParameterStore(std::shared_ptr<const ir::Program> program, std::uint64_t seed,
                               std::shared_ptr<runtime::Limits> limits,
                               std::shared_ptr<ParameterStore> other)
    : ParameterStore(std::move(program), seed, std::move(limits)) {
  other_ = std::move(other);
  version_ = other_->version_;
}

const ir::Parameter* ParameterStore::shared(const ir::Parameter& parameter) const {
  if (other_ == nullptr) return nullptr;
  const ir::Parameter* found = other_->program_->find_parameter(parameter.name());
  return found != nullptr && found->value->type == parameter.value->type ? found : nullptr;
}

Tensor& ParameterStore::add(const ir::Parameter& parameter, Tensor value) {
  return values_.emplace(parameter.name(), std::move(value)).first->second;
}

Tensor& ParameterStore::get(const ir::Parameter& parameter) {
  const std::scoped_lock lock(mutex_);
  const auto found = values_.find(parameter.name());
  if (found != values_.end()) return found->second;
  if (const ir::Parameter* same = shared(parameter)) return add(parameter, other_->get(*same));
  const ir::Type& type = parameter.value->type;
  limits_->allocate(type.dtype, evaluate(type.shape, {}));
  return add(parameter, nn::initialize(parameter, seed_));
}

void ParameterStore::set(const ir::Parameter& parameter, const Tensor& value) {
  const ir::Type& type = parameter.value->type;
  if (value.dtype() != type.dtype || value.shape() != evaluate(type.shape, {})) {
    fail_usage(fmt::format("parameter \"{}\" is {}, but the value given is {}", parameter.name(),
                           type.str(), value.type_str()));
  }
  changed();
  const std::scoped_lock lock(mutex_);
  auto found = values_.find(parameter.name());
  if (found == values_.end()) {
    const ir::Parameter* same = shared(parameter);
    if (same != nullptr) {
      other_->set(*same, value);
      add(parameter, other_->get(*same));
      return;
    }
    limits_->allocate(type.dtype, value.shape());
    add(parameter, value.clone());
  } else if (value.size_bytes() > 0) {
    std::memmove(found->second.bytes(), value.bytes(), value.size_bytes());
  }
}

const ir::Parameter& find_parameter(const ir::Program& program, std::string_view name) {
  if (const ir::Parameter* parameter = program.find_parameter(name)) return *parameter;
  std::vector<std::string> names;
  for (const auto& parameter : program.parameters()) names.push_back(parameter->name());
  const std::string near = nearest(std::string(name), names);
  fail(ErrorKind::not_found, fmt::format("{} has no parameter \"{}\"{}", program.name, name,
                                         near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

}  // namespace trireme
