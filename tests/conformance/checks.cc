#include "checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/number_text.h"
#include "base/philox.h"

namespace trireme::conformance {
namespace {

constexpr double kGradientTolerance = 1e-6;

std::vector<const ir::Value*> all_outputs(const Case& c) {
  std::vector<const ir::Value*> values(c.results.begin(), c.results.end());
  values.insert(values.end(), c.gradients.begin(), c.gradients.end());
  return values;
}

// As the first run of a Session.
ops::EvaluateOptions options() { return {.training = true, .run_seed = seed_of_run(kSeed, 0)}; }

double loss_of(const Case& c, const ops::RefTensors& inputs) {
  ops::RefTensors parameters;
  return ops::evaluate(c.program->ir(), inputs, parameters, {c.loss}, options())[0].data[0];
}

// Returns the derivative of the loss with respect to element `i` of input `name`.
double central_difference(const Case& c, const Run& run, const std::string& name, std::size_t i) {
  ops::RefTensors inputs = run.inputs;
  double& x = inputs.at(name).data[i];
  const double at = x, step = 1e-5 * std::max(1.0, std::abs(at));
  x = at + step;
  const double above = loss_of(c, inputs);
  x = at - step;
  const double below = loss_of(c, inputs);
  return (above - below) / (2 * step);
}

}  // namespace

std::vector<ops::RefTensor> expected_of(const Case& c, const Run& run) {
  ops::RefTensors parameters = run.parameters;
  return ops::evaluate(c.program->ir(), run.inputs, parameters, all_outputs(c), options());
}

double distance(const ops::RefTensor& a, const ops::RefTensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.shape != b.shape) return kInfinity;
  double largest = 0, worst = 0;
  for (double x : b.data) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  const double least = largest > 0 ? std::min(1.0, largest) : 1.0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const double x = a.data[i], y = b.data[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) return kInfinity;
    worst = std::max(worst, std::abs(x - y) / std::max(std::abs(y), least));
  }
  return worst;
}

void check_gradient(const Case& c, const Run& run, const std::vector<ops::RefTensor>& expected,
                    std::size_t most, Column& column) {
  if (!c.loss || !c.check_gradient) return;
  ++column.cases;
  for (std::size_t g = 0; g < c.gradients.size(); ++g) {
    const ops::RefTensor& gradient = expected[c.results.size() + g];
    const std::string& name = c.wanted[g]->name;
    double scale = 1;
    for (double x : gradient.data) scale = std::max(scale, std::abs(x));
    const std::size_t stride = 1 + gradient.data.size() / most;
    for (std::size_t i = 0; i < gradient.data.size(); i += stride) {
      const double measured = central_difference(c, run, name, i);
      const double error = std::abs(measured - gradient.data[i]) / scale;
      column.worst = std::max(column.worst, error);
      if (error <= kGradientTolerance) continue;
      column.fail(run.label + ": the derivative with respect to " + name + "[" + std::to_string(i) +
                  "] is " + float_text(measured) + " by central differences, but the gradient is " +
                  float_text(gradient.data[i]));
      return;
    }
  }
}

}  // namespace trireme::conformance
