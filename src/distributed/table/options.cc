#include "distributed/table/options.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"

namespace trireme::distributed {

RowRule RowRule::adagrad(double initial, double epsilon) {
  RowRule rule;
  rule.kind = Kind::adagrad;
  rule.initial = initial;
  rule.epsilon = epsilon;
  return rule;
}

RowRule RowRule::adam(double beta1, double beta2, double epsilon) {
  RowRule rule;
  rule.kind = Kind::adam;
  rule.beta1 = beta1;
  rule.beta2 = beta2;
  rule.epsilon = epsilon;
  return rule;
}

RowRule RowRule::ftrl(double beta, double l1, double l2, double initial) {
  RowRule rule;
  rule.kind = Kind::ftrl;
  rule.beta = beta;
  rule.l1 = l1;
  rule.l2 = l2;
  rule.initial = initial;
  return rule;
}

int state_width(const RowRule& rule, int width) {
  switch (rule.kind) {
    case RowRule::Kind::sgd: return 0;
    case RowRule::Kind::adagrad: return width;
    case RowRule::Kind::adam:
    case RowRule::Kind::ftrl: return 2 * width;
  }
  return 0;
}

void check_options(const TableOptions& options) {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) fail_usage(fmt::format("sparse table '{}': {}", options.name, what));
  };
  const RowRule& rule = options.rule;
  require(!options.name.empty(), "a table needs a name; its rows' initial values depend on it");
  require(options.width >= 1 && options.width <= 65536,
          fmt::format("width {} is not in 1 to 65536", options.width));
  require(options.admission >= 1 && options.admission <= 65535,
          fmt::format("admission {} is not in 1 to 65535", options.admission));
  require(options.decay > 0 && options.decay <= 1,
          fmt::format("decay {} is not above 0 and at most 1", options.decay));
  require(rule.initial >= 0 && std::isfinite(rule.initial),
          fmt::format("the state's initial value {} is negative or not finite", rule.initial));
  require(rule.epsilon >= 0 && std::isfinite(rule.epsilon),
          fmt::format("epsilon {} is negative or not finite", rule.epsilon));
  if (rule.kind == RowRule::Kind::adam) {
    require(rule.beta1 >= 0 && rule.beta1 < 1 && rule.beta2 >= 0 && rule.beta2 < 1,
            fmt::format("betas {} and {} are not in [0, 1)", rule.beta1, rule.beta2));
  }
  if (rule.kind == RowRule::Kind::ftrl) {
    require(rule.beta >= 0 && rule.l1 >= 0 && rule.l2 >= 0,
            fmt::format("beta {}, l1 {} and l2 {} of FTRL must not be negative", rule.beta, rule.l1,
                        rule.l2));
  }
  const RowInitializer& initializer = options.initializer;
  require(std::isfinite(initializer.low) && std::isfinite(initializer.high),
          "the initializer's numbers are not finite");
  require(
      initializer.kind != RowInitializer::Kind::uniform || initializer.low <= initializer.high,
      fmt::format("the initializer's range [{}, {}) is empty", initializer.low, initializer.high));
  require(initializer.kind != RowInitializer::Kind::normal || initializer.high >= 0,
          fmt::format("the initializer's standard deviation {} is negative", initializer.high));
  require(options.disk.folder.empty() || options.memory_limit != 0,
          "a folder for cold rows has no effect without a memory limit");
}

}  // namespace trireme::distributed
