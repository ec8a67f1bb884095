#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "nn/schedule.h"

namespace trireme {
namespace {

constexpr double kPi = 3.141592653589793;

void require_steps(std::int64_t steps, const char* what) {
  if (steps < 1) fail_usage(std::string(what) + ": the number of steps must be at least 1");
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

Schedule Schedule::warmup(std::int64_t steps) const {
  require_steps(steps, "warmup");
  Schedule schedule = *this;
  schedule.warmup_steps = steps;
  return schedule;
}

double Schedule::at(std::int64_t step) const {
  if (step < warmup_steps) {
    return rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  const auto s = static_cast<double>(step - warmup_steps);
  const auto n = static_cast<double>(steps);
  switch (kind) {
    case Kind::constant: return rate;
    case Kind::step_decay: return rate * std::pow(factor, std::floor(s / n));
    case Kind::exponential: return rate * std::pow(factor, s);
    case Kind::cosine:
      return last + (rate - last) * 0.5 * (1 + std::cos(kPi * std::min(s / n, 1.0)));
    case Kind::polynomial: return last + (rate - last) * std::pow(1 - std::min(s / n, 1.0), power);
  }
  return rate;
}

namespace nn {

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
    case Kind::cosine:
      result = (cos(minimum(s / n, 1.0) * kPi) + 1.0) * ((rate - last) / 2) + last;
      break;
    case Kind::polynomial:
      result = pow(1.0 - minimum(s / n, 1.0), schedule.power) * (rate - last) + last;
      break;
  }
  if (schedule.warmup_steps == 0) return result;
  const auto warmup = static_cast<double>(schedule.warmup_steps);
  return select(step < warmup, (step + 1.0) * (rate / warmup), result);
}

}  // namespace nn
}  // namespace trireme
