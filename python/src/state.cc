// State dicts and safetensors files.

#include "trireme/state.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <utility>

#include "arguments.h"
#include "arrays.h"
#include "location.h"
#include "module.h"
#include "sessions.h"
#include "trireme/error.h"

namespace trireme::python {

namespace {

using Metadata = std::map<std::string, std::string>;

nb::str python_text(const std::string& text) { return nb::str(text.c_str(), text.size()); }

nb::dict state_arrays(const StateDict& tensors) {
  nb::dict arrays;
  for (const auto& [name, tensor] : tensors) arrays[python_text(name)] = array_of(tensor);
  return arrays;
}

StateDict tensors_of(const char* function, const nb::dict& arrays) {
  StateDict tensors;
  for (const auto& [name, array] : arrays) {
    std::string text;
    if (!PyUnicode_Check(name.ptr()) || !read(name, text)) {
      throw Error(ErrorKind::usage, std::string(function) + ": the name of a tensor is of type " +
                                        type_text(name) + "\n  hint   give {\"name\": array}");
    }
    try {
      tensors.emplace(text, tensor_of(array));
    } catch (const Error& error) {
      throw Error(error.kind(), std::string(function) + ": \"" + text + "\": " + error.what());
    }
  }
  return tensors;
}

Metadata texts_of(const char* function, const nb::dict& given) {
  Metadata texts;
  for (const auto& [name, text] : given) {
    std::string key, value;
    if (!PyUnicode_Check(name.ptr()) || !PyUnicode_Check(text.ptr()) || !read(name, key) ||
        !read(text, value)) {
      throw Error(ErrorKind::usage, std::string(function) + ": a name or a text is of type " +
                                        type_text(PyUnicode_Check(name.ptr()) ? text : name) +
                                        "\n  hint   give {\"name\": \"text\"}");
    }
    texts.emplace(std::move(key), std::move(value));
  }
  return texts;
}

std::string path_of(const char* function, nb::handle given) {
  std::string path;
  if (read(given, path)) return path;
  throw Error(ErrorKind::usage, std::string(function) + ": the path is of type " +
                                    type_text(given) + "\n  hint   give a str or a Path");
}

StateDict load_file(const char* function, nb::handle given, Metadata* metadata) {
  const std::string path = path_of(function, given);
  const nb::gil_scoped_release unlocked;
  return load_safetensors(path, metadata);
}

void save_file(nb::handle given, const nb::dict& arrays, const nb::dict& metadata) {
  constexpr const char* kFunction = "save_safetensors";
  const std::string path = path_of(kFunction, given);
  const StateDict tensors = tensors_of(kFunction, arrays);
  const Metadata texts = texts_of(kFunction, metadata);
  const nb::gil_scoped_release unlocked;
  save_safetensors(path, tensors, texts);
}

}  // namespace

nb::dict state_of(Session& session) {
  const InUse used(&session);
  StateDict tensors;
  {
    const nb::gil_scoped_release unlocked;
    tensors = state_dict(session);
  }
  return state_arrays(tensors);
}

nb::tuple load_state(Session& session, const nb::dict& arrays, bool strict, nb::handle layout,
                     const nb::dict& modules) {
  const StateDict tensors = tensors_of("load_state_dict", arrays);
  LoadOptions options{.strict = strict, .modules = texts_of("load_state_dict", modules)};
  if (!read_word(layout, {{"trireme", Layout::trireme}, {"torch", Layout::torch}},
                 options.layout)) {
    throw Error(ErrorKind::usage, "load_state_dict: layout is of type " + type_text(layout) +
                                      "\n  hint   \"trireme\" or \"torch\"");
  }
  const InUse used(&session);
  LoadReport report;
  {
    const nb::gil_scoped_release unlocked;
    report = load_state_dict(session, tensors, options);
  }
  return nb::make_tuple(nb::cast(report.missing), nb::cast(report.unexpected));
}

void add_state(nb::module_& m) {
  m.def("save_safetensors", save_file, nb::arg("path"), nb::arg("tensors"),
        nb::arg("metadata") = nb::dict(),
        nb::sig("def save_safetensors(path: str | os.PathLike[str], tensors: Mapping[str, Any], "
                "metadata: Mapping[str, str] = {}) -> None"),
        "Writes arrays by name, and texts, to a safetensors file. A reader sees the old file or "
        "the new one.");
  m.def(
      "load_safetensors",
      [](nb::handle path) { return state_arrays(load_file("load_safetensors", path, nullptr)); },
      nb::arg("path"),
      nb::sig("def load_safetensors(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]"),
      "All arrays of a safetensors file by name. Those of BF16 need the package ml_dtypes.");
  m.def(
      "safetensors_metadata",
      [](nb::handle path) {
        Metadata metadata;
        load_file("safetensors_metadata", path, &metadata);
        nb::dict texts;
        for (const auto& [name, text] : metadata) texts[python_text(name)] = text;
        return texts;
      },
      nb::arg("path"),
      nb::sig("def safetensors_metadata(path: str | os.PathLike[str]) -> dict[str, str]"),
      "The texts of a safetensors file by name.");
}

}  // namespace trireme::python
