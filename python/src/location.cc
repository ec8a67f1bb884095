#include "location.h"

#include <Python.h>
#include <nanobind/nanobind.h>

#include <set>
#include <string>
#include <string_view>

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

}  // namespace

SourceLocation caller() {
  nb::object frame = nb::module_::import_("sys").attr("_getframe")(0);
  while (!frame.is_none()) {
    const nb::str file(frame.attr("f_code").attr("co_filename"));
    if (!std::string_view(file.c_str()).starts_with(package_folder())) {
      return {kept(file.c_str()), nb::cast<std::uint32_t>(frame.attr("f_lineno"))};
    }
    frame = frame.attr("f_back");
  }
  return {};
}

}  // namespace trireme::python
