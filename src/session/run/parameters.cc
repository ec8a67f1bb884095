#include "session/run/parameters.h"

#include <fmt/core.h>

#include <cstring>

#include "base/error.h"
#include "nn/initialize.h"

namespace trireme {

void ParameterStore::share(std::shared_ptr<ParameterStore> store,
                           std::shared_ptr<const ir::Program> program) {
  other_ = std::move(store);
  other_program_ = std::move(program);
}

const ir::Parameter* ParameterStore::shared(const ir::Parameter& parameter) const {
  if (other_ == nullptr) return nullptr;
  const ir::Parameter* found = other_program_->find_parameter(parameter.name());
  const bool same = found != nullptr && found->value->type.dtype == parameter.value->type.dtype &&
                    found->value->type.shape == parameter.value->type.shape;
  return same ? found : nullptr;
}

void ParameterStore::changed() {
  ++version_;
  if (other_ != nullptr) other_->changed();
}

Tensor& ParameterStore::get(const ir::Parameter& parameter) {
  if (const ir::Parameter* other = shared(parameter)) return other_->get(*other);
  const auto found = values_.find(parameter.name());
  if (found != values_.end()) return found->second;
  count(parameter.value->type);
  return values_.emplace(parameter.name(), nn::initialize(parameter, seed_)).first->second;
}

void ParameterStore::count(const ir::Type& type) const {
  limits_->allocate(type.dtype, evaluate(type.shape, {}));
}

void ParameterStore::set(const ir::Parameter& parameter, const Tensor& value) {
  const ir::Type& type = parameter.value->type;
  if (value.dtype() != type.dtype || value.shape() != evaluate(type.shape, {})) {
    fail_usage(fmt::format("parameter \"{}\" is {}, but the value given is {}", parameter.name(),
                           type.str(), value.type_str()));
  }
  changed();
  if (const ir::Parameter* other = shared(parameter)) return other_->set(*other, value);
  const auto found = values_.find(parameter.name());
  if (found == values_.end()) {
    count(type);
    values_.emplace(parameter.name(), value.clone());
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
