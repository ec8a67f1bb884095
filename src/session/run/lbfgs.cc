#include "trireme/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "trireme/gradients.h"

namespace trireme {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& x, const Vector& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double largest(const Vector& x) {
  double result = 0;
  for (const double number : x) {
    if (std::isnan(number)) return number;
    result = std::max(result, std::abs(number));
  }
  return result;
}

Vector moved(const Vector& x, double step, const Vector& direction) {
  Vector y = x;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += step * direction[i];
  return y;
}

// A point of a line search: x + step * direction.
struct Point {
  double step = 0, loss = 0, slope = 0;
  Vector gradient = {};
  bool is_finite() const { return std::isfinite(loss) && std::isfinite(slope); }
};

// The minimum of the cubic with these values and slopes, equation 3.59 of Nocedal and Wright. NaN
// if there is none.
double cubic_minimum(const Point& a, const Point& b) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step);
  const double d2 = std::copysign(std::sqrt(d1 * d1 - a.slope * b.slope), b.step - a.step);
  return b.step - (b.step - a.step) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2));
}

class LineSearch {
 public:
  // `evaluate` returns the point at a step; `budget` is the number of points that it may compute.
  LineSearch(const std::function<Point(double step)>& evaluate, Point start, int budget,
             double smallest_step)
      : evaluate_(evaluate),
        start_(std::move(start)),
        budget_(std::min(budget, 25)),
        smallest_(smallest_step) {}

  // Algorithm 3.5. Returns the best point, which is the start if no point has a smaller loss.
  Point search(double step) {
    Point before = start_;
    while (budget_ > 0) {
      Point point = at(step);
      if (!decreases(point) || (before.step > 0 && point.loss >= before.loss)) {
        return zoom(std::move(before), std::move(point));
      }
      if (is_flat(point)) return point;
      if (point.slope >= 0) return zoom(std::move(point), std::move(before));
      const double low = step + 0.01 * (step - before.step), high = 10 * step;
      const double next = cubic_minimum(before, point);
      before = std::move(point);
      step = std::isfinite(next) ? std::clamp(next, low, high) : high;
    }
    return before;
  }

 private:
  Point at(double step) {
    --budget_;
    return evaluate_(step);
  }
  bool decreases(const Point& point) const {
    return point.is_finite() && point.loss <= start_.loss + 1e-4 * point.step * start_.slope;
  }
  bool is_flat(const Point& point) const { return std::abs(point.slope) <= -0.9 * start_.slope; }

  // Algorithm 3.6: `low` has the smallest loss so far, and a minimum is between it and `high`.
  Point zoom(Point low, Point high) {
    while (budget_ > 0 && std::abs(high.step - low.step) > smallest_) {
      const double left = std::min(low.step, high.step), right = std::max(low.step, high.step);
      double step = high.is_finite() ? cubic_minimum(low, high) : (left + right) / 2;
      if (!std::isfinite(step)) step = (left + right) / 2;
      const double margin = 0.1 * (right - left);
      Point point = at(std::clamp(step, left + margin, right - margin));
      if (!decreases(point) || point.loss >= low.loss) {
        high = std::move(point);
        continue;
      }
      if (is_flat(point)) return point;
      if (point.slope * (high.step - low.step) >= 0) high = std::move(low);
      low = std::move(point);
    }
    return low;
  }

  const std::function<Point(double)>& evaluate_;
  Point start_;
  int budget_;
  double smallest_;
};

// The last steps and changes of the gradient.
class CurvaturePairs {
 public:
  explicit CurvaturePairs(int size) : size_(static_cast<std::size_t>(size)) {}

  void add(Vector step, Vector change) {
    const double product = dot(step, change);
    if (!(product > 1e-10 * dot(change, change))) return;  // keeps the matrix positive definite
    if (pairs_.size() == size_) pairs_.pop_front();
    pairs_.push_back({std::move(step), std::move(change), product});
  }
  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }

  // Returns minus the approximate inverse Hessian times the gradient: algorithm 7.4.
  Vector direction(const Vector& gradient) const {
    Vector q = gradient;
    Vector alphas(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      alphas[i] = dot(pairs_[i].step, q) / pairs_[i].product;
      q = moved(q, -alphas[i], pairs_[i].change);
    }
    if (!pairs_.empty()) {
      const Pair& last = pairs_.back();
      const double scale = last.product / dot(last.change, last.change);
      for (double& number : q) number *= scale;
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const double beta = dot(pairs_[i].change, q) / pairs_[i].product;
      q = moved(q, alphas[i] - beta, pairs_[i].step);
    }
    for (double& number : q) number = -number;
    return q;
  }

 private:
  struct Pair {
    Vector step, change;
    double product;
  };
  std::size_t size_;
  std::deque<Pair> pairs_;
};

