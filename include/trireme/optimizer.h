#pragma once

// Optimizers and learning rate schedules. An optimizer is a plain description; minimize()
// (trireme/trainer.h) turns it into ops of the Program.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "trireme/deprecated.h"
#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme {

// Multiplies the learning rate by `factor` when a metric has stopped improving: after more than
// `patience` measurements in a row that are not better than the best by more than `threshold` times
// the best. The next `cooldown` measurements are not counted.
struct Plateau {
  double factor = 0.1;
  int patience = 10;
  double threshold = 1e-4;
  int cooldown = 0;
  double min_factor = 0;  // lower limit of the product of all factors
  DeprecatedOption<double, "least", "min_factor"> least = {};
  std::string metric = "loss";    // of the validation data, or of training if there is none
  bool higher_is_better = false;  // true for accuracy
};

// A learning rate as a function of the step, counted from 0 and computed inside the Program. A
// plain number converts to a constant Schedule.
struct TRIREME_API Schedule {
  enum class Kind : std::uint8_t {
    constant,
    step_decay,
    multi_step,
    exponential,
    cosine,
    polynomial,
    one_cycle,
    inverse_sqrt,
    cyclic,
    cosine_restarts,
    piecewise_constant,
    sequential,
    function
  };
  Kind kind = Kind::constant;
  double rate = 1e-3;      // at the start, or after the warm-up
  std::int64_t steps = 0;  // length of a stair, or steps until the end
  double factor = 1, last = 0, power = 1;
  std::vector<std::int64_t> milestones = {};
  std::int64_t fall = 0;                            // of cyclic
  std::vector<double> rates = {};                   // of piecewise_constant
  std::vector<Schedule> parts = {};                 // of sequential
  std::function<Value(const Value&)> formula = {};  // of function
  std::function<double(double)> on_host = {};       // the same, as it was recorded
  std::int64_t warmup_steps = 0;
  std::optional<Plateau> plateau = {};

  Schedule(double constant = 1e-3) : rate(constant) {}  // NOLINT

  // rate * factor^floor(step / every)
  static Schedule step_decay(double rate, std::int64_t every, double factor);
  // rate * factor^(number of milestones that are not above the step); milestones are increasing
  static Schedule multi_step(double rate, std::vector<std::int64_t> milestones, double factor);
  // rate * factor^step
  static Schedule exponential(double rate, double factor);
  // Half a cosine from `rate` to `last` during `steps`, then `last`.
  static Schedule cosine(double rate, std::int64_t steps, double last = 0);
  // (rate - last) * (1 - step / steps)^power + last, then `last`.
  static Schedule polynomial(double rate, std::int64_t steps, double last = 0, double power = 1);
  // Half a cosine from peak / start_divisor up to `peak` during the fraction `rise` of `steps`,
  // then half a cosine down to peak / start_divisor / last_divisor: Smith and Topin 2019.
  static Schedule one_cycle(double peak, std::int64_t steps, double rise = 0.3,
                            double start_divisor = 25, double last_divisor = 1e4);
  // peak * min((step + 1) / steps, sqrt(steps / (step + 1))): Vaswani et al. 2017, where peak is 1
  // / sqrt(width * steps).
  static Schedule inverse_sqrt(double peak, std::int64_t steps);
  // A straight line from `low` to `peak` in `rise` steps and back in `fall` steps (0: as many as
  // `rise`), again and again: Smith 2017. The height of the peak above `low` is multiplied by
  // cycle_factor after each cycle and by step_factor after each step. 0.5 and 1 are PyTorch's
  // "triangular2"; 1 and gamma are its "exp_range".
  // Errors: usage, for numbers of steps below 1.
  static Schedule cyclic(double low, double peak, std::int64_t rise, std::int64_t fall = 0,
                         double cycle_factor = 1, double step_factor = 1);
  // Half a cosine from `rate` to `last` during `steps`, then again from the start: Loshchilov and
  // Hutter 2017. Each cycle is `growth` times longer than the one before, and its height above
  // `last` is multiplied by `factor`.
  // Errors: usage, for steps or growth below 1.
  static Schedule cosine_restarts(double rate, std::int64_t steps, std::int64_t growth = 1,
                                  double last = 0, double factor = 1);
  // rates[n] in a step that has reached n milestones, which are increasing.
  // Errors: usage, unless there is one rate more than milestones.
  static Schedule piecewise_constant(std::vector<double> rates,
                                     std::vector<std::int64_t> milestones);
  // parts[n] in a step that has reached n milestones, which are increasing. Each part begins with
  // its step 0, and may have a warm-up.
  // Errors: usage, unless there is one part more than milestones, and for parts with a plateau.
  static Schedule sequential(std::vector<Schedule> parts, std::vector<std::int64_t> milestones);
  // formula(step), a function that builds ops. The step is f64 and counts from 0; the result has
  // its shape and a numeric dtype. The formula is called here, to record it, and once for each set
  // of updates. It may use numbers, and functions that compute each element alone.
  // Errors: usage, for other functions, a result of another shape, and a rate of step 0 that is
  // negative or not finite.
  static Schedule function(std::function<Value(const Value&)> formula);
  // Linear from rate / steps in step 0 to rate; then this Schedule from its step 0.
  Schedule warmup(std::int64_t steps) const;
  // This Schedule times a factor that the Trainer lowers. The factor and the other state are
  // parameters of the Program: "optimizer.plateau_factor", "_best", "_waited" and "_cooling".
  Schedule on_plateau(Plateau plateau) const;

