// The sets of updates of a Program: which ops and which state belong to them.

#include <algorithm>

#include "base/error.h"
#include "ir/program.h"

namespace trireme::ir {
namespace {

constexpr std::string_view kRoot = kOptimizerLayer;

}  // namespace

std::string layer_of_updates(std::string_view name) {
  std::string layer(kRoot);
  return name.empty() ? layer : layer + "." + std::string(name);
}

std::optional<std::string_view> update_of(const Op& op) {
  const std::string_view layer = op.location.layer;
  const std::string_view root = layer.substr(0, layer.find('/'));
  if (root == kRoot) return "";
  if (!root.starts_with(kRoot) || root[kRoot.size()] != '.') return std::nullopt;
  return root.substr(kRoot.size() + 1);
}

std::vector<std::string> names_of_updates(const Program& program) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  for (const UpdateSet& set : program.updates) add(set.name);
  for (const auto& op : program.main().ops) {
    if (!op->has(Trait::side_effect)) continue;
    if (const auto name = update_of(*op)) add(*name);
  }
  return names;
}

const UpdateSet* find_updates(const Program& program, std::string_view name) {
  for (const UpdateSet& set : program.updates) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

std::string place_of_updates(const Program& program, std::string_view name) {
  if (const UpdateSet* set = find_updates(program, name)) return set->place;
  const std::vector<std::string> names = names_of_updates(program);
  return std::find(names.begin(), names.end(), name) == names.end() ? "" : "in its text";
}

std::string_view owner_of_state(const Program& program, std::string_view state) {
  const Parameter* itself = program.find_parameter(state);
  if (itself != nullptr && itself->trainable) return itself->name();
  const std::size_t slash = state.find('/');
  if (slash != std::string_view::npos && state.starts_with(std::string(kRoot) + ".")) {
    state = state.substr(slash + 1);
  }
  std::string_view owner;
  for (const auto& parameter : program.parameters()) {
    const std::string& name = parameter->name();
    if (!parameter->trainable || name.size() < owner.size()) continue;
    const bool below = state.size() > name.size() && state[name.size()] == '.';
    if (below && state.starts_with(name)) owner = name;
  }
  return owner;
}

void require_updates(const Program& program, std::string_view name, const char* function) {
  const std::vector<std::string> names = names_of_updates(program);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string text = std::string(function) + ": the Program \"" + program.name +
                     "\" has no updates \"" + std::string(name) + "\"";
  if (names.empty()) fail_usage(text + "\n  hint   minimize() adds updates");
  text += "; its updates are ";
  for (const std::string& each : names)
    text += (&each == names.data() ? "\"" : ", \"") + each + "\"";
  fail_usage(text);
}

}  // namespace trireme::ir
