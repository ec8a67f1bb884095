#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "functions.h"
#include "ir/program.h"
#include "trireme/optimizer.h"
#include "trireme/trainer.h"

namespace trireme::edges {
namespace {

using Numbers = std::vector<double>;
using Tensors = std::vector<Tensor>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr RunOptions kUpdate = {.training = true, .updates = true};

Numbers numbers_of(const Tensor& tensor) { return tensor.cast(DType::f64).to_vector<double>(); }

// The elements of each state side by side: [..., states], for states of the same shape.
Tensor side_by_side(const std::vector<Numbers>& states, std::vector<std::int64_t> shape,
                    DType dtype) {
  Numbers data;
  for (std::size_t i = 0; i < states[0].size(); ++i) {
    for (const Numbers& state : states) data.push_back(state[i]);
  }
  shape.push_back(static_cast<std::int64_t>(states.size()));
  return Tensor::from<double>(std::move(shape), data).cast(dtype);
}

// Elementwise rules: one parameter holds all x[0]. Its values before and after steps with the
// gradients x[1], x[2] and x[1].
Tensors train(const Optimizer& optimizer, const UpdateOptions& updates, const Tensors& x,
              const SessionOptions& options) {
  Program program("training");
  const Value p = program.parameter("p", x[0].dtype(), {x[0].dim(0)});
  const Value g = program.input("g", x[0].dtype(), {x[0].dim(0)});
  nn::apply_updates(optimizer, {p}, std::vector<Value>{g}, updates);
  Session session(program, options);
  session.set_parameter("p", x[0]);
  std::vector<Numbers> states = {numbers_of(x[0])};
  for (const std::size_t i : {1u, 2u, 1u}) {
    session.run({{"g", x[i]}}, {}, kUpdate);
    states.push_back(numbers_of(session.parameter("p")));
  }
  return {side_by_side(states, x[0].shape(), x[0].dtype())};
}

// The same, but the averages of the parameter after each step.
Tensors train_averages(const Optimizer& optimizer, const Average& average, const Tensors& x,
                       const SessionOptions& options) {
  Program program("training");
  const Value p = program.parameter("p", x[0].dtype(), {x[0].dim(0)});
  const Value g = program.input("g", x[0].dtype(), {x[0].dim(0)});
  nn::apply_updates(optimizer, {p}, std::vector<Value>{g}, {.average = average});
  Session session(program, options);
  session.set_parameter("p", x[0]);
  std::vector<Numbers> states;
  for (const std::size_t i : {0u, 1u, 2u, 1u}) {
    if (i > 0) session.run({{"g", x[i]}}, {}, kUpdate);
    const AveragedParameters averaged(program, session);
    states.push_back(numbers_of(session.parameter("p")));
  }
  return {side_by_side(states, x[0].shape(), x[0].dtype())};
}

// The same for the rows of a table. Its last row, which no gradient has, must not change.
class Table {
 public:
  Table(const Optimizer& optimizer, const Tensor& first, const SessionOptions& options)
      : dtype_(first.dtype()), count_(first.dim(0)) {
    const Value p = program_.parameter("p", dtype_, {count_ + 1, 1});
    const Value rows = program_.input("rows", DType::i64, {batch});
    const Value values = program_.input("values", dtype_, {batch, 1});
    nn::apply_updates(optimizer, {p}, std::vector<nn::Gradient>{{values, rows}});
    session_.emplace(program_, options);
    Numbers table = numbers_of(first);
    table.push_back(kUnused);
    session_->set_parameter("p", Tensor::from<double>({count_ + 1, 1}, table).cast(dtype_));
  }

  // The gradient in reverse order, each row once more with zero, and a row to ignore.
  Numbers step(const Tensor& gradient) {
    const Numbers numbers = numbers_of(gradient);
    Numbers values(numbers.rbegin(), numbers.rend());
    std::vector<std::int64_t> rows;
    for (std::int64_t i = count_; i-- > 0;) rows.push_back(i);
    for (std::int64_t i = 0; i < count_; ++i) rows.push_back(i);
    values.resize(rows.size());
    rows.push_back(-1);
    values.push_back(77);
    run(rows, values);
    Numbers table = numbers_of(session_->parameter("p"));
    if (table.back() != kUnused) fail_internal("a row without a gradient changed");
    table.pop_back();
    return table;
  }

  void step_without_rows() {
    const Tensor before = session_->parameter("p");
    run({}, {});
    if (!equal(before, session_->parameter("p"))) fail_internal("no rows, but the table changed");
  }

 private:
  static constexpr double kUnused = 7;

