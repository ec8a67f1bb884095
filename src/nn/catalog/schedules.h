#pragma once

// The learning-rate schedules that a job file may name. Jobs count epochs; a Schedule counts
// updates.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nn/catalog/field.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

struct ScheduleContext {
  double rate = 0;
  std::int64_t updates = 0;            // of the whole training, without the warm-up
  std::int64_t updates_per_epoch = 0;  // at least 1
  std::function<bool(const std::string& metric)> higher_is_better = {};
};

// Of all schedules.
struct WarmupOptions {
  std::int64_t warmup_steps = 0;
};
template <class Visit>
void fields(Visit& visit, WarmupOptions& o) {
  visit({"warmup_steps", "a straight line up to `learning_rate`, before the schedule", kNotNegative,
         false, "", "updates"},
        o.warmup_steps);
}

struct CosineSchedule {
  double last = 0;
};
template <class Visit>
void fields(Visit& visit, CosineSchedule& o) {
  visit({"last", "rate at the end"}, o.last);
}
struct PolynomialSchedule {
  double last = 0, power = 1;
};
template <class Visit>
void fields(Visit& visit, PolynomialSchedule& o) {
  visit({"last", "rate at the end"}, o.last);
  visit({"power", "1: a straight line"}, o.power);
}
struct StepDecaySchedule {
  std::int64_t every_epochs = 1;
  double factor = 0.1;
};
template <class Visit>
void fields(Visit& visit, StepDecaySchedule& o) {
  visit({"every_epochs", "length of a step", {.min = 1}, false, "", "epochs"}, o.every_epochs);
  visit({"factor", "of the rate after each step"}, o.factor);
}
struct MultiStepSchedule {
  std::vector<std::int64_t> epochs = {};
  double factor = 0.1;
};
template <class Visit>
void fields(Visit& visit, MultiStepSchedule& o) {
  visit({"epochs", "when the rate changes, such as `[80, 120]`", kExtent, true, "", "epochs"},
        o.epochs);
  visit({"factor", "of the rate after each of these epochs"}, o.factor);
}
struct ExponentialSchedule {
  double factor = 0.999;
};
template <class Visit>
void fields(Visit& visit, ExponentialSchedule& o) {
  visit({"factor", "of the rate after each update"}, o.factor);
}
struct OneCycleSchedule {
  double rise = 0.3, start_divisor = 25, last_divisor = 1e4;
};
template <class Visit>
void fields(Visit& visit, OneCycleSchedule& o) {
  visit({"rise", "share of the updates up to the peak, which is `learning_rate`"}, o.rise);
  visit({"start_divisor", "the first rate is the peak divided by it"}, o.start_divisor);
  visit({"last_divisor", "the last rate is the first one divided by it"}, o.last_divisor);
}
struct InverseSqrtSchedule {
  std::int64_t steps = 4000;
};
template <class Visit>
void fields(Visit& visit, InverseSqrtSchedule& o) {
  visit({"steps", "up to the peak, which is `learning_rate`", {.min = 1}, false, "", "updates"},
        o.steps);
}
struct CyclicSchedule {
  double low = 0;
  std::int64_t rise_epochs = 1, fall_epochs = 0;
  double cycle_factor = 1, step_factor = 1;
};
template <class Visit>
void fields(Visit& visit, CyclicSchedule& o) {
  visit({"low", "rate at both ends of a cycle; its peak is `learning_rate`", kNotNegative}, o.low);
  visit({"rise_epochs", "up to the peak", {.min = 1}, false, "", "epochs"}, o.rise_epochs);
  visit({"fall_epochs", "down again; 0: `rise_epochs`", kExtent, false, "", "epochs"},
        o.fall_epochs);
  visit({"cycle_factor", "of the height above `low` after each cycle", kNotNegative},
        o.cycle_factor);
  visit({"step_factor", "of the height above `low` after each update", kNotNegative},
        o.step_factor);
}
struct CosineRestartsSchedule {
  std::int64_t epochs = 10, growth = 1;
  double last = 0, factor = 1;
};
template <class Visit>
void fields(Visit& visit, CosineRestartsSchedule& o) {
  visit({"epochs", "length of the first cycle", {.min = 1}, false, "", "epochs"}, o.epochs);
  visit({"growth", "the length of a cycle, divided by that of the one before", {.min = 1}},
        o.growth);
  visit({"last", "rate at the end of each cycle", kNotNegative}, o.last);
  visit({"factor", "of the height above `last` after each cycle", kNotNegative}, o.factor);
}
struct PiecewiseConstantSchedule {
  std::vector<std::int64_t> epochs = {};
  std::vector<double> rates = {};
};
template <class Visit>
void fields(Visit& visit, PiecewiseConstantSchedule& o) {
  visit({"epochs", "when the rate changes, such as `[80, 120]`", kExtent, true, "", "epochs"},
        o.epochs);
  visit(
      {"rates", "the rate from each of these epochs on, after `learning_rate`", kNotNegative, true},
      o.rates);
}
struct PlateauSchedule {
  Plateau plateau = {};
  std::optional<bool> higher_is_better = {};
};
template <class Visit>
void fields(Visit& visit, PlateauSchedule& o) {
  visit({"factor", "of the rate at each plateau"}, o.plateau.factor);
  visit({"patience", "evaluations without improvement", kExtent, false, "", "epochs"},
        o.plateau.patience);
  visit({"threshold", "smallest relative change that counts"}, o.plateau.threshold);
  visit({"cooldown", "evaluations after a change that do not count", kExtent, false, "", "epochs"},
        o.plateau.cooldown);
  visit({"min_factor", "lower limit of the product of all factors"}, o.plateau.min_factor);
  visit({"metric", "metric to follow"}, o.plateau.metric);
  visit({"higher_is_better", "whether a larger metric is better", kAny, false, "the metric's"},
        o.higher_is_better);
}

