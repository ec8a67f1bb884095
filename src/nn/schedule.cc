#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ir/program.h"
#include "nn/schedule.h"
#include "nn/updates.h"
#include "trireme/nn.h"

namespace trireme {
namespace {

constexpr double kPi = 3.141592653589793;

void require_steps(std::int64_t steps, const char* what) {
  if (steps < 1) fail_usage(std::string(what) + ": the number of steps must be at least 1");
}

void require_ascending(const std::vector<std::int64_t>& milestones, const char* what) {
  if (std::is_sorted(milestones.begin(), milestones.end())) return;
  fail_usage(std::string(what) + ": the milestones must be in ascending order");
}

// Of schedules with `count` rates or parts.
void require_milestones(const std::vector<std::int64_t>& milestones, std::size_t count,
                        const char* what, const char* item) {
  require_ascending(milestones, what);
  if (count == milestones.size() + 1) return;
  fail_usage(std::string(what) + ": there must be one " + item + " more than milestones, but " +
             std::to_string(milestones.size()) + " milestones have " + std::to_string(count) + " " +
             item + "s");
}

}  // namespace

Schedule Schedule::step_decay(double rate, std::int64_t every, double factor) {
  require_steps(every, "step_decay");
  Schedule schedule(rate);
  schedule.kind = Kind::step_decay;
  schedule.steps = every;
  schedule.factor = factor;
  return schedule;
}

Schedule Schedule::multi_step(double rate, std::vector<std::int64_t> milestones, double factor) {
  require_ascending(milestones, "multi_step");
  Schedule schedule(rate);
  schedule.kind = Kind::multi_step;
  schedule.milestones = std::move(milestones);
  schedule.factor = factor;
  return schedule;
}

Schedule Schedule::exponential(double rate, double factor) {
  Schedule schedule(rate);
  schedule.kind = Kind::exponential;
  schedule.factor = factor;
  return schedule;
}

Schedule Schedule::cosine(double rate, std::int64_t steps, double last) {
  require_steps(steps, "cosine");
  Schedule schedule(rate);
  schedule.kind = Kind::cosine;
  schedule.steps = steps;
  schedule.last = last;
  return schedule;
}

Schedule Schedule::polynomial(double rate, std::int64_t steps, double last, double power) {
  require_steps(steps, "polynomial");
  Schedule schedule(rate);
  schedule.kind = Kind::polynomial;
  schedule.steps = steps;
  schedule.last = last;
  schedule.power = power;
  return schedule;
}

Schedule Schedule::one_cycle(double peak, std::int64_t steps, double rise, double start_divisor,
                             double last_divisor) {
  require_steps(steps, "one_cycle");
  if (!(rise > 0 && rise < 1)) fail_usage("one_cycle: the rise must be a fraction between 0 and 1");
  if (!(start_divisor > 0 && last_divisor > 0)) {
    fail_usage("one_cycle: the divisors must be above 0");
  }
  Schedule schedule(peak);
  schedule.kind = Kind::one_cycle;
  schedule.steps = steps;
  schedule.power = rise;
  schedule.factor = 1 / start_divisor;
  schedule.last = peak / start_divisor / last_divisor;
  return schedule;
}

Schedule Schedule::inverse_sqrt(double peak, std::int64_t steps) {
  require_steps(steps, "inverse_sqrt");
  Schedule schedule(peak);
  schedule.kind = Kind::inverse_sqrt;
  schedule.steps = steps;
  return schedule;
}

Schedule Schedule::cyclic(double low, double peak, std::int64_t rise, std::int64_t fall,
                          double cycle_factor, double step_factor) {
  require_steps(rise, "cyclic");
  Schedule schedule(peak);
  schedule.kind = Kind::cyclic;
  schedule.last = low;
  schedule.steps = rise;
  schedule.fall = fall == 0 ? rise : fall;
  require_steps(schedule.fall, "cyclic");
  schedule.factor = cycle_factor;
  schedule.power = step_factor;
  return schedule;
}

Schedule Schedule::cosine_restarts(double rate, std::int64_t steps, std::int64_t growth,
                                   double last, double factor) {
  require_steps(steps, "cosine_restarts");
  if (growth < 1) fail_usage("cosine_restarts: the growth must be at least 1");
  Schedule schedule(rate);
  schedule.kind = Kind::cosine_restarts;
  schedule.steps = steps;
  schedule.power = static_cast<double>(growth);
  schedule.last = last;
  schedule.factor = factor;
  return schedule;
}

Schedule Schedule::piecewise_constant(std::vector<double> rates,
                                      std::vector<std::int64_t> milestones) {
  require_milestones(milestones, rates.size(), "piecewise_constant", "rate");
  Schedule schedule(rates.front());
  schedule.kind = Kind::piecewise_constant;
  schedule.milestones = std::move(milestones);
  schedule.rates = std::move(rates);
  return schedule;
}

Schedule Schedule::sequential(std::vector<Schedule> parts, std::vector<std::int64_t> milestones) {
  require_milestones(milestones, parts.size(), "sequential", "part");
  for (const Schedule& part : parts) {
    if (part.plateau) fail_usage("sequential: a part has a plateau; call on_plateau() last");
  }
  Schedule schedule(parts.front().rate);
  schedule.kind = Kind::sequential;
  schedule.milestones = std::move(milestones);
  schedule.parts = std::move(parts);
  return schedule;
}

Schedule Schedule::on_plateau(Plateau plateau) const {
  plateau.least.apply_to(plateau.min_factor);
  if (!(plateau.factor > 0 && plateau.factor < 1)) {
    fail_usage("on_plateau: the factor must be between 0 and 1");
  }
  if (plateau.patience < 0 || plateau.cooldown < 0 || !(plateau.threshold >= 0) ||
      !(plateau.min_factor >= 0)) {
    fail_usage("on_plateau: patience, cooldown, threshold and min_factor must not be negative");
  }
  Schedule schedule = *this;
  schedule.plateau = std::move(plateau);
  return schedule;
}

Schedule Schedule::warmup(std::int64_t steps) const {
  require_steps(steps, "warmup");
  Schedule schedule = *this;
  schedule.warmup_steps = steps;
  return schedule;
}

namespace {

// The ends of the rise and the fall of a one-cycle schedule.
struct Cycle {
  explicit Cycle(const Schedule& schedule)
      : start(schedule.rate * schedule.factor),
        top(std::max(schedule.power * static_cast<double>(schedule.steps) - 1, 0.0)),
        end(std::max(static_cast<double>(schedule.steps) - 1, top + 1)) {}
  double start;     // rate
  double top, end;  // steps
};

// Interpolates from `from` to `to` as x goes from 0 to 1.
double half_cosine(double from, double to, double x) {
  return to + (from - to) * 0.5 * (1 + std::cos(kPi * std::clamp(x, 0.0, 1.0)));
}

// How many milestones a step has reached.
std::size_t reached(const std::vector<std::int64_t>& milestones, std::int64_t step) {
  return static_cast<std::size_t>(std::upper_bound(milestones.begin(), milestones.end(), step) -
                                  milestones.begin());
}

// The cycle with warm restarts that step s belongs to, from 0, and its first step. The logarithm
// may be wrong by 1.
double restart_start(const Schedule& schedule, double cycle) {
  const double growth = schedule.power, n = static_cast<double>(schedule.steps);
  if (growth == 1) return n * cycle;
  return n * std::floor((std::round(std::pow(growth, cycle)) - 1) / (growth - 1));
}
double restart_cycle(const Schedule& schedule, double s) {
  const double growth = schedule.power, n = static_cast<double>(schedule.steps);
  if (growth == 1) return std::floor(s / n);
  const double cycle = std::floor(std::log1p(s / n * (growth - 1)) / std::log(growth));
  if (restart_start(schedule, cycle) > s) return cycle - 1;
  return restart_start(schedule, cycle + 1) <= s ? cycle + 1 : cycle;
}

double cyclic_rate(const Schedule& schedule, double s) {
  const auto rise = static_cast<double>(schedule.steps), fall = static_cast<double>(schedule.fall);
  const double cycle = std::floor(s / (rise + fall)), place = s - cycle * (rise + fall);
  const double height = place <= rise ? place / rise : (rise + fall - place) / fall;
  const double factors = std::pow(schedule.factor, cycle) * std::pow(schedule.power, s);
  return schedule.last + (schedule.rate - schedule.last) * height * factors;
}

double restarted_rate(const Schedule& schedule, double s) {
  const double cycle = restart_cycle(schedule, s), start = restart_start(schedule, cycle);
  const double length = static_cast<double>(schedule.steps) * std::pow(schedule.power, cycle);
  const double height = (schedule.rate - schedule.last) * std::pow(schedule.factor, cycle);
  return half_cosine(schedule.last + height, schedule.last, (s - start) / length);
}

}  // namespace

double Schedule::at(std::int64_t step) const {
  if (step < warmup_steps) {
    return rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  const auto s = static_cast<double>(step - warmup_steps);
  const auto n = static_cast<double>(steps);
  switch (kind) {
    case Kind::constant: return rate;
    case Kind::step_decay: return rate * std::pow(factor, std::floor(s / n));
    case Kind::multi_step:
      return rate * std::pow(factor, static_cast<double>(reached(milestones, step - warmup_steps)));
    case Kind::exponential: return rate * std::pow(factor, s);
    case Kind::cosine: return half_cosine(rate, last, s / n);
    case Kind::one_cycle: {
      const Cycle cycle(*this);
      if (s < cycle.top) return half_cosine(cycle.start, rate, s / cycle.top);
      return half_cosine(rate, last, (s - cycle.top) / (cycle.end - cycle.top));
    }
    case Kind::cyclic: return cyclic_rate(*this, s);
    case Kind::cosine_restarts: return restarted_rate(*this, s);
    case Kind::piecewise_constant: return rates[reached(milestones, step - warmup_steps)];
    case Kind::sequential: {
      const std::size_t part = reached(milestones, step - warmup_steps);
      return parts[part].at(step - warmup_steps - (part == 0 ? 0 : milestones[part - 1]));
    }
    case Kind::function: return on_host(s);
    case Kind::inverse_sqrt: return rate * std::min((s + 1) / n, std::sqrt(n / (s + 1)));
    case Kind::polynomial: return last + (rate - last) * std::pow(1 - std::min(s / n, 1.0), power);
  }
  return rate;
}

namespace nn {
namespace {

// The same in the Program.
Value half_cosine(double from, double to, const Value& x) {
  const Value clamped = minimum(maximum(x, 0.0), 1.0);
  return (cos(clamped * kPi) + 1.0) * ((from - to) / 2) + to;
}

Value one_cycle(const Schedule& schedule, const Value& s) {
  const Cycle cycle(schedule);
  const Value fall =
      half_cosine(schedule.rate, schedule.last, (s - cycle.top) / (cycle.end - cycle.top));
  if (cycle.top == 0) return fall;
  return trireme::where(s < cycle.top, half_cosine(cycle.start, schedule.rate, s / cycle.top),
                        fall);
}

Value multi_step(const Schedule& schedule, const Value& s) {
  Value passed = s * 0.0;
  for (const std::int64_t milestone : schedule.milestones) {
    passed = passed + cast(s >= static_cast<double>(milestone), {.dtype = f64});
  }
  return pow(schedule.factor, passed) * schedule.rate;
}

Value cyclic(const Schedule& schedule, const Value& s) {
  const auto rise = static_cast<double>(schedule.steps), fall = static_cast<double>(schedule.fall);
  const Value cycle = floor(s / (rise + fall)), place = s - cycle * (rise + fall);
  const Value height =
      trireme::where(place <= rise, place / rise, (rise + fall - place) * (1 / fall));
  const Value factors = pow(schedule.factor, cycle) * pow(schedule.power, s);
  return height * factors * (schedule.rate - schedule.last) + schedule.last;
}

Value restart_start(const Schedule& schedule, const Value& cycle) {
  const double growth = schedule.power, n = static_cast<double>(schedule.steps);
  if (growth == 1) return cycle * n;
  return floor((round(pow(growth, cycle)) - 1.0) / (growth - 1)) * n;
}

Value restart_cycle(const Schedule& schedule, const Value& s) {
  const double growth = schedule.power, n = static_cast<double>(schedule.steps);
  if (growth == 1) return floor(s / n);
  const Value cycle = floor(log1p(s / n * (growth - 1)) / std::log(growth));
  const Value later = trireme::where(restart_start(schedule, cycle + 1.0) <= s, cycle + 1.0, cycle);
  return trireme::where(s < restart_start(schedule, cycle), cycle - 1.0, later);
}

Value cosine_restarts(const Schedule& schedule, const Value& s) {
  const Value cycle = restart_cycle(schedule, s), start = restart_start(schedule, cycle);
  const Value length = pow(schedule.power, cycle) * static_cast<double>(schedule.steps);
  const Value height = pow(schedule.factor, cycle) * ((schedule.rate - schedule.last) / 2);
  return (cos((s - start) / length * kPi) + 1.0) * height + schedule.last;
}

Value sequential(const Schedule& schedule, const Value& s) {
  Value result = rate_at(schedule.parts.front(), s);
  for (std::size_t i = 0; i < schedule.milestones.size(); ++i) {
    const auto start = static_cast<double>(schedule.milestones[i]);
    const Value next = rate_at(schedule.parts[i + 1], maximum(s - start, 0.0));
    result = trireme::where(s >= start, next, result);
  }
  return result;
}

Value piecewise_constant(const Schedule& schedule, const Value& s) {
  Value result = s * 0.0 + schedule.rates.front();
  for (std::size_t i = 0; i < schedule.milestones.size(); ++i) {
    const auto start = static_cast<double>(schedule.milestones[i]);
    result = trireme::where(s >= start, schedule.rates[i + 1], result);
  }
  return result;
}

}  // namespace

Value rate_at(const Schedule& schedule, const Value& step) {
  using Kind = Schedule::Kind;
  const double rate = schedule.rate, last = schedule.last;
  const Value s = maximum(step - static_cast<double>(schedule.warmup_steps), 0.0);
  const auto n = static_cast<double>(schedule.steps);
  Value result;
  switch (schedule.kind) {
    case Kind::constant: result = s * 0.0 + rate; break;
    case Kind::step_decay: result = pow(schedule.factor, floor(s / n)) * rate; break;
    case Kind::exponential: result = pow(schedule.factor, s) * rate; break;
    case Kind::cosine: result = half_cosine(rate, last, s / n); break;
    case Kind::multi_step: result = multi_step(schedule, s); break;
    case Kind::one_cycle: result = one_cycle(schedule, s); break;
    case Kind::cyclic: result = cyclic(schedule, s); break;
    case Kind::cosine_restarts: result = cosine_restarts(schedule, s); break;
    case Kind::piecewise_constant: result = piecewise_constant(schedule, s); break;
    case Kind::sequential: result = sequential(schedule, s); break;
    case Kind::function: result = as_rate(schedule.formula(s), s); break;
    case Kind::inverse_sqrt: result = minimum((s + 1.0) / n, sqrt(n / (s + 1.0))) * rate; break;
    case Kind::polynomial:
      result = pow(1.0 - minimum(s / n, 1.0), schedule.power) * (rate - last) + last;
      break;
  }
  if (schedule.warmup_steps == 0) return result;
  const auto warmup = static_cast<double>(schedule.warmup_steps);
  return trireme::where(step < warmup, (step + 1.0) * (rate / warmup), result);
}

Value plateau_factor(ir::Program& program, const std::string& updates) {
  const auto make = [&](const char* name, double first) {
    return Value(program.add_parameter(counter_name(updates, name), ir::Type{DType::f64, {}, ""},
                                       constant(first), /*trainable=*/false,
                                       ir::Location{"", 0, ir::layer_of_updates(updates)}));
  };
  make(kPlateauBest, std::nan(""));
  make(kPlateauWaited, 0);
  make(kPlateauCooling, 0);
  return make(kPlateauFactor, 1);
}

PlateauState after_measuring(PlateauState state, const Plateau& plateau, double measured) {
  // After an infinite measurement every finite one is better.
  const double margin = std::isfinite(state.best) ? plateau.threshold * std::abs(state.best) : 0;
  const bool better =
      plateau.higher_is_better ? measured > state.best + margin : measured < state.best - margin;
  if (better || std::isnan(state.best)) {
    state.best = measured;
    state.waited = 0;
  } else {
    state.waited += 1;
  }
  if (state.cooling > 0) {
    state.cooling -= 1;
    state.waited = 0;
  }
  if (state.waited > plateau.patience) {
    state.factor =
        std::max(state.factor * plateau.factor, std::min(plateau.min_factor, state.factor));
    state.cooling = plateau.cooldown;
    state.waited = 0;
  }
  return state;
}

}  // namespace nn
}  // namespace trireme