  bool is_constant() const { return kind == Kind::constant && warmup_steps == 0 && !plateau; }
  double at(std::int64_t step) const;  // computed on the host, without the plateau's factor
};

// Limits on gradients, applied in this order before the optimizer uses them; 0 means none.
struct Clip {
  double value = 0;        // clips every element to [-value, value]
  double norm = 0;         // scales down each parameter's gradient to this L2 norm
  double global_norm = 0;  // scales down all gradients together to this L2 norm

  bool any() const { return value > 0 || norm > 0 || global_norm > 0; }
};

// The optimizers. g is the gradient and p the parameter; m and v start at zero. Formulas are
// elementwise unless stated otherwise. Unless stated otherwise, weight_decay adds weight_decay * p
// to g (L2 regularization). Each parameter is updated by one fused kernel.
//
// A table with a row-sparse gradient (nn::embedding with sparse_gradient) is updated lazily: only
// the rows that a step looked up follow the rule, with t the number of the step. All other rows,
// and their m and v, stay unchanged. So the cost of a step depends on the rows it uses, not on the
// size of the table. SGD, Adagrad and FTRL give the same result as with a dense gradient. The
// running means of the other optimizers do not decay for rows that are not looked up. Options that
// need all rows in every step are refused for such a table: weight decay and penalties (except
// FTRL's own), accumulation, averages, LAMB, LARS, Adafactor, the schedule-free optimizers.

// p -= rate * g: Robbins and Monro 1951.
struct Sgd {
  Schedule learning_rate = 1e-2;
  double weight_decay = 0;
  Clip clip = {};
};

// v = momentum * v + g; p -= rate * v (Polyak 1964), or, with nesterov, rate * (g + momentum * v)
// (Sutskever et al. 2013).
struct Momentum {
  Schedule learning_rate = 1e-2;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  Clip clip = {};
};

// v += g^2; p -= rate * g / (sqrt(v) + epsilon); v starts at `initial`: Duchi et al. 2011.
struct Adagrad {
  Schedule learning_rate = 1e-2;
  double initial = 0;
  double epsilon = 1e-10;
  double weight_decay = 0;
  Clip clip = {};
};

// Adagrad with decay: v = decay * v + (1 - decay) * g^2; p -= rate * g / (sqrt(v) + epsilon).
struct DecayedAdagrad {
  Schedule learning_rate = 1e-2;
  double decay = 0.95;
  double epsilon = 1e-6;
  double weight_decay = 0;
  Clip clip = {};
};

// v = decay * v + (1 - decay) * g^2; d = g * sqrt(m + epsilon) / sqrt(v + epsilon);
// m = decay * m + (1 - decay) * d^2; p -= rate * d: Zeiler 2012.
struct Adadelta {
  Schedule learning_rate = 1;
  double decay = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;
  Clip clip = {};
};

