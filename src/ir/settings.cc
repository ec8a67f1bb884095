// Optimizer settings of single parameters: conversion to and from attributes, and name patterns.

#include <cmath>

#include "base/error.h"
#include "ir/program.h"

namespace trireme {
namespace ir {
namespace {

struct NumberSetting {
  const char* name;
  double ParameterSettings::* member;
};
// Sorted by name, like attributes.
constexpr NumberSetting kNumberSettings[] = {{"l1", &ParameterSettings::l1},
                                             {"l2", &ParameterSettings::l2},
                                             {"learning_rate", &ParameterSettings::learning_rate},
                                             {"weight_decay", &ParameterSettings::weight_decay}};

}  // namespace

Attributes attributes_of(const ParameterSettings& settings) {
  const ParameterSettings defaults;
  Attributes attributes;
  if (settings.frozen) attributes.push_back({"frozen", true});
  for (const NumberSetting& number : kNumberSettings) {
    if (settings.*number.member != defaults.*number.member) {
      attributes.push_back({number.name, settings.*number.member});
    }
  }
  return attributes;
}

ParameterSettings settings_from(const Attributes& attributes) {
  ParameterSettings settings;
  for (const NamedAttribute& attribute : attributes) {
    const auto* flag = std::get_if<bool>(&attribute.value);
    bool known = attribute.name == "frozen" && flag != nullptr;
    if (known) settings.frozen = *flag;
    for (const NumberSetting& number : kNumberSettings) {
      if (attribute.name != number.name) continue;
      const auto* integer = std::get_if<std::int64_t>(&attribute.value);
      const auto* real = std::get_if<double>(&attribute.value);
      known = integer != nullptr || real != nullptr;
      if (known) settings.*number.member = real ? *real : static_cast<double>(*integer);
    }
    if (!known) {
      fail_usage("a parameter has no setting '" + attribute.name + " = " +
                 print_attribute(attribute.value) +
                 "'; the settings are the numbers l1, l2, learning_rate and weight_decay, and "
                 "frozen = true");
    }
  }
  return settings;
}

void check(const ParameterSettings& settings) {
  for (const NumberSetting& number : kNumberSettings) {
    const double value = settings.*number.member;
    if (!std::isfinite(value) || value < 0) {
      fail_usage("the setting " + std::string(number.name) +
                 " of a parameter must be finite and not negative");
    }
  }
  if (settings.learning_rate == 0) {
    fail_usage(
        "the learning rate of a parameter is multiplied by 0\n  hint   to freeze it, use {.frozen "
        "= true}");
  }
}

bool matches(std::string_view pattern, std::string_view text) {
  // After a mismatch, the last * matches one more character and the rest is tried again.
  std::size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace ir

namespace {

[[noreturn]] void fail_no_parameter(const ir::Program& program, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& parameter : program.parameters()) {
    if (parameter->trainable) names.push_back(parameter->name());
  }
  const std::string near = nearest(std::string(name), names);
  fail(ErrorKind::not_found, program.name + " has no trainable parameter \"" + std::string(name) +
                                 "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

}  // namespace

int Program::configure(std::string_view pattern, const ParameterSettings& settings) {
  ir::check(settings);
  for (const std::string& name : ir::names_of_updates(*ir_)) {
    fail_usage(
        "configure: the updates of the parameters were made before, " +
        ir::place_of_updates(*ir_, name) +
        "\n  hint   call configure() before minimize() or the Trainer; Session::freeze() can "
        "freeze parameters later");
  }
  int count = 0;
  for (const auto& parameter : ir_->parameters()) {
    if (!parameter->trainable || !ir::matches(pattern, parameter->name())) continue;
    parameter->settings = settings;
    ++count;
  }
  if (count == 0) fail_no_parameter(*ir_, pattern);
  return count;
}

ParameterSettings Program::settings(std::string_view name) const {
  const ir::Parameter* parameter = ir_->find_parameter(name);
  if (parameter == nullptr) fail_no_parameter(*ir_, name);
  return parameter->settings;
}

}  // namespace trireme