void check(const LbfgsOptions& o) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) fail_usage(std::string("Lbfgs: ") + what);
  };
  require(o.max_iterations >= 1 && o.max_evaluations >= 0,
          "max_iterations must be at least 1, and max_evaluations not negative");
  require(o.history >= 1, "history must be at least 1");
  require(o.learning_rate > 0 && std::isfinite(o.learning_rate),
          "the learning rate must be a finite number above 0");
  require(o.gradient_tolerance >= 0 && o.change_tolerance >= 0,
          "the tolerances must not be negative");
}

bool is_chosen(const ir::Parameter& parameter, const std::vector<std::string>& patterns) {
  return parameter.trainable && !parameter.settings.frozen &&
         (patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) {
            return ir::matches(p, parameter.name());
          }));
}

}  // namespace

struct Lbfgs::State {
  Session* session;
  LbfgsOptions options;
  std::vector<Value> parameters;
  std::vector<Value> fetches;  // the loss and the gradients

  // The parameters that Session::freeze() left free, as one vector.
  std::vector<std::size_t> used() const {
    const std::vector<std::string> frozen = session->frozen();
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string& name = parameters[i].get()->name;
      if (!std::binary_search(frozen.begin(), frozen.end(), name)) used.push_back(i);
    }
    if (used.empty()) fail_usage("Lbfgs: all its parameters are frozen");
    return used;
  }

  Vector read(const std::vector<std::size_t>& chosen) const {
    Vector x;
    for (const std::size_t i : chosen) append(session->parameter(parameters[i].get()->name), x);
    return x;
  }
  void write(const std::vector<std::size_t>& chosen, const Vector& x) const {
    auto next = x.begin();
    for (const std::size_t i : chosen) {
      const std::string& name = parameters[i].get()->name;
      const std::vector<std::int64_t> shape = session->parameter(name).shape();
      const auto count =
          std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
      const Tensor tensor = Tensor::from(shape, Vector(next, next + count));
      session->set_parameter(name, tensor.cast(parameters[i].dtype()));
      next += count;
    }
  }
  static void append(const Tensor& tensor, Vector& x) {
    const Vector numbers = tensor.cast(f64).to_vector<double>();
    x.insert(x.end(), numbers.begin(), numbers.end());
  }

  Point evaluate(const Feeds& feeds, const std::vector<std::size_t>& chosen) const {
    std::vector<Value> wanted = {fetches[0]};
    for (const std::size_t i : chosen) wanted.push_back(fetches[i + 1]);
    const std::vector<Tensor> results = session->run(feeds, wanted, {.training = options.training});
    Point point;
    point.loss = results[0].cast(f64).item<double>();
    for (std::size_t i = 1; i < results.size(); ++i) append(results[i], point.gradient);
    return point;
  }
};

Lbfgs::Lbfgs(Session& session, const Value& loss, LbfgsOptions options, SourceLocation where) {
  check(options);
  if (!loss) fail_usage("Lbfgs: the loss is empty");
  state_ = std::make_unique<State>();
  state_->session = &session;
  for (const auto& parameter : loss.get()->program->parameters()) {
    if (is_chosen(*parameter, options.parameters)) {
      state_->parameters.emplace_back(parameter->value.get());
    }
  }
  if (state_->parameters.empty()) {
    fail_usage("Lbfgs: no trainable parameter of " + loss.get()->program->name +
               (options.parameters.empty() ? "" : " matches a pattern of `parameters`"));
  }
  state_->options = std::move(options);
  state_->fetches = gradients(loss, state_->parameters, where);
  state_->fetches.insert(state_->fetches.begin(), loss);
}

