// Saved models.

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "arguments.h"
#include "arrays.h"
#include "location.h"
#include "module.h"
#include "sessions.h"
#include "trireme/saved_model.h"

namespace trireme::python {

namespace {

SaveOptions save_options(const Call& call) {
  SaveOptions options;
  call.set("inputs", options.inputs);
  call.set("outputs", options.outputs);
  call.set("output_names", options.output_names);
  call.set("labels", options.labels);
  call.set("target", options.target);
  return options;
}

void save_model(const Program& program, Session& session, nb::handle directory,
                const nb::kwargs& given) {
  nb::dict all;
  all.update(given);
  all["directory"] = directory;
  const Call call("save_model", all, caller());
  const SaveOptions options = save_options(call);
  save_model(program, session, call.get<std::string>("directory"), options);
}

nb::list predict(Model& model, const nb::dict& arrays) {
  const Feeds feeds = feeds_of(arrays);
  std::vector<Tensor> results;
  const InUse used(&model);
  {
    const nb::gil_scoped_release unlocked;
    results = model.predict(feeds);
  }
  nb::list list;
  for (const Tensor& result : results) list.append(array_of(result));
  return list;
}

}  // namespace

void add_models(nb::module_& m) {
  nb::class_<Model::Port>(m, "Port", "An input or output of a saved model.")
      .def_ro("name", &Model::Port::name)
      .def_ro("dtype", &Model::Port::dtype)
      .def_prop_ro(
          "shape", [](const Model::Port& port) { return to_python(port.shape); },
          nb::sig("def shape(self) -> tuple[int | str, ...]"));
  nb::class_<Model>(m, "SavedModel", "A saved model, ready to predict.")
      .def_prop_ro("name", &Model::name)
      .def_prop_ro("inputs", &Model::inputs)
      .def_prop_ro("outputs", &Model::outputs)
      .def_prop_ro("labels", &Model::labels)
      .def("predict", predict, nb::arg("feeds"),
           nb::sig("def predict(self, feeds: Mapping[str, Any]) -> list[NDArray[Any]]"),
           "The outputs, in order.");
  // For trireme.distributed, whose chief saves.
  nb::class_<SaveOptions>(m, "SaveOptions")
      .def(
          "__init__",
          [](SaveOptions* self, const nb::kwargs& given) {
            new (self) SaveOptions(save_options(Call("save_model", given, caller())));
          },
          nb::arg("options"), nb::sig("def __init__(self, **options: Any) -> None"));
  m.def("save_model", save_model, nb::arg("program"), nb::arg("session"), nb::arg("directory"),
        nb::arg("options"),
        nb::sig("def save_model(program: Program, session: Session, directory: str, *, inputs: "
                "Sequence[Value] = (), outputs: Sequence[Value] = (), output_names: Sequence[str] "
                "= (), labels: Sequence[str] = (), target: str = '') -> None"),
        "Saves a network for load_model(), C++ and the command line.");
  m.def(
      "load_model",
      [](nb::handle directory, const nb::kwargs& given) {
        nb::dict all;
        all.update(given);
        all["directory"] = directory;
        const Call call("load_model", all, caller());
        return load_model(call.get<std::string>("directory"), session_options(call));
      },
      nb::arg("directory"), nb::arg("options"),
      nb::sig("def load_model(directory: str | os.PathLike[str], *, threads: int = 0, precision: "
              "str = 'f32', max_bytes: int = 0, max_operations: int = 0) -> SavedModel"),
      "Loads a saved model.");
}

}  // namespace trireme::python
