// minimize() and the Trainer.

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "arrays.h"
#include "location.h"
#include "module.h"
#include "sessions.h"
#include "trireme/error.h"
#include "trireme/trainer.h"
#include "values.h"

namespace trireme::python {

nb::dict numbers_of(const Metrics& metrics) {
  nb::dict numbers;
  for (const auto& [name, number] : metrics.numbers()) numbers[name.c_str()] = number;
  for (const auto& [name, tensor] : metrics.tensors()) numbers[name.c_str()] = array_of(tensor);
  return numbers;
}

namespace {

UpdateOptions update_options(const Call& call) {
  UpdateOptions options;
  call.set("accumulate", options.accumulate);
  call.set("accumulate_weight", options.accumulate_weight);
  call.set("average", options.average);
  call.set("l1", options.l1);
  call.set("l2", options.l2);
  call.set("name", options.name);
  call.set("parameters", options.parameters);
  call.set("adjustable_rate", options.adjustable_rate);
  return options;
}

// A Python function called from a thread that may not hold the interpreter lock. It holds the lock
// where it is destroyed, too.
class Callable {
 public:
  explicit Callable(nb::object function) : function_(new nb::object(std::move(function)), drop) {}
  template <class... Arguments>
  bool operator()(const Arguments&... arguments) const {
    return PyObject_IsTrue((*function_)(arguments...).ptr()) == 1;
  }

 private:
  static void drop(const nb::object* function) {
    const nb::gil_scoped_acquire lock;
    delete function;
  }
  std::shared_ptr<nb::object> function_;
};

std::optional<Callable> callable(const nb::kwargs& given, const char* name) {
  if (!given.contains(name) || given[name].is_none()) return std::nullopt;
  const nb::object function = nb::borrow(given[name]);
  if (PyCallable_Check(function.ptr()) == 0) {
    throw Error(ErrorKind::usage, std::string("Trainer.fit: ") + name + " is no function");
  }
  return Callable(function);
}

nb::dict report_of(const EpochReport& report) {
  nb::dict made;
  made["epoch"] = report.epoch;
  made["epochs"] = report.epochs;
  made["training"] = numbers_of(report.training);
  made["validation"] = numbers_of(report.validation);
  made["seconds"] = report.seconds;
  return made;
}

// Calls a function of Python, unless Ctrl-C has come before. Python may raise KeyboardInterrupt in
// any function: then the training goes on to the end of the step. Returns whether the result was
// true.
template <class... Arguments>
bool call_unless(Interrupt& interrupt, const Callable& function, const Arguments&... arguments) {
  if (interrupt.error) return false;
  try {
    return function(arguments...);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_KeyboardInterrupt)) throw;
    interrupt.error.emplace(std::move(error));
    return false;
  }
}

void set_callbacks(const nb::kwargs& given, FitOptions& options,
                   const std::shared_ptr<Interrupt>& interrupt) {
  if (const auto function = callable(given, "after_epoch")) {
    options.after_epoch = [f = *function, interrupt](const EpochReport& report) {
      const nb::gil_scoped_acquire lock;
      return call_unless(*interrupt, f, report_of(report));
    };
  }
  if (const auto function = callable(given, "after_step")) {
    options.after_step = [f = *function, interrupt](std::int64_t step, double loss) {
      const nb::gil_scoped_acquire lock;
      call_unless(*interrupt, f, step, loss);
    };
  }
  if (const auto function = callable(given, "after_evaluation")) {
    options.after_evaluation = [f = *function, interrupt](std::int64_t step,
                                                          const Metrics& metrics) {
      const nb::gil_scoped_acquire lock;
      call_unless(*interrupt, f, step, numbers_of(metrics));
    };
  }
}

void set_watch(const Call& call, const char* name, Watch& watch) { call.set(name, watch.metric); }

// Callbacks of C++; those of Python are functions here.
void set_native_callbacks(const nb::kwargs& given, FitOptions& options) {
  if (!given.contains("callbacks") || given["callbacks"].is_none()) return;
  for (const nb::handle callback : nb::object(given["callbacks"])) {
    if (!nb::try_cast(nb::borrow(callback), options.callbacks.emplace_back(), false)) {
      throw Error(ErrorKind::usage,
                  "Trainer.fit: a callback is of type " + type_text(callback) +
                      "\n  hint   Model.fit takes those of Python, and Trainer.fit after_epoch");
    }
  }
}

