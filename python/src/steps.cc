// Recurrent networks with a step that is a Python function. The function runs once, to build the
// Program.

#include <nanobind/stl/string.h>

#include "arguments.h"
#include "location.h"
#include "module.h"
#include "trireme/error.h"
#include "trireme/rnn.h"
#include "values.h"

namespace trireme::python {

namespace {

Value value_of(nb::handle given, const char* what) {
  Value value;
  if (!read(given, value)) {
    throw Error(ErrorKind::usage, std::string(what) + " needs a Value, not " + type_text(given));
  }
  return value;
}

nb::object state(nn::Step& step, const nb::kwargs& given) {
  nn::StateOptions options;
  const Call call("Step.state", given, caller());
  call.set("width", options.width);
  call.set("row", options.row);
  call.set("value", options.value);
  call.set("init", options.init);
  call.set("dtype", options.dtype);
  return to_python(step.state(options, call.where()));
}

nb::object run_rnn(const nb::object& function, const nb::kwargs& given) {
  const KeepRecording kept;
  nn::RnnOptions options;
  const Call call("nn.rnn", given, caller());
  call.set("reverse", options.reverse);
  call.set("over", options.over);
  const nn::RnnResult result =
      nn::run_rnn([&](nn::Step& step) { function(nb::cast(&step, nb::rv_policy::reference)); },
                  options, call.where());
  return nb::make_tuple(to_python(result.outputs), to_python(result.states));
}

}  // namespace

void add_steps(nb::module_& m) {
  nb::class_<nn::Step>(m, "Step", "One step of a recurrent network, while its function runs.")
      .def(
          "input",
          [](nn::Step& step, nb::handle x) {
            return to_python(step.input(value_of(x, "Step.input"), caller()));
          },
          nb::arg("x"), nb::sig("def input(self, x: Value) -> Value"), "The row of x at this step.")
      .def(
          "static_input",
          [](nn::Step& step, nb::handle x) {
            return to_python(step.static_input(value_of(x, "Step.static_input"), caller()));
          },
          nb::arg("x"), nb::sig("def static_input(self, x: Value) -> Value"),
          "What each sequence reads at all its steps.")
      .def("state", state, nb::arg("options"),
           nb::sig("def state(self, *, width: int = 0, row: Sequence[int | str] = (), value: float "
                   "= 0, init: Value | None = None, dtype: DType | str = ...) -> Value"),
           "What the step before passed to update(), or the initial value.")
      .def(
          "update",
          [](nn::Step& step, nb::handle held, nb::handle next) {
            step.update(value_of(held, "Step.update"), value_of(next, "Step.update"), caller());
          },
          nb::arg("state"), nb::arg("next"),
          nb::sig("def update(self, state: Value, next: Value) -> None"),
          "Sets the value of a state at the next step.")
      .def(
          "output",
          [](nn::Step& step, nb::handle value) {
            step.output(value_of(value, "Step.output"), caller());
          },
          nb::arg("value"), nb::sig("def output(self, value: Value) -> None"),
          "Adds an output of the network.")
      .def(
          "attention",
          [](nn::Step& step, nb::handle weights) {
            step.attention(value_of(weights, "Step.attention"), caller());
          },
          nb::arg("weights"), nb::sig("def attention(self, weights: Value) -> None"),
          "Reports attention weights, for beam search.");
  m.def("run_rnn", run_rnn, nb::arg("step"), nb::arg("options"),
        nb::sig("def run_rnn(step: Callable[[Step], None], *, reverse: bool = False, over: Value | "
                "None = None) -> tuple[list[Value], list[Value]]"));
}

}  // namespace trireme::python
