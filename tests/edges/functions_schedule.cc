#include <cmath>
#include <limits>

#include "functions.h"
#include "nn/schedule.h"
#include "trireme/optimizer.h"

namespace trireme::edges {
namespace {

using Values = std::vector<Value>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The ends of all schedules below, and steps far beyond.
const std::vector<double> kSteps = {0,  1,  2,  3,    4,   5,   6,    7,
                                    8,  9,  10, 11,   17,  18,  19,   20,
                                    21, 59, 60, 1000, 1e6, 1e9, 1e15, 9007199254740992.0};

// `rates` are the arguments of training.rates() after the steps: the rate, a formula of the step s
// and, if PyTorch has this schedule, its scheduler and the number of steps to compare with it.
void add(std::vector<Function>& all, const std::string& name, const std::string& rates,
         const Schedule& schedule) {
  all.push_back({.name = "schedule " + name,
                 .torch = "training.rates(x[0], " + rates + ")",
                 .sources = [](DType d) { return std::vector{numbers(d, kSteps)}; },
                 .build = [=](const Values& x) { return Values{nn::rate_at(schedule, x[0])}; },
                 .dtypes = {DType::f64},
                 .differentiable = false,
                 .host = [=](double s) { return schedule.at(static_cast<std::int64_t>(s)); }});
}

const std::string kScheduler = "lambda o: torch.optim.lr_scheduler.";

void add_stairs(std::vector<Function>& all) {
  add(all, "constant", "0.3, lambda s: 0.3", Schedule(0.3));
  add(all, "constant", "0, lambda s: 0", Schedule(0.0));
  add(all, "constant", "1e300, lambda s: 1e300", Schedule(1e300));
  add(all, "step_decay",
      "0.3, lambda s: 0.3 * 0.5 ** numpy.floor(s / 3), " + kScheduler + "StepLR(o, 3, 0.5), 20",
      Schedule::step_decay(0.3, 3, 0.5));
  add(all, "step_decay", "0.3, lambda s: 0.3 * 0.0 ** numpy.floor(s / 3)",
      Schedule::step_decay(0.3, 3, 0));
  add(all, "step_decay", "0.3, lambda s: 0.3 * 2.0 ** s", Schedule::step_decay(0.3, 1, 2));
  const std::string passed = "numpy.searchsorted([2, 5, 5, 9], s, 'right')";
  add(all, "multi_step",
      "0.3, lambda s: 0.3 * 0.1 ** " + passed + ", " + kScheduler +
          "MultiStepLR(o, [2, 5, 5, 9], 0.1), 20",
      Schedule::multi_step(0.3, {2, 5, 5, 9}, 0.1));
  add(all, "multi_step", "0.3, lambda s: 0.3", Schedule::multi_step(0.3, {}, 0.1));
  add(all, "multi_step", "0.3, lambda s: 0.0 * s", Schedule::multi_step(0.3, {0}, 0));
}

void add_curves(std::vector<Function>& all) {
  add(all, "exponential",
      "0.3, lambda s: 0.3 * 0.9 ** s, " + kScheduler + "ExponentialLR(o, 0.9), 60",
      Schedule::exponential(0.3, 0.9));
  add(all, "exponential", "0.3, lambda s: 0.3 * 0.0 ** s", Schedule::exponential(0.3, 0));
  add(all, "exponential", "0.3, lambda s: 0.3 * 1.5 ** s", Schedule::exponential(0.3, 1.5));
  const auto cosine = [](const char* from, const char* to, const char* length) {
    return std::string("lambda s: ") + to + " + (" + from + " - " + to +
           ") * (1 + numpy.cos(math.pi * numpy.minimum(s / " + length + ", 1))) / 2";
  };
  add(all, "cosine",
      "0.3, " + cosine("0.3", "0.01", "10") + ", " + kScheduler +
          "CosineAnnealingLR(o, 10, 0.01), 11",
      Schedule::cosine(0.3, 10, 0.01));
  add(all, "cosine", "0.3, " + cosine("0.3", "0.0", "10"), Schedule::cosine(0.3, 10));
  add(all, "cosine", "0.3, " + cosine("0.3", "0.0", "1"), Schedule::cosine(0.3, 1));
  add(all, "cosine", "0.01, " + cosine("0.01", "0.3", "20"), Schedule::cosine(0.01, 20, 0.3));
  add(all, "cosine", "1e300, " + cosine("1e300", "1.0", "20"), Schedule::cosine(1e300, 20, 1));
  add(all, "polynomial",
      "0.3, lambda s: 0.3 * (1 - numpy.minimum(s / 10, 1)) ** 2, " + kScheduler +
          "PolynomialLR(o, 10, 2), 20",
      Schedule::polynomial(0.3, 10, 0, 2));
  add(all, "polynomial", "0.3, lambda s: 0.01 + 0.29 * (1 - numpy.minimum(s / 10, 1))",
      Schedule::polynomial(0.3, 10, 0.01));
  add(all, "polynomial", "0.3, lambda s: 0.3 * numpy.sqrt(1 - numpy.minimum(s / 10, 1))",
      Schedule::polynomial(0.3, 10, 0, 0.5));
  add(all, "polynomial", "0.3, lambda s: 0.3", Schedule::polynomial(0.3, 10, 0.01, 0));
}

void add_rises(std::vector<Function>& all) {
  const auto half_cosine = [](const char* from, const char* to, const char* x) {
    return std::string("(") + to + " + (" + from + " - " + to + ") * (1 + numpy.cos(math.pi * " +
           x + ")) / 2)";
  };
  // The peak is in step 0.3 * 20 - 1, and the end in step 19.
  const std::string one_cycle =
      "lambda s: numpy.where(s < 5, " + half_cosine("0.3 / 25", "0.3", "numpy.minimum(s / 5, 1)") +
      ", " + half_cosine("0.3", "0.3 / 25e4", "numpy.clip((s - 5) / 14, 0, 1)") + ")";
  add(all, "one_cycle", "0.3, " + one_cycle + ", " + kScheduler + "OneCycleLR(o, 0.3, 20), 20",
      Schedule::one_cycle(0.3, 20));
  add(all, "one_cycle", "0.3, lambda s: numpy.where(s < 1, 0.3, 0.3 / 25e4)",
      Schedule::one_cycle(0.3, 2));
  add(all, "inverse_sqrt",
      "0.3, lambda s: 0.3 * numpy.minimum((s + 1) / 20, (20 / (s + 1)) ** 0.5), " + kScheduler +
          "LambdaLR(o, lambda s: min((s + 1) / 20, (20 / (s + 1)) ** 0.5)), 60",
      Schedule::inverse_sqrt(0.3, 20));
  add(all, "inverse_sqrt", "0.3, lambda s: 0.3 / numpy.sqrt(s + 1)",
      Schedule::inverse_sqrt(0.3, 1));
  add(all, "warmup",
      "0.3, lambda s: 0.3 * numpy.minimum((s + 1) / 8, 1), " + kScheduler +
          "LinearLR(o, 1 / 8, 1, 7), 20",
      Schedule(0.3).warmup(8));
  add(all, "warmup", "0.3, lambda s: 0.3", Schedule(0.3).warmup(1));
  add(all, "warmup", "0.3, lambda s: 0.3 * numpy.minimum((s + 1) / 1e15, 1)",
      Schedule(0.3).warmup(1000000000000000));
  add(all, "warmup", "0.3, lambda s: numpy.where(s < 8, 0.3 * (s + 1) / 8, 0.3 * 0.9 ** (s - 8))",
      Schedule::exponential(0.3, 0.9).warmup(8));
  add(all, "warmup",
      "0.3, lambda s: numpy.where(s < 8, 0.3 * (s + 1) / 8, 0.3 * 0.5 ** ((s >= 9) * 1.0))",
      Schedule::multi_step(0.3, {1}, 0.5).warmup(8));
}

void add_cycles(std::vector<Function>& all) {
  const auto cyclic = [](const char* height, const char* rise, const char* fall) {
    const std::string length = std::string("(") + rise + " + " + fall + ")";
    return std::string("lambda s: (lambda c, p: 0.1 + 0.2 * ") + height +
           " * numpy.where(p <= " + rise + ", p / " + rise + ", (" + length + " - p) / " + fall +
           "))(numpy.floor(s / " + length + "), s % " + length + ")";
  };
  add(all, "cyclic",
      "0.3, " + cyclic("1", "3", "3") + ", " + kScheduler +
          "CyclicLR(o, 0.1, 0.3, 3, cycle_momentum=False), 60",
      Schedule::cyclic(0.1, 0.3, 3));
  add(all, "cyclic",
      "0.3, " + cyclic("0.5 ** c", "3", "5") + ", " + kScheduler +
          "CyclicLR(o, 0.1, 0.3, 3, 5, 'triangular2', cycle_momentum=False), 60",
      Schedule::cyclic(0.1, 0.3, 3, 5, 0.5));
  add(all, "cyclic",
      "0.3, " + cyclic("0.9 ** s", "3", "1") + ", " + kScheduler +
          "CyclicLR(o, 0.1, 0.3, 3, 1, 'exp_range', 0.9, cycle_momentum=False), 60",
      Schedule::cyclic(0.1, 0.3, 3, 1, 1, 0.9));
  add(all, "cyclic", "0.3, lambda s: numpy.where(s % 2 == 0, 0.1, 0.3)",
      Schedule::cyclic(0.1, 0.3, 1));
  const std::string warm = "CosineAnnealingWarmRestarts(o, ";
  add(all, "cosine_restarts",
      "0.3, lambda s: 0.01 + 0.145 * (1 + numpy.cos(math.pi * (s % 5) / 5)), " + kScheduler + warm +
          "5, 1, 0.01), 60",
      Schedule::cosine_restarts(0.3, 5, 1, 0.01));
  add(all, "cosine_restarts",
      "0.3, training.restarts(0.3, 3, 2, 0.01, 1), " + kScheduler + warm + "3, 2, 0.01), 60",
      Schedule::cosine_restarts(0.3, 3, 2, 0.01));
  add(all, "cosine_restarts", "0.3, training.restarts(0.3, 1, 3, 0.0, 0.5)",
      Schedule::cosine_restarts(0.3, 1, 3, 0, 0.5));
  add(all, "cosine_restarts", "0.3, lambda s: 0.3 + 0 * s", Schedule::cosine_restarts(0.3, 1));
}

void add_joined(std::vector<Function>& all) {
  const std::string place = "[numpy.searchsorted([2, 5, 5, 9], s, 'right')]";
  add(all, "piecewise_constant", "0.3, lambda s: numpy.array([0.3, 0.1, 7, 0, 1e-300])" + place,
      Schedule::piecewise_constant({0.3, 0.1, 7, 0, 1e-300}, {2, 5, 5, 9}));
  add(all, "piecewise_constant", "0.3, lambda s: 0.3", Schedule::piecewise_constant({0.3}, {}));
  add(all, "sequential", "0.3, lambda s: numpy.where(s < 3, 0.3, 0.5 * 0.9 ** (s - 3))",
      Schedule::sequential({Schedule(0.3), Schedule::exponential(0.5, 0.9)}, {3}));
  add(all, "sequential",
      "0.3, lambda s: numpy.where(s < 2, 0.3, numpy.where(s < 6, 0.4 * (s - 1) / 4, "
      "numpy.where(s < 20, 0.4 * 0.5 ** numpy.floor((s - 6) / 3), 0.2)))",
      Schedule::sequential(
          {Schedule(0.3), Schedule::step_decay(0.4, 3, 0.5).warmup(4), Schedule(0.2)}, {2, 20}));
  add(all, "sequential",
      "0.3, lambda s: numpy.where(s < 2, 0.3 * (s + 1) / 2, 0.3 * 0.9 ** (s - 2))",
      Schedule::sequential({Schedule::exponential(0.3, 0.9)}, {}).warmup(2));
}

// The factors of a plateau after each of a row of measurements.
std::vector<Tensor> plateau_factors(const Plateau& plateau, const Tensor& measured) {
  Tensor factors(DType::f64, measured.shape());
  const std::int64_t width = measured.dim(1);
  for (std::int64_t row = 0; row < measured.dim(0); ++row) {
    nn::PlateauState state{.best = kNan};
    for (std::int64_t i = row * width; i < (row + 1) * width; ++i) {
      state = nn::after_measuring(state, plateau, measured.data<double>()[i]);
      factors.data<double>()[i] = state.factor;
    }
  }
  return {factors};
}

void add_plateau(std::vector<Function>& all, const std::string& torch, const Plateau& plateau) {
  const Source measured{{{1, 1, 1, 1, 1, 1, 1, 1},
                         {1, 0.75, 0.5, 0.375, 0.375, 0.25, 0.25, 0.25},
                         {1, 2, 3, 4, 5, 6, 7, 8},
                         {0, 0, 0, 0, 0, 0, 0, 0},
                         {-1, -1, -1, -1, -1, -1, -1, -1},
                         {-1, -2, -3, -1, -2, -1, 0, 1},
                         {kInfinity, kInfinity, 1, 1, 1, 1, 1, 1},
                         {1, kInfinity, -kInfinity, 1, -kInfinity, 2, 3, 4},
                         {-kInfinity, 1, 1, 1, kInfinity, 1, 1, 1},
                         {kNan, kNan, kNan, 1, 1, 1, 1, 1},
                         {1, kNan, 1, kNan, 0.5, kNan, kNan, kNan},
                         {1e308, -1e308, 1e308, 1, 1, 1, 1, 1}},
                        true,
                        DType::f64};
  all.push_back({.name = "schedule plateau",
                 .torch = "training.plateau(x[0], " + torch + ")",
                 .sources = [=](DType) { return std::vector{measured}; },
                 .dtypes = {DType::f64},
                 .compute = [=](const std::vector<Tensor>& x,
                                const SessionOptions&) { return plateau_factors(plateau, x[0]); }});
}

}  // namespace

std::vector<Function> schedule_functions() {
  std::vector<Function> all;
  add_stairs(all);
  add_curves(all);
  add_rises(all);
  add_cycles(all);
  add_joined(all);
  add_plateau(all, "factor=0.5, patience=0, threshold=0.25",
              {.factor = 0.5, .patience = 0, .threshold = 0.25});
  add_plateau(all, "factor=0.5, patience=1, threshold=0, cooldown=2, min_lr=0.3",
              {.factor = 0.5, .patience = 1, .threshold = 0, .cooldown = 2, .min_factor = 0.3});
  add_plateau(all, "higher_is_better=True, factor=0.5, patience=1, threshold=0.25",
              {.factor = 0.5, .patience = 1, .threshold = 0.25, .higher_is_better = true});
  return all;
}

}  // namespace trireme::edges