// Calls visit(Entry, options, make) for every schedule, where make(options, context) returns it.
template <class Visit>
void for_each_schedule(Visit&& visit) {
  using C = ScheduleContext;
  visit({"constant", "Always `learning_rate`"}, NoOptions{},
        [](const NoOptions&, const C& c) { return Schedule(c.rate); });
  visit({"cosine", "Half a cosine down to `last`"}, CosineSchedule{},
        [](const CosineSchedule& o, const C& c) {
          return Schedule::cosine(c.rate, c.updates, o.last);
        });
  visit({"step_decay", "Times `factor` every few epochs"}, StepDecaySchedule{},
        [](const StepDecaySchedule& o, const C& c) {
          return Schedule::step_decay(c.rate, o.every_epochs * c.updates_per_epoch, o.factor);
        });
  visit({"multi_step", "Times `factor` at given epochs"}, MultiStepSchedule{},
        [](const MultiStepSchedule& o, const C& c) {
          std::vector<std::int64_t> updates = o.epochs;
          for (std::int64_t& update : updates) update *= c.updates_per_epoch;
          return Schedule::multi_step(c.rate, updates, o.factor);
        });
  visit({"exponential", "Times `factor` after each update"}, ExponentialSchedule{},
        [](const ExponentialSchedule& o, const C& c) {
          return Schedule::exponential(c.rate, o.factor);
        });
  visit({"polynomial", "Down to `last` along a power"}, PolynomialSchedule{},
        [](const PolynomialSchedule& o, const C& c) {
          return Schedule::polynomial(c.rate, c.updates, o.last, o.power);
        });
  visit({"one_cycle", "Up to the peak and down again"}, OneCycleSchedule{},
        [](const OneCycleSchedule& o, const C& c) {
          return Schedule::one_cycle(c.rate, c.updates, o.rise, o.start_divisor, o.last_divisor);
        });
  visit({"inverse_sqrt", "Up to the peak, then by the inverse square root of the update"},
        InverseSqrtSchedule{}, [](const InverseSqrtSchedule& o, const C& c) {
          return Schedule::inverse_sqrt(c.rate, o.steps);
        });
  visit({"cyclic", "Up and down along straight lines, again and again"}, CyclicSchedule{},
        [](const CyclicSchedule& o, const C& c) {
          return Schedule::cyclic(o.low, c.rate, o.rise_epochs * c.updates_per_epoch,
                                  o.fall_epochs * c.updates_per_epoch, o.cycle_factor,
                                  o.step_factor);
        });
  visit({"cosine_restarts", "Half a cosine down to `last`, then again from the start"},
        CosineRestartsSchedule{}, [](const CosineRestartsSchedule& o, const C& c) {
          return Schedule::cosine_restarts(c.rate, o.epochs * c.updates_per_epoch, o.growth, o.last,
                                           o.factor);
        });
  visit({"piecewise_constant", "Given rates from given epochs on"}, PiecewiseConstantSchedule{},
        [](const PiecewiseConstantSchedule& o, const C& c) {
          std::vector<std::int64_t> updates = o.epochs;
          for (std::int64_t& update : updates) update *= c.updates_per_epoch;
          std::vector<double> rates = o.rates;
          rates.insert(rates.begin(), c.rate);
          return Schedule::piecewise_constant(rates, updates);
        });
  visit({"plateau", "Times `factor` after more than `patience` epochs without improvement"},
        PlateauSchedule{}, [](const PlateauSchedule& o, const C& c) {
          Plateau plateau = o.plateau;
          plateau.higher_is_better =
              o.higher_is_better.value_or(c.higher_is_better(plateau.metric));
          return Schedule(c.rate).on_plateau(plateau);
        });
}

}  // namespace trireme::nn
