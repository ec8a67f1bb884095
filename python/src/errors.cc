// Errors of the library become exceptions of trireme/errors.py, one class for each kind.

#include <exception>
#include <regex>
#include <string>

#include "module.h"
#include "trireme/error.h"

namespace trireme::python {

namespace {

const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "UsageError";
    case ErrorKind::data: return "DataError";
    case ErrorKind::not_found: return "NotFoundError";
    case ErrorKind::io: return "IoError";
    case ErrorKind::numeric: return "NumericError";
    case ErrorKind::internal: break;
  }
  return "InternalError";
}

// The message with the syntax of Python: "units=10" for "{.units = 10}".
std::string as_python(const std::string& message) {
  static const std::regex option(R"(\{\.([a-z_0-9]+) = ([^{}]*)\})");
  static const std::regex scope("([A-Za-z])::([a-z])");
  return std::regex_replace(std::regex_replace(message, option, "$1=$2"), scope, "$1.$2");
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("trireme.errors").attr(class_of(error.kind()));
    // Names from files may have bytes that are not UTF-8; these become U+FFFD.
    const std::string text = as_python(error.what());
    const nb::object message = nb::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    PyErr_SetObject(type.ptr(), message.ptr());
  }
}

}  // namespace

void add_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace trireme::python
