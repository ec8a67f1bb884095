// Errors of the library become exceptions of trireme/errors.py, one class for each kind.

#include <exception>

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

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("trireme.errors").attr(class_of(error.kind()));
    PyErr_SetString(type.ptr(), error.what());
  }
}

}  // namespace

void add_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace trireme::python
