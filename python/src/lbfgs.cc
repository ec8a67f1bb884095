// Lbfgs: runs a Session several times for each step, without the interpreter lock.

#include "trireme/lbfgs.h"

#include <nanobind/stl/string.h>

#include "arguments.h"
#include "location.h"
#include "module.h"
#include "sessions.h"

namespace trireme::python {

namespace {

// Also holds the Session to find out whether another thread uses it.
struct HeldLbfgs {
  Session* session;
  Lbfgs lbfgs;
};

void make(HeldLbfgs* self, Session& session, nb::handle given, const nb::kwargs& arguments) {
  const Call call("Lbfgs", arguments, caller());
  Value loss;
  if (!read(given, loss)) {
    throw Error(ErrorKind::usage, "Lbfgs: the loss is of type " + type_text(given) +
                                      "\n  hint   give a scalar Value of the Session's Program");
  }
  LbfgsOptions options;
  call.set("max_iterations", options.max_iterations);
  call.set("max_evaluations", options.max_evaluations);
  call.set("history", options.history);
  call.set("learning_rate", options.learning_rate);
  call.set("gradient_tolerance", options.gradient_tolerance);
  call.set("change_tolerance", options.change_tolerance);
  call.set("parameters", options.parameters);
  call.set("training", options.training);
  new (self) HeldLbfgs{&session, Lbfgs(session, loss, options, caller())};
}

LbfgsResult minimize_unlocked(HeldLbfgs& self, const nb::dict& arrays) {
  const Feeds feeds = feeds_of(arrays);
  const InUse used(self.session);
  const nb::gil_scoped_release unlocked;
  return self.lbfgs.minimize(feeds);
}

}  // namespace

void add_lbfgs(nb::module_& m) {
  nb::class_<LbfgsResult>(m, "LbfgsResult", "What Lbfgs.minimize() has reached.")
      .def_ro("loss", &LbfgsResult::loss)
      .def_ro("gradient", &LbfgsResult::gradient,
              "The largest absolute value of an element of the gradient.")
      .def_ro("iterations", &LbfgsResult::iterations)
      .def_ro("evaluations", &LbfgsResult::evaluations)
      .def_ro("converged", &LbfgsResult::converged,
              "Whether a tolerance was reached, not a limit.");
  nb::class_<HeldLbfgs>(
      m, "Lbfgs",
      "L-BFGS (Liu and Nocedal 1989) with a line search for the strong Wolfe conditions, for whole "
      "data sets and few parameters. Raises UsageError for options out of range.")
      .def("__init__", make, nb::keep_alive<1, 2>(), nb::arg("session"), nb::arg("loss"),
           nb::arg("options"),
           nb::sig("def __init__(self, session: Session, loss: Value, *, max_iterations: int = "
                   "100, max_evaluations: int = 0, history: int = 10, learning_rate: float = 1.0, "
                   "gradient_tolerance: float = 1e-7, change_tolerance: float = 1e-9, parameters: "
                   "Sequence[str] = (), training: bool = False) -> None"),
           "Appends the gradients of the loss, a scalar, to its Program. max_evaluations: of the "
           "loss and its gradients; 0 is 25 for each iteration. parameters: patterns of names; * "
           "matches any text.")
      .def("minimize", minimize_unlocked, nb::arg("feeds"),
           nb::sig("def minimize(self, feeds: Mapping[str, Any]) -> LbfgsResult"),
           "Changes the parameters of the Session until a tolerance or a limit is reached, or no "
           "smaller loss is found. Raises NumericError if the first loss is not finite.");
}

}  // namespace trireme::python