  void run(const std::vector<std::int64_t>& rows, const Numbers& values) {
    const auto count = static_cast<std::int64_t>(rows.size());
    session_->run({{"rows", Tensor::from<std::int64_t>({count}, rows)},
                   {"values", Tensor::from<double>({count, 1}, values).cast(dtype_)}},
                  {}, kUpdate);
  }

  DType dtype_;
  std::int64_t count_;
  Program program_{"training"};
  std::optional<Session> session_;
};

Tensors train_rows(const Optimizer& optimizer, const Tensors& x, const SessionOptions& options) {
  Table table(optimizer, x[0], options);
  std::vector<Numbers> states = {numbers_of(x[0])};
  for (const std::size_t i : {1u, 2u, 1u}) states.push_back(table.step(x[i]));
  table.step_without_rows();
  return {side_by_side(states, x[0].shape(), x[0].dtype())};
}

using Sizes = std::vector<std::int64_t>;

// Two parameters "a" and "b" whose values and gradients are the halves of a row. So a norm of one
// gradient and the norm of all differ.
class Halves {
 public:
  Halves(const Optimizer& optimizer, DType dtype, const Sizes& shape, const SessionOptions& options)
      : dtype_(dtype), shape_(shape) {
    for (const std::int64_t size : shape) half_ *= size;
    const Shape symbolic(shape.begin(), shape.end());
    std::vector<Value> parameters, gradients;
    for (const char* name : {"a", "b"}) {
      parameters.push_back(program_.parameter(name, dtype, symbolic));
      gradients.push_back(program_.input(std::string("gradient_") + name, dtype, symbolic));
    }
    nn::apply_updates(optimizer, parameters, gradients);
    session_.emplace(program_, options);
    for (const auto& parameter : program_.ir().parameters()) {
      initial_.emplace(parameter->name(), session_->parameter(parameter->name()));
    }
  }

  void reset(const Numbers& row) {
    for (const auto& [name, value] : initial_) session_->set_parameter(name, value);
    session_->set_parameter("a", part(row, 0));
    session_->set_parameter("b", part(row, half_));
    failed_ = false;
  }

  // Returns the values after the step. They are NaN from the first step that fails on.
  Numbers step(const Numbers& gradient) {
    if (!failed_) run(gradient);
    if (failed_) return Numbers(gradient.size(), kNan);
    Numbers row = numbers_of(session_->parameter("a"));
    const Numbers b = numbers_of(session_->parameter("b"));
    row.insert(row.end(), b.begin(), b.end());
    return row;
  }

 private:
  Tensor part(const Numbers& row, std::int64_t begin) const {
    const auto first = row.begin() + begin;
    return Tensor::from<double>(shape_, Numbers(first, first + half_)).cast(dtype_);
  }

  void run(const Numbers& gradient) {
    const Tensor a = session_->parameter("a"), b = session_->parameter("b");
    const Feeds feeds = {{"gradient_a", part(gradient, 0)}, {"gradient_b", part(gradient, half_)}};
    try {
      session_->run(feeds, {}, kUpdate);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::numeric) throw;
      failed_ = true;
      if (!equal(a, session_->parameter("a")) || !equal(b, session_->parameter("b"))) {
        fail_internal("a step that failed changed a parameter");
      }
    }
  }