void set_fit_options(const Call& call, FitOptions& options) {
  call.set("epochs", options.epochs);
  call.set("max_steps", options.max_steps);
  call.set("progress", options.progress);
  call.set("evaluate_every", options.evaluate_every);
  call.set("run", options.run);
  call.set("log_every", options.log_every);
  call.set("resume", options.resume);
  call.set("checkpoint_directory", options.checkpoint.directory);
  call.set("checkpoint_every_epoch", options.checkpoint.every_epoch);
  call.set("checkpoint_every_steps", options.checkpoint.every_steps);
  call.set("checkpoint_every_seconds", options.checkpoint.every_seconds);
  call.set("keep_checkpoints", options.checkpoint.keep);
  set_watch(call, "best", options.checkpoint.best);
  set_watch(call, "early_stopping", options.early_stopping.watch);
  call.set("patience", options.early_stopping.patience);
  call.set("min_delta", options.early_stopping.min_delta);
}

}  // namespace

std::shared_ptr<Interrupt> set_fit(const char* function, const nb::kwargs& given,
                                   FitOptions& options) {
  auto interrupt = std::make_shared<Interrupt>();
  set_fit_options(Call(function, given, caller()), options);
  set_callbacks(given, options, interrupt);
  set_native_callbacks(given, options);
  options.stop = [interrupt] {
    const nb::gil_scoped_acquire lock;
    if (!interrupt->error && PyErr_CheckSignals() != 0) interrupt->error.emplace();
    return interrupt->error.has_value();
  };
  return interrupt;
}

namespace {

nb::dict fit(Trainer& trainer, const data::Batches& batches, nb::handle validation,
             const nb::kwargs& given) {
  FitOptions options;
  const auto interrupt = set_fit("Trainer.fit", given, options);
  const data::Batches* validating = nullptr;
  if (!validation.is_none() && !nb::try_cast(nb::borrow(validation), validating, false)) {
    throw Error(ErrorKind::usage, "Trainer.fit: validation is of type " + type_text(validation));
  }
  options.validation = validating;
  std::optional<Metrics> metrics;
  const InUse used(&trainer.session());
  {
    const nb::gil_scoped_release unlocked;
    metrics = trainer.fit(batches, options);
  }
  if (interrupt->error) throw std::move(*interrupt->error);
  return numbers_of(*metrics);
}

TrainerOptions trainer_options(nb::handle loss, nb::handle optimizer, nb::handle metrics,
                               const nb::kwargs& given) {
  nb::dict all;
  all.update(given);
  all["loss"] = loss;
  all["optimizer"] = optimizer;
  all["metrics"] = metrics;
  const Call call("Trainer", all, caller());
  TrainerOptions options;
  options.loss = call.get<Value>("loss");
  options.optimizer = call.get<Optimizer>("optimizer");
  call.set("metrics", options.metrics);
  call.set("trace_nan", options.trace_nan);
  options.updates = update_options(call);
  options.session = session_options(call);
  return options;
}

void make_trainer(Trainer* self, nb::handle loss, nb::handle optimizer, nb::handle metrics,
                  const nb::kwargs& given) {
  TrainerOptions options = trainer_options(loss, optimizer, metrics, given);
  Program program = Program::of(options.loss);
  new (self) Trainer(program, std::move(options), caller());
}

void add_optimizers(nb::module_& m) {
  nb::class_<HeldOptimizer>(m, "Optimizer", "How parameters change with their gradients.");
  nb::class_<Schedule>(m, "Schedule", "A learning rate as a function of the step.")
      .def("at", &Schedule::at, nb::arg("step"), "The rate of a step, from 0.")
      .def("warmup", &Schedule::warmup, nb::arg("steps"),
           "A straight line up to the rate during this many steps, then this Schedule.")
      .def(
          "on_plateau",
          [](const Schedule& schedule, nb::handle given) {
            Plateau plateau;
            if (!read(given, plateau)) {
              throw Error(ErrorKind::usage, "Schedule.on_plateau takes a Plateau");
            }
            return schedule.on_plateau(plateau);
          },
          nb::arg("plateau"), nb::sig("def on_plateau(self, plateau: Any) -> Schedule"),
          "Lowers the rate where a metric stops improving.");
  nb::class_<Metric>(m, "Metric", "A measured number in addition to the loss.")
      .def_ro("name", &Metric::name)
      .def(
          "compute",
          [](const Metric& metric) {
            return metric.is_number() ? nb::object(nb::float_(measure(metric)))
                                      : array_of(measure_tensor(metric));
          },
          nb::sig("def compute(self) -> Any"),
          "The number, or the array, of a metric of arrays: tr.metrics.auc(scores, "
          "labels).compute().");
}

}  // namespace

