// trireme._onnx: models of ONNX. Its types come from trireme._core.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../arrays.h"
#include "trireme/error.h"
#include "trireme/onnx.h"

namespace nb = nanobind;

namespace trireme::python {

namespace {

template <class T>
using ByName = std::map<std::string, T>;
using Sizes = std::vector<std::variant<std::int64_t, std::string>>;

Shape shape_of(const std::string& input, const Sizes& sizes) {
  Shape shape;
  for (const auto& size : sizes) {
    const auto* text = std::get_if<std::string>(&size);
    const auto dim = text != nullptr ? Dim::parse(*text) : Dim(std::get<std::int64_t>(size));
    if (!dim) {
      throw Error(ErrorKind::usage, "import_model: the shape of \"" + input + "\": \"" + *text +
                                        "\" is no size\n  hint   give a number or a symbol");
    }
    shape.push_back(*dim);
  }
  return shape;
}

void init_options(onnx::ImportOptions* self, const ByName<nb::object>& constants,
                  const ByName<std::vector<nb::object>>& sequences, const ByName<Sizes>& shapes,
                  const ByName<std::int64_t>& sizes, std::int64_t max_bytes, std::int64_t max_nodes,
                  bool trainable) {
  onnx::ImportOptions options{
      .max_bytes = max_bytes, .max_nodes = max_nodes, .trainable = trainable};
  for (const auto& [name, array] : constants) options.constants[name] = tensor_of(array);
  for (const auto& [name, arrays] : sequences) {
    auto& tensors = options.sequences[name];
    for (const nb::object& array : arrays) tensors.push_back(tensor_of(array));
  }
  for (const auto& [name, given] : shapes) options.shapes[name] = shape_of(name, given);
  options.sizes.insert(sizes.begin(), sizes.end());
  new (self) onnx::ImportOptions(options);
}

onnx::ImportedModel import_model(const std::string& path, const onnx::ImportOptions& options) {
  const nb::gil_scoped_release unlocked;
  return onnx::import_model(path, options);
}

onnx::ImportedModel import_bytes(const nb::bytes& bytes, const onnx::ImportOptions& options) {
  const std::string_view content(bytes.c_str(), bytes.size());
  const nb::gil_scoped_release unlocked;
  return onnx::import_bytes(content, options);
}

nb::dict state_of(const onnx::ImportedModel& model) {
  nb::dict arrays;
  for (const auto& [name, tensor] : model.state) arrays[name.c_str()] = array_of(tensor);
  return arrays;
}

// Texts of the file in them may have bytes that are not UTF-8; these become U+FFFD.
nb::list warnings_of(const onnx::ImportedModel& model) {
  nb::list texts;
  for (const std::string& text : model.warnings) {
    texts.append(nb::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
  }
  return texts;
}

void export_model(Model& model, const std::string& path, std::int64_t opset) {
  const nb::gil_scoped_release unlocked;
  onnx::export_model(model, path, {.opset = opset});
}

nb::bytes export_bytes(Model& model, std::int64_t opset) {
  std::string bytes;
  {
    const nb::gil_scoped_release unlocked;
    bytes = onnx::export_bytes(model, {.opset = opset});
  }
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

NB_MODULE(_onnx, m) {
  nb::module_::import_("trireme._core");
  nb::class_<onnx::ImportOptions>(m, "ImportOptions", "Options of import_model().")
      .def("__init__", init_options, nb::arg("constants"), nb::arg("sequences"), nb::arg("shapes"),
           nb::arg("sizes"), nb::arg("max_bytes"), nb::arg("max_nodes"), nb::arg("trainable"),
           nb::sig("def __init__(self, constants: Mapping[str, Any], sequences: Mapping[str, "
                   "Sequence[Any]], shapes: Mapping[str, Sequence[int | str]], sizes: Mapping[str, "
                   "int], max_bytes: int, max_nodes: int, trainable: bool) -> None"));
  nb::class_<onnx::ImportedModel>(m, "ImportedModel", "A Program and its parameters.")
      .def_prop_ro(
          "program", [](onnx::ImportedModel& model) { return &model.program; },
          nb::rv_policy::reference_internal, nb::sig("def program(self) -> trireme._core.Program"))
      .def_prop_ro("state", state_of, nb::sig("def state(self) -> dict[str, NDArray[Any]]"))
      .def_ro("inputs", &onnx::ImportedModel::inputs)
      .def_ro("outputs", &onnx::ImportedModel::outputs)
      .def_prop_ro("warnings", warnings_of, nb::sig("def warnings(self) -> list[str]"));
  m.def("import_model", import_model, nb::arg("path"), nb::arg("options"));
  m.def("import_bytes", import_bytes, nb::arg("content"), nb::arg("options"));
  m.def("export_model", export_model, nb::arg("model"), nb::arg("path"), nb::arg("opset"),
        nb::sig("def export_model(model: trireme._core.SavedModel, path: str, opset: int) -> "
                "None"));
  m.def("export_bytes", export_bytes, nb::arg("model"), nb::arg("opset"),
        nb::sig("def export_bytes(model: trireme._core.SavedModel, opset: int) -> bytes"));
}

}  // namespace trireme::python