// v = decay * v + (1 - decay) * g^2; d = g / (sqrt(v) + epsilon); p -= rate * d: Tieleman and
// Hinton 2012. Centered: sqrt(v - a^2) replaces sqrt(v), where a is the same running mean of g:
// Graves 2013. With momentum: m = momentum * m + d; p -= rate * m.
struct RmsProp {
  Schedule learning_rate = 1e-2;
  double decay = 0.99;
  double epsilon = 1e-8;
  double momentum = 0;
  DeprecatedOption<bool, "centred", "centered"> centred = {};
  bool centered = false;
  double weight_decay = 0;
  Clip clip = {};
};

// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2; in step t, from 1,
// p -= rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon): Kingma and Ba 2015. With
// amsgrad, the largest v of all steps replaces v in the last formula: Reddi et al. 2018.
struct Adam {
  Schedule learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  bool amsgrad = false;
  double weight_decay = 0;
  Clip clip = {};
};

// Adam, but p is first multiplied by 1 - rate * weight_decay: Loshchilov and Hutter 2019.
struct AdamW {
  Schedule learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  bool amsgrad = false;
  double weight_decay = 1e-2;
  Clip clip = {};
};

// m as in Adam; v = max(beta2 * v, |g| + epsilon); p -= rate / (1 - beta1^t) * m / v: Kingma and
// Ba 2015, section 7.1.
struct Adamax {
  Schedule learning_rate = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  Clip clip = {};
};

// Adam with Nesterov's momentum: Dozat 2016. With c_t = beta1 * (1 - 0.96^(t * momentum_decay) / 2)
// and C_t = c_1 * ... * c_t, the numerator of Adam's quotient is
// c_(t+1) * m / (1 - C_(t+1)) + (1 - c_t) * g / (1 - C_t).
struct NAdam {
  Schedule learning_rate = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum_decay = 4e-3;
  double weight_decay = 0;
  Clip clip = {};
};

// Rectified Adam: Liu et al. 2020. With r = 2 / (1 - beta2) - 1 and
// s = r - 2 t * beta2^t / (1 - beta2^t), Adam's change is multiplied by
// sqrt((s - 4) (s - 2) r / ((r - 4) (r - 2) s)) where s > 5, else it is rate * m / (1 - beta1^t).
// As in PyTorch, epsilon is added to sqrt(v) and then divided by sqrt(1 - beta2^t), too.
struct RAdam {
  Schedule learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  Clip clip = {};
};

// p -= size * sign(g), where each element has its own size. It starts at learning_rate, is
// multiplied by `increase` while the sign of g stays and by `decrease` when it changes, and stays
// in [min_step, max_step]. After a change of the sign there is no step: Riedmiller and Braun 1993,
// as iRprop- of Igel and Huesken 2003. For whole data sets, not for batches. The learning rate must
// be a constant.
struct Rprop {
  Schedule learning_rate = 1e-2;
  double decrease = 0.5;  // between 0 and 1
  double increase = 1.2;  // above 1
  double min_step = 1e-6, max_step = 50;
  Clip clip = {};
};

// Momentum with a rate for each whole parameter, for large batches: v = momentum * v +
// rate * trust * |p| / (|g| + weight_decay * |p|) * (g + weight_decay * p); p -= v. The quotient
// with trust is 1 if a norm is 0. You, Gitman and Ginsburg 2017.
struct Lars {
  Schedule learning_rate = 0.1;
  double momentum = 0.9;
  double trust = 1e-3;
  double weight_decay = 1e-4;
  Clip clip = {};
};

// Adam without m, whose v of a matrix is the product of a row and a column: Shazeer and Stern 2018.
// The last two axes are the matrix; parameters of rank below 2 have a whole v. In step t, v is a
// running mean of g^2 with decay 1 - t^-decay_power. d = g / sqrt(v), divided by
// max(1, rms(d) / threshold); p is first multiplied by 1 - rate * weight_decay, and then
// p -= max(epsilon, rms(p)) * min(rate, 1 / sqrt(t)) * d. rms(.) is the root of the mean square of
// the whole parameter.
struct Adafactor {
  Schedule learning_rate = 1e-2;
  double decay_power = 0.8;  // above 0
  double epsilon = 1e-3;     // lower limit of rms(p)
  double threshold = 1;      // above 0: of rms(d)
  double weight_decay = 0;
  Clip clip = {};
};