void add_training(nb::module_& m) {
  add_optimizers(m);
  m.def(
      "minimize",
      [](nb::handle loss, nb::handle optimizer, const nb::kwargs& given) {
        nb::dict all;
        all.update(given);
        all["loss"] = loss;
        all["optimizer"] = optimizer;
        const Call call("minimize", all, caller());
        minimize(call.get<Value>("loss"), call.get<Optimizer>("optimizer"), update_options(call),
                 {}, call.where());
      },
      nb::arg("loss"), nb::arg("optimizer"), nb::arg("options"),
      nb::sig("def minimize(loss: Value, optimizer: Optimizer, *, name: str = '', parameters: "
              "Sequence[str] = (), adjustable_rate: bool = False, accumulate: int = 1, "
              "accumulate_weight: Value | None = None, "
              "average: Any = None, l1: float = 0, l2: float = 0) -> None"),
      "Adds the gradients of a loss and the updates of an optimizer to the Program.");
  // For trireme.distributed, which changes them.
  nb::class_<TrainerOptions>(m, "TrainerOptions")
      .def(
          "__init__",
          [](TrainerOptions* self, nb::handle loss, nb::handle optimizer, nb::handle metrics,
             const nb::kwargs& given) {
            new (self) TrainerOptions(trainer_options(loss, optimizer, metrics, given));
          },
          nb::arg("loss"), nb::arg("optimizer"), nb::arg("metrics") = nb::none(),
          nb::arg("options"),
          nb::sig("def __init__(self, loss: Value, optimizer: Optimizer, metrics: "
                  "Sequence[Metric] | None = None, **options: Any) -> None"));
  m.def(
      "make_trainer",
      [](const TrainerOptions& options, nb::handle) {
        Program program = Program::of(options.loss);
        return Trainer(program, options, caller());
      },
      nb::arg("options"), nb::arg("keep"), nb::keep_alive<0, 2>(),
      nb::sig("def make_trainer(options: TrainerOptions, keep: object) -> Trainer"),
      "A Trainer, which keeps an object alive.");
  nb::class_<Trainer>(m, "Trainer", "Trains, evaluates and saves one Program.")
      .def("__init__", make_trainer, nb::arg("loss"), nb::arg("optimizer"),
           nb::arg("metrics") = nb::none(), nb::arg("options"),
           nb::sig("def __init__(self, loss: Value, optimizer: Optimizer, metrics: "
                   "Sequence[Metric] | None = None, **options: Any) -> None"))
      .def(
          "step",
          [](Trainer& trainer, const nb::dict& arrays) {
            const Feeds feeds = feeds_of(arrays);
            const InUse used(&trainer.session());
            const nb::gil_scoped_release unlocked;
            return trainer.step(feeds);
          },
          nb::arg("batch"), nb::sig("def step(self, batch: Mapping[str, Any]) -> float"),
          "Runs one step on one batch and returns the loss.")
      .def("fit", fit, nb::arg("batches"), nb::arg("validation") = nb::none(), nb::arg("options"),
           nb::sig("def fit(self, batches: Batches, validation: Batches | None = None, **options: "
                   "Any) -> dict[str, float]"),
           "Trains and returns the metrics of the last epoch.")
      .def(
          "evaluate",
          [](Trainer& trainer, const data::Batches& batches) {
            std::optional<Metrics> metrics;
            const InUse used(&trainer.session());
            {
              const nb::gil_scoped_release unlocked;
              metrics = trainer.evaluate(batches);
            }
            return numbers_of(*metrics);
          },
          nb::arg("batches"), nb::sig("def evaluate(self, batches: Batches) -> dict[str, float]"))
      .def(
          "predict",
          [](Trainer& trainer, const data::Batches& batches, nb::handle value) {
            Value asked;
            if (!read(value, asked)) {
              throw Error(ErrorKind::usage, "Trainer.predict needs a Value");
            }
            Tensor result;
            const InUse used(&trainer.session());
            {
              const nb::gil_scoped_release unlocked;
              result = trainer.predict(batches, asked);
            }
            return array_of(result);
          },
          nb::arg("batches"), nb::arg("value"),
          nb::sig("def predict(self, batches: Batches, value: Value) -> NDArray[Any]"))
      .def("save_checkpoint", &Trainer::save_checkpoint, nb::arg("directory"))
      .def("resume", &Trainer::resume, nb::arg("directory"))
      .def_prop_ro("session", &Trainer::session, nb::rv_policy::reference_internal)
      .def_prop_ro("steps", &Trainer::steps);
}

}  // namespace trireme::python
