#include "location.h"

#include <Python.h>
#include <nanobind/nanobind.h>

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace trireme::python {

namespace nb = nanobind;

namespace {

// The folder of the package, with a slash at its end.
const std::string& package_folder() {
  static const std::string folder = [] {
    const std::string file =
        nb::cast<std::string>(nb::module_::import_("trireme").attr("__file__"));
    return file.substr(0, file.rfind('/') + 1);
  }();
  return folder;
}

// Programs refer to file names as long as they exist, which may be longer than the code object.
const char* kept(std::string_view file) {
  static std::set<std::string, std::less<>> files;
  auto found = files.find(file);
  if (found == files.end()) found = files.emplace(file).first;
  return found->c_str();
}

// The name of a file of the user; null for those of the package. All code of a file shares its
// name's object, which is kept here, so that most calls only look it up.
const char* file_of_user(const nb::object& name) {
  static std::unordered_map<PyObject*, const char*>& known =
      *new std::unordered_map<PyObject*, const char*>();  // lives as long as the process
  const auto found = known.find(name.ptr());
  if (found != known.end()) return found->second;
  const std::string_view text(nb::str(name).c_str());
  const char* const file = text.starts_with(package_folder()) ? nullptr : kept(text);
  constexpr std::size_t kMax = 4096;  // of code that is compiled again and again
  if (known.size() < kMax) known.emplace(nb::object(name).release().ptr(), file);
  return file;
}

}  // namespace

SourceLocation caller() {
  auto frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    const nb::object name = frame.attr("f_code").attr("co_filename");
    if (const char* const file = file_of_user(name)) {
      const int line = PyFrame_GetLineNumber(reinterpret_cast<PyFrameObject*>(frame.ptr()));
      return {file, static_cast<std::uint32_t>(line)};
    }
    frame = frame.attr("f_back");
  }
  return {};
}

}  // namespace trireme::python
