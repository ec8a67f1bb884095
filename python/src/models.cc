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
#include "trireme/compile.h"
#include "trireme/quantize.h"
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
  const Call call = call_with("save_model", given, "directory", directory);
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

// calibration: a sequence of dicts of arrays.
QuantizedModel quantize(Model& model, const nb::sequence& calibration, const nb::kwargs& given) {
  nb::dict all;
  all.update(given);
  const Call call("quantize", all, caller());
  QuantizeOptions options;
  std::string range = "mse";
  call.set("range", range);
  options.range = parse_range(range);
  call.set("percentile", options.percentile);
  call.set("weights_only", options.weights_only);
  call.set("bias_correction", options.bias_correction);
  call.set("keep", options.keep);
  std::vector<Feeds> batches;
  for (const nb::handle batch : calibration) batches.push_back(feeds_of(nb::cast<nb::dict>(batch)));
  const InUse used(&model);
  const nb::gil_scoped_release unlocked;
  return trireme::quantize(model, batches, options);
}

void compile(Model& model, nb::handle directory, const nb::kwargs& given) {
  const Call call = call_with("compile", given, "directory", directory);
  CompileModelOptions options;
  call.set("target", options.target);
  std::string precision = "f32";
  call.set("precision", precision);
  options.precision = parse_precision(precision);
  const auto folder = call.get<std::string>("directory");
  const InUse used(&model);
  const nb::gil_scoped_release unlocked;
  compile_model(model, folder, options);
}

void save(Model& model, nb::handle directory) {
  nb::dict all;
  all["directory"] = directory;
  const auto folder = Call("save", all, caller()).get<std::string>("directory");
  const InUse used(&model);
  const nb::gil_scoped_release unlocked;
  trireme::save_model(model, folder);
}

void add_quantized(nb::module_& m) {
  nb::class_<QuantizedLayer>(m, "QuantizedLayer",
                             "A product, a convolution, a lookup or a loop with a weight.")
      .def_ro("layer", &QuantizedLayer::layer)
      .def_ro("op", &QuantizedLayer::op)
      .def_ro("weight_elements", &QuantizedLayer::weight_elements)
      .def_ro("quantized", &QuantizedLayer::quantized)
      .def_ro("reason", &QuantizedLayer::reason, "Why it is not quantized.")
      .def_ro("input_maximum", &QuantizedLayer::input_maximum)
      .def_ro("weight_signal_to_noise", &QuantizedLayer::weight_signal_to_noise, "In decibels.");
  nb::class_<QuantizedModel>(m, "QuantizedModel",
                             "A model in bytes, and what became of its layers.")
      .def_prop_ro(
          "model", [](QuantizedModel& self) -> Model& { return self.model; },
          nb::rv_policy::reference_internal)
      .def_ro("layers", &QuantizedModel::layers)
      .def_ro("parameter_bytes_before", &QuantizedModel::parameter_bytes_before)
      .def_ro("parameter_bytes", &QuantizedModel::parameter_bytes);
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
           "The outputs, in order.")
      .def(
          "quantize", quantize, nb::arg("calibration") = nb::tuple(), nb::arg("options"),
          nb::sig("def quantize(self, calibration: Sequence[Mapping[str, Any]] = (), *, range: str "
                  "= 'mse', percentile: float = 99.99, weights_only: bool = False, "
                  "bias_correction: bool = True, keep: Sequence[str] = ()) -> QuantizedModel"),
          "The model with weights and inputs of products in bytes. calibration: batches of typical "
          "inputs.")
      .def("save", save, nb::arg("directory"),
           nb::sig("def save(self, directory: str | os.PathLike[str]) -> None"),
           "Saves the model for load_model(), C++ and the command line.")
      .def(
          "compile", compile, nb::arg("directory"), nb::arg("options"),
          nb::sig("def compile(self, directory: str | os.PathLike[str], *, target: str = 'native', "
                  "precision: str = 'f32') -> None"),
          "Compiles the model to a folder that runs without a compiler.");
  add_quantized(m);
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
        const Call call = call_with("load_model", given, "directory", directory);
        return load_model(call.get<std::string>("directory"), session_options(call));
      },
      nb::arg("directory"), nb::arg("options"),
      nb::sig("def load_model(directory: str | os.PathLike[str], *, threads: int = 0, precision: "
              "str = 'f32', max_bytes: int = 0, max_operations: int = 0) -> SavedModel"),
      "Loads a saved model.");
}

}  // namespace trireme::python
