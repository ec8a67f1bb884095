// Losses of single elements: regression, binary classification, distributions, and overlap of sets.

#include <cmath>
#include <string>

#include "nn/losses.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

// Returns 1 for target 1 and -1 for target 0.
Value sign_of(const Value& target) { return target * 2.0 - 1.0; }

Value margin_shortfall(const char* what, const Value& x, const Value& target, double margin) {
  require_same(what, x, target);
  return maximum(margin - sign_of(target) * x, 0.0);
}

// log(t!) for t > 1 by Stirling's formula. The maximum keeps the logarithm finite for unused t.
Value stirling(const Value& target) {
  const Value t = maximum(target, 1.0);
  const Value term = t * log(t) - t + 0.5 * log(t * (2 * M_PI));
  return trireme::where(1.0 < target, term, 0.0);
}

}  // namespace

Value smooth_l1(const Value& x, const Value& target, SmoothL1Options options,
                SourceLocation where) {
  const LocationScope at(x, "smooth_l1", where);
  require_same("smooth_l1", x, target);
  require_option(options.beta > 0, "smooth_l1", "beta must be above 0", x);
  const Value d = x - target;
  const Value size = abs(d), is_small = size < options.beta;
  const Value small = trireme::where(is_small, d, 0.0);  // its square does not overflow
  return trireme::where(is_small, small * small * (0.5 / options.beta), size - options.beta / 2);
}

Value hinge(const Value& x, const Value& target, HingeOptions options, SourceLocation where) {
  const LocationScope at(x, "hinge", where);
  return margin_shortfall("hinge", x, target, options.margin);
}

Value squared_hinge(const Value& x, const Value& target, HingeOptions options,
                    SourceLocation where) {
  const LocationScope at(x, "squared_hinge", where);
  const Value shortfall = margin_shortfall("squared_hinge", x, target, options.margin);
  return shortfall * shortfall;
}

// With z = (2 target - 1) x, p_t is sigmoid(z). So -log p_t is softplus(-z), and log(1 - p_t) is
// -softplus(z). Nothing overflows, and no power of 0 is computed.
Value focal(const Value& x, const Value& target, FocalOptions options, SourceLocation where) {
  const LocationScope at(x, "focal", where);
  require_same("focal", x, target);
  require_option(options.gamma >= 0, "focal", "gamma must not be negative", x);
  require_option(options.alpha >= 0 && options.alpha <= 1, "focal", "alpha must be in [0, 1]", x);
  const Value z = sign_of(target) * x;
  const Value weight = target * (2 * options.alpha - 1) + (1 - options.alpha);
  return weight * exp(softplus(z, where) * -options.gamma) * softplus(-z, where);
}

Value dice(const Value& probability, const Value& target, DiceOptions options,
           SourceLocation where) {
  const LocationScope at(probability, "dice", where);
  require_same("dice", probability, target);
  require_option(probability.rank() >= 2, "dice",
                 "the value needs axes after the batch to compute the overlap over", probability);
  require_option(options.smooth >= 0, "dice", "smooth must not be negative", probability);
  const std::vector<std::int64_t> axes = axes_but(0, probability.rank());
  const Value overlap = sum(probability * target, {.axes = axes});
  const Value sizes = sum(probability, {.axes = axes}) + sum(target, {.axes = axes});
  return 1.0 - (overlap * 2.0 + options.smooth) / (sizes + options.smooth);
}

Value kl_divergence(const Value& log_q, const Value& p, KlDivergenceOptions options,
                    SourceLocation where) {
  const LocationScope at(log_q, "kl_divergence", where);
  require_same("kl_divergence", log_q, p);
  if (options.log_target) return exp(p) * (p - log_q);
  constexpr double kTiny = 1e-37;  // the logarithm must be finite also where it is not selected
  return trireme::where(0.0 < p, p * (log(maximum(p, kTiny)) - log_q), 0.0);
}

Value poisson_nll(const Value& x, const Value& target, PoissonNllOptions options,
                  SourceLocation where) {
  const LocationScope at(x, "poisson_nll", where);
  require_same("poisson_nll", x, target);
  const Value nll = options.log_input ? exp(x) - target * x : x - target * log(x + options.epsilon);
  return options.full ? nll + stirling(target) : nll;
}

// Where the variance is below epsilon, it is replaced by a value that is epsilon and has the
// gradient of the variance, so that training can enlarge it.
Value gaussian_nll(const Value& x, const Value& target, const Value& variance,
                   GaussianNllOptions options, SourceLocation where) {
  const LocationScope at(x, "gaussian_nll", where);
  require_same("gaussian_nll", x, target);
  require_same("gaussian_nll", x, variance);
  require_option(options.epsilon > 0, "gaussian_nll", "epsilon must be above 0", x);
  const Value raised = (variance - stop_gradient(variance)) + options.epsilon;
  const Value v = trireme::where(variance < options.epsilon, raised, variance);
  const Value d = x - target;
  const Value nll = (log(v) + d * d / v) * 0.5;
  return options.full ? nll + 0.5 * std::log(2 * M_PI) : nll;
}

}  // namespace trireme::nn
