#include <fmt/format.h>

#include "base/error.h"
#include "ir/program.h"
#include "transforms/autodiff.h"
#include "trireme/trainer.h"

namespace trireme {

void minimize(Value loss, const Optimizer& optimizer, const UpdateOptions& options) {
  if (!loss) fail_usage("minimize: the loss is empty");
  ir::Program& program = *loss.get()->program;
  std::vector<ir::Value*> wanted;
  for (const auto& parameter : program.parameters()) {
    if (parameter->trainable && !parameter->settings.frozen)
      wanted.push_back(parameter->value.get());
  }
  if (wanted.empty()) {
    fail_usage(
        fmt::format("minimize: {} has no trainable parameter that is not frozen", program.name));
  }
  const std::vector<ir::Value*> found = transforms::gradients(loss.get(), wanted);
  std::vector<Value> parameters, gradients;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    parameters.emplace_back(wanted[i]);
    gradients.emplace_back(found[i]);
  }
  nn::apply_updates(optimizer, parameters, gradients, options);
}

}  // namespace trireme
