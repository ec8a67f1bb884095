#include <fmt/core.h>

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
  std::vector<Value> parameters;
  for (ir::Value* parameter : wanted) parameters.emplace_back(parameter);
  std::vector<nn::Gradient> gradients;
  for (const auto& found : transforms::gradients_by_rows(loss.get(), wanted)) {
    gradients.push_back({Value(found.values), Value(found.rows)});
  }
  nn::apply_updates(optimizer, parameters, gradients, options);
}

}  // namespace trireme
