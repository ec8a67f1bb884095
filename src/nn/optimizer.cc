#include "trireme/optimizer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/builder.h"
#include "nn/updates.h"

namespace trireme::nn {
namespace {

constexpr const char* kLayer = ir::kOptimizerLayer;

template <class Options, class... Others>
constexpr bool is_one_of = (std::is_same_v<Options, Others> || ...);

// Whether the rule needs the number of the step.
template <class Options>
constexpr bool counts_steps = is_one_of<Options, Adam, AdamW, Adamax, Lamb, NAdam, RAdam, Adafactor,
                                        Muon, ScheduleFreeSgd, ScheduleFreeAdamW>;

// Whether the rule applies weight_decay itself instead of adding it to the gradient.
template <class Options>
constexpr bool has_decoupled_decay =
    is_one_of<Options, AdamW, Lamb, Lion, Lars, Adafactor, Muon, ScheduleFreeAdamW>;

template <class Options>
constexpr bool is_schedule_free = is_one_of<Options, ScheduleFreeSgd, ScheduleFreeAdamW>;

void require(bool holds, const char* what) {
  if (!holds) fail_usage(std::string("optimizer: ") + what);
}

bool is_rate(double rate) { return std::isfinite(rate) && rate >= 0; }

void check(const Schedule& schedule) {
  require(
      is_rate(schedule.rate) && std::all_of(schedule.rates.begin(), schedule.rates.end(), is_rate),
      "the learning rate must be a finite number, at least 0");
  require(is_rate(schedule.factor) && is_rate(schedule.last) && is_rate(schedule.power),
          "the factor, the last rate and the power of a schedule must be finite numbers, at least "
          "0");
  for (const Schedule& part : schedule.parts) check(part);
}

// Rates of running means must be in [0, 1); other options only must not be negative.
template <class Options>
void check(const Options& o) {
  require(o.clip.value >= 0 && o.clip.norm >= 0 && o.clip.global_norm >= 0,
          "limits of gradients must not be negative");
  check(o.learning_rate);
  const auto in_range = [](double keep) { return keep >= 0 && keep < 1; };
  if constexpr (requires { o.beta2; }) {
    require(in_range(o.beta1) && in_range(o.beta2), "beta1 and beta2 must be in [0, 1)");
  }
  if constexpr (requires { o.decay; }) require(in_range(o.decay), "decay must be in [0, 1)");
  if constexpr (requires { o.epsilon; }) {
    require(o.epsilon >= 0, "epsilon must not be negative");
  }
  if constexpr (requires { o.momentum; }) {
    require(std::isfinite(o.momentum), "momentum must be a finite number");
  }
  if constexpr (is_one_of<Options, Muon, ScheduleFreeSgd>) {
    require(in_range(o.momentum), "momentum must be in [0, 1)");
  }
  if constexpr (std::is_same_v<Options, Muon>) {
    require(o.iterations >= 1, "Muon: there must be at least 1 iteration");
    require(is_rate(o.adamw_factor), "Muon: adamw_factor must be a finite number, at least 0");
  }
  if constexpr (requires { o.initial; }) {
    require(o.initial >= 0, "the initial value of the squares must not be negative");
  }
  if constexpr (requires { o.momentum_decay; }) {
    require(is_rate(o.momentum_decay), "momentum_decay must be a finite number, at least 0");
  }
  if constexpr (std::is_same_v<Options, Rprop>) {
    require(o.decrease > 0 && o.decrease < 1 && o.increase > 1 && std::isfinite(o.increase),
            "Rprop: decrease must be in (0, 1), and increase above 1");
    require(o.min_step >= 0 && o.min_step <= o.max_step,
            "Rprop: min_step must be at least 0 and at most max_step");
    require(o.learning_rate.is_constant(),
            "Rprop: the learning rate is the first step; it cannot be a schedule");
  }
  if constexpr (requires { o.trust; }) require(o.trust > 0, "trust must be above 0");
  if constexpr (requires { o.decay_power; }) {
    require(o.decay_power > 0 && o.threshold > 0, "decay_power and threshold must be above 0");
  }
  if constexpr (requires { o.l1; }) {
    require(o.l1 >= 0 && o.l2 >= 0 && o.beta >= 0, "l1, l2 and beta must not be negative");
    require(o.learning_rate.rate > 0, "FTRL divides by the learning rate: it must be above 0");
  }
}

void check(const UpdateOptions& options) {
  require(options.accumulate >= 1, "accumulate must be at least 1");
  const Value& weight = options.accumulate_weight;
  require(!weight || (weight.rank() == 0 && weight.dtype() != boolean && !is_half(weight.dtype())),
          "accumulate_weight must be a numeric scalar");
  require(options.l1 >= 0 && options.l2 >= 0, "l1 and l2 must not be negative");
}

// Adds the penalties to the gradient.
template <class Options>
void add_penalty(const Options& options, const UpdateOptions& all, Slot& slot) {
  const ParameterSettings& own = slot.settings;
  const double l1 = all.l1 * own.weight_decay + own.l1;
  double l2 = all.l2 * own.weight_decay + own.l2;
  if constexpr (!has_decoupled_decay<Options> && requires { options.weight_decay; }) {
    l2 += options.weight_decay * own.weight_decay;
  }
  if (l2 != 0) slot.g = slot.g + slot.p * l2;
  if (l1 != 0) slot.g = slot.g + sign(slot.p) * l1;
}

// Error(usage) for options that need all rows of the parameter in every step.
template <class Options>
void check_sparse(const Options& options, const UpdateOptions& all, const Slot& slot) {
  const std::string& name = slot.parameter.get()->name;
  const ParameterSettings& own = slot.settings;
  const auto reject_if = [&](bool holds, const std::string& what, const std::string& hint) {
    if (!holds) return;
    fail_usage("optimizer: the gradient of " + name + " is row-sparse, and " + what +
               " would change all its rows in every step\n  hint   " + hint +
               "for a dense gradient, set sparse_gradient = false");
  };
  const double global = all.l1 + all.l2;
  bool decays = false;
  if constexpr (requires { options.weight_decay; }) decays = options.weight_decay != 0;
  reject_if((global != 0 || decays) && own.weight_decay != 0, "weight decay or an l1 or l2 penalty",
            "configure(\"" + name + "\", {.weight_decay = 0}) excludes the table; ");
  reject_if(own.l1 != 0 || own.l2 != 0, "its own l1 or l2", "");
  reject_if(all.accumulate > 1, "accumulating gradients", "");
  reject_if(all.average.kind != Average::Kind::none, "averaging parameters", "");
  reject_if(is_one_of<Options, Lamb>, "LAMB's norm of the parameter", "use Adam instead; ");
  reject_if(is_one_of<Options, Lars>, "LARS's norm of the parameter", "use Momentum instead; ");
  reject_if(is_one_of<Options, Adafactor>, "Adafactor", "use Adam instead; ");
  reject_if(is_schedule_free<Options>, "the average of a schedule-free optimizer",
            "use Adam instead; ");
}

// A slot for rules that are applied elsewhere; p is empty if the gradient is row-sparse.
Slot remote_slot(const Value& parameter, const Gradient& gradient) {
  const ir::Program& program = *parameter.get()->program;
  return {gradient.rows ? Value() : parameter, gradient.values,
          program.parameter_of(parameter.get()).settings, parameter, gradient.rows};
}

Slot slot_of(ir::Program& program, const Value& parameter, const Gradient& gradient) {
  const ParameterSettings& settings = program.parameter_of(parameter.get()).settings;
  if (!gradient.rows) return {parameter, gradient.values, settings, parameter};
  const std::vector<Value> sums = sum_rows(gradient.rows, gradient.values);
  return {gather(parameter, sums[0]), sums[1], settings, parameter, sums[0]};
}

}  // namespace

void apply_updates(const Optimizer& optimizer, const std::vector<Value>& parameters,
                   const std::vector<Value>& gradients, const UpdateOptions& options,
                   SourceLocation where) {
  std::vector<Gradient> dense;
  for (const Value& gradient : gradients) dense.push_back({gradient});
  apply_updates(optimizer, parameters, dense, options, where);
}

void require_no_updates(const ir::Program& program, const std::string& name) {
  if (!name.empty() && (!ir::is_name(name) || name.find('/') != std::string::npos)) {
    fail_usage("minimize: the name of updates \"" + name +
               "\" must have letters, digits, '_', '-' and '.' only, and not begin with a digit");
  }
  const std::string place = ir::place_of_updates(program, name);
  if (place.empty()) return;
  fail_usage("minimize: the Program \"" + program.name + "\" has updates " +
             (name.empty() ? "" : "\"" + name + "\" ") + "already, made " + place +
             "\n  hint   minimize the sum of the losses once, or give updates names of their own: "
             "{.name = \"discriminator\"}");
}

namespace {

template <class Rule>
void apply_rule(const Rule& rule, ir::Program& program, const std::vector<Value>& parameters,
                const std::vector<Gradient>& gradients, const UpdateOptions& options,
                ir::UpdateSet& set) {
  check(rule);
  require(!is_one_of<Rule, Rprop> || !options.adjustable_rate,
          "Rprop: the learning rate is the first step; it cannot be adjustable");
  require(!is_schedule_free<Rule> || options.average.kind == Average::Kind::none,
          "a schedule-free optimizer keeps averages itself; leave out UpdateOptions::average");
  const std::string layer = ir::layer_of_updates(options.name);
  ir::Location location{"", 0, layer};
  const ir::Builder::LocationGuard at(program.builder(), location);
  const Updates updates(program, rule.learning_rate, options, counts_steps<Rule>);
  set.rate = updates.rate().get();
  set.constant_rate = rule.learning_rate.rate;
  set.adjustable = options.adjustable_rate;
  set.divides_by_rate = is_one_of<Rule, Ftrl>;
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (program.parameter_of(parameters[i].get()).settings.frozen) continue;
    Slot slot = slot_of(program, parameters[i], gradients[i]);
    if (slot.rows) check_sparse(rule, options, slot);
    updates.accumulate(slot);
    set.parameters.push_back(
        {parameters[i].get(), gradients[i].values.get(), gradients[i].rows.get(), slot.g.get()});
    slots.push_back(std::move(slot));
  }
  clip(slots, rule.clip);
  for (Slot& slot : slots) {
    const ir::Location& declared = program.parameter_of(slot.parameter.get()).location;
    location = {declared.file, declared.line, layer + "/" + declared.layer};
    add_penalty(rule, options, slot);
    update(rule, updates, slot);
  }
}

}  // namespace