Lbfgs::~Lbfgs() = default;
Lbfgs::Lbfgs(Lbfgs&&) noexcept = default;
Lbfgs& Lbfgs::operator=(Lbfgs&&) noexcept = default;

namespace {

// One call of minimize().
class Minimization {
 public:
  // `evaluate` computes the loss and the gradient at x.
  Minimization(const LbfgsOptions& options, std::function<Point(const Vector& x)> evaluate,
               Vector x)
      : options_(options),
        evaluate_(std::move(evaluate)),
        x_(std::move(x)),
        limit_(options.max_evaluations > 0 ? options.max_evaluations : 25 * options.max_iterations),
        history_(options.history) {}

  LbfgsResult run() {
    at_x_ = evaluated(x_);
    if (!std::isfinite(at_x_.loss) || !std::isfinite(largest(at_x_.gradient))) {
      fail(ErrorKind::numeric, "Lbfgs: the first loss is " + std::to_string(at_x_.loss) +
                                   ", and it and its gradient must be finite");
    }
    while (!is_done() && take_step()) {
    }
    result_.loss = at_x_.loss;
    result_.gradient = largest(at_x_.gradient);
    return result_;
  }
  const Vector& x() const { return x_; }

 private:
  Point evaluated(const Vector& x) {
    ++result_.evaluations;
    return evaluate_(x);
  }
  bool is_done() {
    if (largest(at_x_.gradient) <= options_.gradient_tolerance) result_.converged = true;
    return result_.converged || result_.iterations >= options_.max_iterations ||
           result_.evaluations >= limit_;
  }

  // Returns whether there was a smaller loss.
  bool take_step() {
    Vector direction = history_.direction(at_x_.gradient);
    double slope = dot(at_x_.gradient, direction);
    if (!(slope < 0)) {  // rounding errors: start again along the gradient
      history_.clear();
      direction = history_.direction(at_x_.gradient);
      slope = dot(at_x_.gradient, direction);
    }
    double step = options_.learning_rate;
    if (history_.empty()) {
      double sum = 0;
      for (const double number : at_x_.gradient) sum += std::abs(number);
      step *= std::min(1.0, 1 / sum);
    }
    Point start = at_x_;
    start.step = 0, start.slope = slope;
    const std::function<Point(double)> along = [&](double length) {
      Point point = evaluated(moved(x_, length, direction));
      point.step = length;
      point.slope = dot(point.gradient, direction);
      return point;
    };
    const double smallest = options_.change_tolerance / std::max(largest(direction), 1e-300);
    Point found = LineSearch(along, start, limit_ - result_.evaluations, smallest).search(step);
    if (found.step == 0) {
      if (history_.empty()) return false;
      history_.clear();  // once more, along the gradient
      return true;
    }
    accept(std::move(found), direction);
    return true;
  }

  void accept(Point found, const Vector& direction) {
    Vector next = moved(x_, found.step, direction);
    const Vector change = moved(found.gradient, -1, at_x_.gradient);
    Vector step = moved(next, -1, x_);
    const bool is_small = largest(step) <= options_.change_tolerance &&
                          std::abs(found.loss - at_x_.loss) <= options_.change_tolerance;
    history_.add(std::move(step), change);
    x_ = std::move(next);
    at_x_ = std::move(found);
    ++result_.iterations;
    if (is_small) result_.converged = true;
  }

  const LbfgsOptions& options_;
  std::function<Point(const Vector&)> evaluate_;
  Vector x_;
  Point at_x_;
  int limit_;
  CurvaturePairs history_;
  LbfgsResult result_;
};

}  // namespace

LbfgsResult Lbfgs::minimize(const Feeds& feeds) {
  const State& state = *state_;
  const std::vector<std::size_t> chosen = state.used();
  Minimization minimization(
      state.options,
      [&](const Vector& x) {
        state.write(chosen, x);
        return state.evaluate(feeds, chosen);
      },
      state.read(chosen));
  LbfgsResult result;
  try {
    result = minimization.run();
  } catch (...) {
    state.write(chosen, minimization.x());  // the line search leaves the point that it tried last
    throw;
  }
  state.write(chosen, minimization.x());
  return result;
}

}  // namespace trireme