// For matrices, momentum whose singular values become about 1: Jordan et al. 2024. m = momentum * m
// + (1 - momentum) * g; u = m or, with nesterov, (1 - momentum) * g + momentum * m; u is divided by
// max(|u|, 1e-7), where |.| is the L2 norm. Each iteration of Newton and Schulz's method computes
// u = 3.4445 u - 4.775 (u u^T) u + 2.0315 (u u^T)^2 u. p is multiplied by 1 - rate * weight_decay;
// p -= rate * scale * u. The matrix of a parameter of rank 2 or more has its last axis, the outputs
// of a layer, as columns, and all others as rows. scale is sqrt(max(1, columns / rows)), or, with
// match_rms_adamw, 0.2 * sqrt(max(rows, columns)), with which rates of AdamW fit: Liu et al. 2025.
//
// Parameters of rank below 2, those with a row-sparse gradient, and those whose names match a
// pattern of adamw_parameters follow AdamW at learning_rate * adamw_factor. The authors recommend
// that for embeddings and the last layer, too.
struct Muon {
  Schedule learning_rate = 2e-2;
  double momentum = 0.95;  // in [0, 1)
  bool nesterov = true;
  int iterations = 5;
  bool match_rms_adamw = false;
  std::vector<std::string> adamw_parameters = {};  // * matches any characters: "embedding/*"
  double adamw_factor = 0.015;
  double beta1 = 0.9, beta2 = 0.95;  // of AdamW
  double epsilon = 1e-8;             // of AdamW
  double weight_decay = 0;
  Clip clip = {};
};

// Gradient descent whose parameters are averaged while it runs, so that it needs no schedule that
// falls: Defazio et al. 2024. z and x start at p. In step t, z -= rate * g; x += c * (z - x);
// p = (1 - momentum) * z + momentum * x. c is w_t / (w_1 + ... + w_t), where w is the square of the
// largest rate so far: 1 / t for a constant rate. A warm-up helps. x is the parameter
// "<name>.average": evaluate and save with Trainer::averaged(), as with UpdateOptions::average,
// which cannot be combined with it. Statistics of batch_norm are those of p.
struct ScheduleFreeSgd {
  Schedule learning_rate = 1;
  double momentum = 0.9;  // in [0, 1)
  double weight_decay = 0;
  Clip clip = {};
};

// The same with v = beta2 * v + (1 - beta2) * g^2, beta1 for momentum, and
// g / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * p for g.
struct ScheduleFreeAdamW {
  Schedule learning_rate = 2.5e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  Clip clip = {};
};

// d is the step of Adam at rate 1 plus weight_decay * p. p -= rate * d * |p| / |d|, where |.| is
// the L2 norm of the whole parameter; the quotient is 1 if a norm is 0: You et al. 2020. The norms
// cost one pass over the parameter before the update.
struct Lamb {
  Schedule learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 1e-2;
  Clip clip = {};
};

// p is multiplied by 1 - rate * weight_decay; p -= rate * sign(beta1 * m + (1 - beta1) * g);
// m = beta2 * m + (1 - beta2) * g: Chen et al. 2023.
struct Lion {
  Schedule learning_rate = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  Clip clip = {};
};

// FTRL-Proximal, McMahan et al. 2013, algorithm 1:
//   s = (sqrt(v + g^2) - sqrt(v)) / rate; m += g - s * p; v += g^2;
//   p = 0 where |m| <= l1, else p = -(m - sign(m) * l1) / ((beta + sqrt(v)) / rate + l2).
// The penalties pull towards 0, and the first step forgets most of the initial value. So initialize
// its parameters to zero. v starts at `initial`.
struct Ftrl {
  Schedule learning_rate = 0.1;
  double beta = 1;
  double l1 = 0, l2 = 0;
  double initial = 0;
  Clip clip = {};
};

