#include "session/run/state_names.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "base/error.h"

namespace trireme {
namespace {

void add_read(const ir::Block& block, std::set<const ir::Value*>& read,
              std::set<const ir::Value*>& read_by_updates) {
  for (const auto& op : block.ops) {
    auto& readers = ir::update_of(*op) ? read_by_updates : read;
    readers.insert(op->operands.begin(), op->operands.end());
    for (const auto& nested : op->blocks) add_read(*nested, read, read_by_updates);
  }
  read.insert(block.results.begin(), block.results.end());
}

// "encoder/linear_0.weight" is the tensor "weight" of the layer "encoder/linear_0", and
// "encoder/scale" the tensor "scale" of the layer "encoder".
struct Place {
  std::string_view layer, tensor;
  char separator;  // between the two; 0 without a layer
};

Place place_of(std::string_view name) {
  const std::size_t slash = name.rfind('/'), dot = name.rfind('.');
  const std::size_t from = slash == std::string_view::npos ? 0 : slash;
  const std::size_t end = dot == std::string_view::npos || dot < from ? slash : dot;
  if (end == std::string_view::npos) return {"", name, 0};
  return {name.substr(0, end), name.substr(end + 1), name[end]};
}

// The path without its last step; empty for a path of one step.
std::string_view around(std::string_view layer) {
  const std::size_t slash = layer.rfind('/');
  return slash == std::string_view::npos ? "" : layer.substr(0, slash);
}

std::string joined(const std::string& path, const std::string& step, char separator) {
  if (path.empty() || step.empty()) return path + step;
  return path + separator + step;
}

}  // namespace

std::vector<const ir::Parameter*> network_parameters(const ir::Program& program) {
  std::set<const ir::Value*> read, read_by_updates;
  add_read(program.main(), read, read_by_updates);
  std::vector<const ir::Parameter*> result;
  for (const auto& parameter : program.parameters()) {
    const ir::Value* value = parameter->value.get();
    const bool only_updates = read_by_updates.contains(value) && !read.contains(value);
    if (parameter->trainable || !only_updates) result.push_back(parameter.get());
  }
  return result;
}

StateNames::StateNames(const ir::Program& program, const LoadOptions& options)
    : program_(program), options_(options) {
  if (options.layout == Layout::torch && !program.torch.recorded) {
    fail_usage(
        "load_state_dict: the layers of a Program that was parsed have no names of PyTorch\n"
        "  hint   build the network with trireme/nn.h, load into it, and then save it");
  }
  for (const auto& [module, layer] : options.modules) {
    if (!module_of_.emplace(layer, module).second) {
      fail_usage(fmt::format("load_state_dict: two .modules are the layer \"{}\"", layer));
    }
    if (!layer.empty() && !program.has_parameters(layer)) {
      fail_usage(
          fmt::format("load_state_dict: .modules: {} has no layer \"{}\" with parameters"
                      "\n  hint   state_dict() has the names of all layers",
                      program.name, layer));
    }
  }
}

std::string StateNames::prefix_of(std::string_view layer, char separator) const {
  const bool torch = options_.layout == Layout::torch;
  const char step_separator = torch ? '.' : '/';
  std::string path;
  std::string_view outer = layer;
  auto listed = module_of_.find(outer);
  while (listed == module_of_.end() && !outer.empty()) {
    const auto found = program_.torch.modules.find(std::string(outer));
    const bool renamed = torch && found != program_.torch.modules.end();
    const std::string_view above = around(outer);
    const std::string own(above.empty() ? outer : outer.substr(above.size() + 1));
    path = joined(renamed ? found->second : own, path, step_separator);
    outer = above;
    listed = module_of_.find(outer);
  }
  if (listed != module_of_.end()) path = joined(listed->second, path, step_separator);
  if (path.empty()) return path;
  return path + (torch || separator == 0 ? '.' : separator);
}

StateNames::Source StateNames::source_of(const ir::Parameter& parameter) const {
  const Place place = place_of(parameter.name());
  const std::string prefix = prefix_of(place.layer, place.separator);
  Source source{prefix + std::string(place.tensor), {}};
  const auto found = program_.torch.sources.find(parameter.name());
  if (options_.layout != Layout::torch || found == program_.torch.sources.end()) return source;
  source.torch = found->second;
  for (ir::TorchTerm& term : source.torch.terms) {
    if (!term.tensor.empty()) term.tensor = prefix + term.tensor;
  }
  return source;
}

std::vector<std::string> StateNames::ignored() const {
  std::vector<std::string> names;
  if (options_.layout != Layout::torch) return names;
  for (const auto& [layer, tensors] : program_.torch.ignored) {
    for (const std::string& tensor : tensors) names.push_back(prefix_of(layer, '.') + tensor);
  }
  return names;
}

}  // namespace trireme