  DType dtype_;
  Sizes shape_;
  std::int64_t half_ = 1;  // elements of each parameter
  Program program_{"training"};
  std::optional<Session> session_;
  std::map<std::string, Tensor> initial_;
  bool failed_ = false;
};

// Rules that are not elementwise: each row is trained alone, as parameters of this shape, with its
// gradient, the gradient in reverse order, and 0.5.
Tensors train_alone(const Optimizer& optimizer, const Sizes& shape, const Tensors& x,
                    const SessionOptions& options) {
  const auto width = static_cast<std::size_t>(x[0].dim(1));
  const Numbers first = numbers_of(x[0]), gradients = numbers_of(x[1]);
  Halves halves(optimizer, x[0].dtype(), shape, options);
  std::vector<Numbers> states(4);
  const auto append = [](Numbers& to, const Numbers& row) {
    to.insert(to.end(), row.begin(), row.end());
  };
  for (std::size_t i = 0; i < first.size(); i += width) {
    const auto row_of = [&](const Numbers& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
      return Numbers(begin, begin + static_cast<std::ptrdiff_t>(width));
    };
    const Numbers row = row_of(first), gradient = row_of(gradients);
    halves.reset(row);
    append(states[0], row);
    append(states[1], halves.step(gradient));
    append(states[2], halves.step(Numbers(gradient.rbegin(), gradient.rend())));
    append(states[3], halves.step(Numbers(width, 0.5)));
  }
  return {side_by_side(states, x[0].shape(), x[0].dtype())};
}

const std::vector<DType> kTrained = {DType::f32, DType::f64};

// `torch` makes an optimizer of the parameters w; `more` are other arguments of training.steps().
void add(std::vector<Function>& all, const std::string& name, const std::string& torch,
         const Optimizer& optimizer, const std::string& more = "",
         const UpdateOptions& updates = {}) {
  all.push_back(
      {.name = "optimizer " + name,
       .torch = "training.steps(lambda w: " + torch + ", x" + more + ")",
       .sources =
           [](DType d) {
             return std::vector{few_points(d), few_points(d), numbers(d, {0, 1, -2})};
           },
       .dtypes = kTrained,
       .compute = [=](const Tensors& x,
                      const SessionOptions& o) { return train(optimizer, updates, x, o); }});
}

// Also as rows of a table.
void add_both(std::vector<Function>& all, const std::string& name, const std::string& torch,
              const Optimizer& optimizer) {
  add(all, name, torch, optimizer);
  Function by_rows = all.back();
  by_rows.name += ", rows";
  by_rows.compute = [=](const Tensors& x, const SessionOptions& o) {
    return train_rows(optimizer, x, o);
  };
  all.push_back(std::move(by_rows));
}

// Cuts or repeats each row to `width` numbers.
Source cycled(Source source, std::size_t width) {
  for (Numbers& row : source.entries) {
    const Numbers whole = row;
    row.resize(width);
    for (std::size_t i = 0; i < width; ++i) row[i] = whole[i % whole.size()];
  }
  return source;
}

// Of whole parameters of this shape.
void add_alone(std::vector<Function>& all, const std::string& name, const std::string& torch,
               const Optimizer& optimizer, const std::string& more = "", const Sizes& shape = {2}) {
  std::size_t width = 2;
  for (const std::int64_t size : shape) width *= static_cast<std::size_t>(size);
  const auto sources = [width](DType d) {
    const bool wide = d == DType::f64;
    const double largest =
        wide ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    const double tiny = wide ? 1e-310 : 0x1p-140;
    const Source first = {{{0, 0, 0, 0},
                           {1, -2, 0.5, 3},
                           {tiny, 0, -tiny, tiny},
                           {largest, 0, 1, -1},
                           {kNan, 1, 2, 3},
                           {kInfinity, 1, -1, 0}},
                          true,
                          d};
    return std::vector{cycled(first, width), rows(d, width)};
  };
  all.push_back({.name = "optimizer " + name,
                 .torch = "training.alone(lambda w: " + torch + ", x" + more + ")",
                 .sources = sources,
                 .dtypes = kTrained,
                 .compute = [=](const Tensors& x, const SessionOptions& o) {
                   return train_alone(optimizer, shape, x, o);
                 }});
}

void add_sgd(std::vector<Function>& all) {
  const std::string sgd = "torch.optim.SGD(w, lr=0.037";
  add_both(all, "sgd", sgd + ")", Sgd{.learning_rate = 0.037});
  add(all, "sgd with decay", sgd + ", weight_decay=0.1)",
      Sgd{.learning_rate = 0.037, .weight_decay = 0.1});
  add(all, "sgd with l1 and l2", sgd + ")", Sgd{.learning_rate = 0.037}, ", l1=0.1, l2=0.01",
      {.l1 = 0.1, .l2 = 0.01});
  add(all, "sgd of two steps", sgd + ")", Sgd{.learning_rate = 0.037}, ", every=2",
      {.accumulate = 2});
  add(all, "sgd clipped by value", sgd + ")", Sgd{.learning_rate = 0.037, .clip = {.value = 0.5}},
      ", value=0.5");
  add_both(all, "momentum", sgd + ", momentum=0.9)", Momentum{.learning_rate = 0.037});
  add_both(all, "nesterov", sgd + ", momentum=0.9, nesterov=True)",
           Momentum{.learning_rate = 0.037, .nesterov = true});
}

void add_rprop(std::vector<Function>& all) {
  add(all, "rprop", "torch.optim.Rprop(w, lr=0.037)", Rprop{.learning_rate = 0.037});
  add(all, "rprop with limits",
      "torch.optim.Rprop(w, lr=0.037, etas=(0.25, 1.5), step_sizes=(0.03, 0.05))",
      Rprop{.learning_rate = 0.037,
            .decrease = 0.25,
            .increase = 1.5,
            .min_step = 0.03,
            .max_step = 0.05});
}

void add_adam(std::vector<Function>& all) {
  const std::string adam = "torch.optim.Adam(w, lr=0.037";
  add_both(all, "adam", adam + ")", Adam{.learning_rate = 0.037});
  add_both(all, "adam with amsgrad", adam + ", amsgrad=True)",
           Adam{.learning_rate = 0.037, .amsgrad = true});
  add(all, "adam with decay", adam + ", weight_decay=0.1)",
      Adam{.learning_rate = 0.037, .weight_decay = 0.1});
  add(all, "adam clipped by value", adam + ")", Adam{.learning_rate = 0.037, .clip = {.value = 2}},
      ", value=2");
  add(all, "adamw", "torch.optim.AdamW(w, lr=0.037, weight_decay=0.1)",
      AdamW{.learning_rate = 0.037, .weight_decay = 0.1});
  add_both(all, "adamax", "torch.optim.Adamax(w, lr=0.037)", Adamax{.learning_rate = 0.037});
  add_both(all, "nadam", "training.Formula(w, formulas.nadam, rate=0.037)",
           NAdam{.learning_rate = 0.037});
  add_both(all, "radam", "torch.optim.RAdam(w, lr=0.037)", RAdam{.learning_rate = 0.037});
  add(all, "radam of short memory",
      "torch.optim.RAdam(w, lr=0.037, betas=(0.9, 0.5), weight_decay=0.1)",
      RAdam{.learning_rate = 0.037, .beta2 = 0.5, .weight_decay = 0.1});
  add_both(all, "lion", "training.Formula(w, training.lion, rate=0.037)",
           Lion{.learning_rate = 0.037});
  add(all, "lion with decay", "training.Formula(w, training.lion, rate=0.037, weight_decay=0.1)",
      Lion{.learning_rate = 0.037, .weight_decay = 0.1});
}

void add_roots(std::vector<Function>& all) {
  add_both(all, "adagrad", "torch.optim.Adagrad(w, lr=0.037)", Adagrad{.learning_rate = 0.037});
  add(all, "adagrad with decay",
      "torch.optim.Adagrad(w, lr=0.037, initial_accumulator_value=0.1, weight_decay=0.1)",
      Adagrad{.learning_rate = 0.037, .initial = 0.1, .weight_decay = 0.1});
  add_both(all, "decayed adagrad", "torch.optim.RMSprop(w, lr=0.037, alpha=0.95, eps=1e-6)",
           DecayedAdagrad{.learning_rate = 0.037});
  add_both(all, "adadelta", "torch.optim.Adadelta(w, lr=0.37)", Adadelta{.learning_rate = 0.37});
  const std::string rmsprop = "torch.optim.RMSprop(w, lr=0.037";
  add_both(all, "rmsprop", rmsprop + ")", RmsProp{.learning_rate = 0.037});
  add_both(all, "rmsprop centered", rmsprop + ", centered=True, momentum=0.5)",
           RmsProp{.learning_rate = 0.037, .momentum = 0.5, .centered = true});
  add(all, "rmsprop with decay", rmsprop + ", weight_decay=0.1)",
      RmsProp{.learning_rate = 0.037, .weight_decay = 0.1});
  add_both(all, "ftrl", "training.Formula(w, training.ftrl, rate=0.1, l1=0.5, l2=0.1)",
           Ftrl{.learning_rate = 0.1, .l1 = 0.5, .l2 = 0.1});
}

void add_norms(std::vector<Function>& all) {
  const std::string sgd = "torch.optim.SGD(w, lr=0.037)", adam = "torch.optim.Adam(w, lr=0.037)";
  add_alone(all, "sgd clipped by norm", sgd, Sgd{.learning_rate = 0.037, .clip = {.norm = 1}},
            ", norm=1");
  add_alone(all, "sgd clipped by global norm", sgd,
            Sgd{.learning_rate = 0.037, .clip = {.global_norm = 1}}, ", global_norm=1");
  add_alone(all, "adam clipped by all", adam,
            Adam{.learning_rate = 0.037, .clip = {.value = 2, .norm = 1.5, .global_norm = 1.25}},
            ", value=2, norm=1.5, global_norm=1.25");
  add_alone(all, "lamb", "training.Formula(w, training.lamb, rate=0.037, weight_decay=0.01)",
            Lamb{.learning_rate = 0.037});
  add_alone(all, "lamb without decay",
            "training.Formula(w, training.lamb, rate=0.037, weight_decay=0)",
            Lamb{.learning_rate = 0.037, .weight_decay = 0});
  add_alone(all, "lars", "training.Formula(w, training.lars, rate=0.37, weight_decay=0.1)",
            Lars{.learning_rate = 0.37, .weight_decay = 0.1});
  add_alone(all, "lars without decay", "training.Formula(w, training.lars, rate=0.37)",
            Lars{.learning_rate = 0.37, .weight_decay = 0});
  add_alone(all, "adafactor", "training.Formula(w, training.adafactor, rate=0.037)",
            Adafactor{.learning_rate = 0.037});
  add_alone(
      all, "adafactor of matrices",
      "training.Formula(w, training.of_matrix, formula=formulas.adafactor, rows=2, rate=0.037)",
      Adafactor{.learning_rate = 0.037}, "", {2, 3});
}

// Of matrices; those of one column or row, too.
void add_muon(std::vector<Function>& all) {
  const auto muon = [](const std::string& rows, const std::string& more = "") {
    return "training.Formula(w, training.of_matrix, formula=formulas.muon, rate=0.037, rows=" +
           rows + more + ")";
  };
  add_alone(all, "muon", muon("2"), Muon{.learning_rate = 0.037}, "", {2, 3});
  add_alone(
      all, "muon", muon("3", ", nesterov=False, weight_decay=0.1, match_rms_adamw=True"),
      Muon{.learning_rate = 0.037, .nesterov = false, .match_rms_adamw = true, .weight_decay = 0.1},
      "", {3, 2});
  add_alone(all, "muon", muon("1"), Muon{.learning_rate = 0.037}, "", {1, 1});
  add_alone(all, "muon of vectors",
            "torch.optim.AdamW(w, lr=0.037 * 0.015, betas=(0.9, 0.95), weight_decay=0)",
            Muon{.learning_rate = 0.037});
}

void add_schedule_free(std::vector<Function>& all) {
  const std::string formula = "training.Formula(w, training.schedule_free";
  add(all, "schedule_free_sgd", formula + "_sgd, rate=0.037)",
      ScheduleFreeSgd{.learning_rate = 0.037});
  add(all, "schedule_free_sgd with decay", formula + "_sgd, rate=0.037, beta=0, weight_decay=0.1)",
      ScheduleFreeSgd{.learning_rate = 0.037, .momentum = 0, .weight_decay = 0.1});
  // The first step does not count, and its rate does not move the parameter.
  add(all, "schedule_free_sgd from 0", formula + "_sgd, rate=(0, 0.037, 0.01))",
      ScheduleFreeSgd{.learning_rate = Schedule::piecewise_constant({0, 0.037, 0.01}, {1, 2})});
  add(all, "schedule_free_adamw", formula + "_adamw, rate=0.037)",
      ScheduleFreeAdamW{.learning_rate = 0.037});
  add(all, "schedule_free_adamw with decay", formula + "_adamw, rate=0.037, weight_decay=0.1)",
      ScheduleFreeAdamW{.learning_rate = 0.037, .weight_decay = 0.1});
}

void add_average(std::vector<Function>& all, const std::string& name, const std::string& torch,
                 const Average& average) {
  const Sgd sgd{.learning_rate = 0.037};
  add(all, name, "torch.optim.SGD(w, lr=0.037)", sgd);
  all.back().name = "average " + name;
  all.back().torch = torch + "(" + all.back().torch + ")";
  all.back().compute = [=](const Tensors& x, const SessionOptions& options) {
    return train_averages(sgd, average, x, options);
  };
}

void add_averages(std::vector<Function>& all) {
  add_average(all, "exponential", "(lambda path: training.exponential(path, 0.75))",
              Average::exponential(0.75));
  add_average(all, "exponential without correction",
              "(lambda path: training.exponential(path, 0.75, correct_bias=False))",
              Average::exponential(0.75, false));
  add_average(all, "window", "(lambda path: training.window(path, 1))", Average::window(1));
  add_average(all, "window of all", "(lambda path: training.window(path, 2))", Average::window(2));
  const ScheduleFreeSgd rule{.learning_rate = 0.037};
  add(all, "schedule_free", "training.Formula(w, training.schedule_free_sgd, rate=0.037)", rule,
      ", of='x'");
  all.back().name = "average schedule_free";
  all.back().compute = [=](const Tensors& x, const SessionOptions& options) {
    return train_averages(rule, {}, x, options);
  };
}

}  // namespace

std::vector<Function> optimizer_functions() {
  std::vector<Function> all;
  add_sgd(all);
  add_adam(all);
  add_rprop(all);
  add_roots(all);
  add_norms(all);
  add_muon(all);
  add_schedule_free(all);
  add_averages(all);
  return all;
}

}  // namespace trireme::edges