using Optimizer = std::variant<Sgd, Momentum, Adam, AdamW, Adagrad, DecayedAdagrad, Adadelta,
                               RmsProp, Adamax, Lamb, Lion, Ftrl, NAdam, RAdam, Rprop, Lars,
                               Adafactor, Muon, ScheduleFreeSgd, ScheduleFreeAdamW>;

// Whether the rule keeps averages of the parameters itself, in parameters "<name>.average".
TRIREME_API bool keeps_averages(const Optimizer& optimizer);

// Averages of the trained parameters, kept in parameters "<name>.average".
struct TRIREME_API Average {
  enum class Kind : std::uint8_t { none, exponential, window };
  Kind kind = Kind::none;
  double decay = 0.999;
  bool correct_bias = true;
  std::int64_t updates = 0;  // of a window

  // After each update a = decay * a + (1 - decay) * p. With correct_bias, a starts at 0 and is
  // divided by 1 - decay^t in update t, like Adam's moments. Without it, a starts at p before the
  // first update.
  static Average exponential(double decay = 0.999, bool correct_bias = true);
  // The mean of p over the last updates: over all of them until there are 2 * `updates`, then over
  // the last `updates` + 1 to 2 * `updates`, since whole windows are dropped at a time.
  static Average window(std::int64_t updates);
};

// Options in addition to the optimizer's rule.
struct UpdateOptions {
  // A Program can have several sets of updates with different names, such as "generator" and
  // "discriminator"; RunOptions::update selects some of them. A name has letters, digits, '_', '-'
  // and '.'. The state of set "d" is in the parameters "optimizer.d/step",
  // "optimizer.d/<name>.adam_m" and so on.
  std::string name = {};
  // minimize() updates the trainable parameters whose names match a pattern, where * matches any
  // characters ("encoder/*"). Empty: all of them.
  std::vector<std::string> parameters = {};
  // Session::set_learning_rate() can change the learning rate, without compiling again. A constant
  // rate is then the f64 parameter "optimizer.learning_rate"; other schedules are multiplied by
  // "optimizer.learning_rate_factor". The default adds no parameter, so the rate is fixed.
  bool adjustable_rate = false;
  // An update runs every `accumulate` steps, with the mean of their gradients. Schedules, averages
  // and "optimizer.step" count updates. The sums are kept in "<name>.gradient", the count in
  // "optimizer.batch" and the sum of weights in "optimizer.weight"; they carry over from one epoch
  // to the next.
  int accumulate = 1;
  // The weight of a step in this mean: a numeric scalar of the Program, at least 0, such as the
  // number of its tokens. By default, if the loss is mean(losses), the number of these losses, so
  // that the steps count as one batch; else, and if gradients are exchanged between processes, 1.
  Value accumulate_weight = {};
  Average average = {};
  // l1 * sign(p) + l2 * p is added to gradients after clipping; the loss does not include it. A
  // parameter's settings multiply both by their weight_decay and add their own l1 and l2.
  double l1 = 0, l2 = 0;
};

namespace nn {

// The gradient with respect to a parameter. Dense: of the parameter's type. Row-sparse: `values`
// [n, row...] for its rows `rows`, i64 [n]. Values of repeated rows are added; negative rows are
// ignored.
struct Gradient {
  Value values;
  Value rows = {};
};

// Appends ops to the parameters' Program that assign each its next value. gradients[i] belongs to
// parameters[i]. State is kept in parameters that are not trained: "<name>.momentum",
// "<name>.adam_m", "<name>.adam_v" and so on, and "optimizer.step" if the rule depends on the step.
// Frozen parameters stay unchanged and have no state. UpdateOptions::parameters is not used.
// Errors: usage, for invalid options, options that do not support a row-sparse gradient, and a
// Program that has updates of this name already.
TRIREME_API void apply_updates(const Optimizer& optimizer, const std::vector<Value>& parameters,
                               const std::vector<Gradient>& gradients,
                               const UpdateOptions& options = {},
                               SourceLocation where = SourceLocation::current());
TRIREME_API void apply_updates(const Optimizer& optimizer, const std::vector<Value>& parameters,
                               const std::vector<Value>& gradients,
                               const UpdateOptions& options = {},
                               SourceLocation where = SourceLocation::current());

}  // namespace nn
}  // namespace trireme