void apply_updates(const Optimizer& optimizer, const std::vector<Value>& parameters,
                   const std::vector<Gradient>& gradients, const UpdateOptions& options,
                   SourceLocation where) {
  if (parameters.empty()) return;
  if (parameters.size() != gradients.size()) {
    fail_usage("apply_updates: there must be one gradient for each parameter");
  }
  check(options);
  ir::Program& program = *parameters.front().get()->program;
  require_no_updates(program, options.name);
  const ir::Location call = program.builder().locate(where);
  ir::UpdateSet set{.name = options.name,
                    .place = "at " + call.file + ":" + std::to_string(call.line)};
  program.updates.push_back(set);  // stays, also if an error leaves a part of the updates
  const ir::Builder::LayerGuard scope(program.builder(), ir::layer_of_updates(options.name));
  std::visit(
      [&](const auto& rule) { apply_rule(rule, program, parameters, gradients, options, set); },
      optimizer);
  program.updates.back() = std::move(set);
}

void limit_gradients(const Optimizer& optimizer, const std::vector<Value>& parameters,
                     std::vector<Gradient>& gradients) {
  const Clip limits = std::visit(
      [](const auto& rule) {
        check(rule);
        return rule.clip;
      },
      optimizer);
  if (parameters.empty() || !limits.any()) return;
  const ir::Builder::LayerGuard scope(parameters.front().get()->program->builder(), kLayer);
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Slot slot = remote_slot(parameters[i], gradients[i]);
    if (slot.rows) {
      const std::vector<Value> sums = sum_rows(slot.rows, slot.g);
      slot.rows = sums[0], slot.g = sums[1];
    }
    slots.push_back(std::move(slot));
  }
  clip(slots, limits);
  for (std::size_t i = 0; i < slots.size(); ++i) gradients[i] = {slots[i].g, slots[i].rows};
}

void add_penalties(const Optimizer& optimizer, const UpdateOptions& options, const Value& parameter,
                   Gradient& gradient) {
  check(options);
  const ir::Builder::LayerGuard scope(parameter.get()->program->builder(), kLayer);
  Slot slot = remote_slot(parameter, gradient);
  std::visit(
      [&](const auto& rule) {
        if (slot.rows) check_sparse(rule, options, slot);
        else add_penalty(rule, options, slot);
      },
      optimizer);
  gradient.values = slot.g;
}

}  // namespace trireme::nn

namespace trireme {

bool keeps_averages(const Optimizer& optimizer) {
  return std::visit([]<class Rule>(const Rule&) { return nn::is_schedule_free<Rule>; }, optimizer);
}

}  // namespace trireme
