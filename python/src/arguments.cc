#include "arguments.h"

#include <string_view>
#include <unordered_map>

#include "location.h"
#include "module.h"
#include "trireme/error.h"

namespace trireme::python {

namespace {

// Another name for an argument, as other libraries have it.
const char* alias_of(std::string_view name) { return name == "learning_rate" ? "lr" : nullptr; }

nb::object given(const nb::dict& arguments, const char* name) {
  PyObject* found = PyDict_GetItemString(arguments.ptr(), name);
  return found == nullptr || found == Py_None ? nb::object() : nb::borrow(found);
}

using Functions = std::unordered_map<std::string_view, nb::object (*)(const Call&)>;

const Functions& functions() {
  static const Functions all = [] {
    Functions made;
    for (const auto& entries : {ops_functions(), losses_functions(), nn_functions(),
                                sequence_functions(), metrics_functions(), optim_functions(),
                                schedules_functions(), datasets_functions(), jobs_functions()}) {
      for (const CallEntry& entry : entries) made.emplace(entry.name, entry.function);
    }
    return made;
  }();
  return all;
}

}  // namespace

std::string type_text(nb::handle given) {
  return nb::cast<std::string>(given.type().attr("__name__"));
}

void fail_result(nb::handle given) {
  throw Error(ErrorKind::usage, "a function that was passed returned " + type_text(given) +
                                    "\n  hint   it must return a Value, or a list of Values "
                                    "where several are expected");
}

std::optional<Call> Call::of_record(nb::handle given) {
  if (PyDict_Check(given.ptr()) != 0) return Call("", nb::borrow<nb::dict>(given), {});
  if (!nb::hasattr(given, "__dataclass_fields__")) return std::nullopt;
  return Call(type_text(given), nb::cast<nb::dict>(given.attr("__dict__")), {});
}

nb::object Call::find(const char* name) const {
  nb::object found = given(arguments_, name);
  const char* alias = alias_of(name);
  if (alias == nullptr) return found;
  const nb::object other = given(arguments_, alias);
  if (found.is_valid() && other.is_valid()) {
    throw Error(ErrorKind::usage, function_ + ": both " + name + " and " + alias +
                                      " are given\n  hint   they are the same; give one");
  }
  return found.is_valid() ? found : other;
}

nb::object Call::required(const char* name) const {
  nb::object found = find(name);
  if (!found.is_valid()) throw Error(ErrorKind::usage, function_ + ": " + name + " is None");
  return found;
}

nb::object Call::sequence(const char* name) const {
  nb::object found = required(name);
  if (!is_sequence(found)) fail_type(name, found);
  return found;
}

void Call::fail_type(const char* name, nb::handle given) const {
  throw Error(ErrorKind::usage, function_ + ": " + name + " is " + text_of(given) + ", of type " +
                                    type_text(given) + "\n  hint   help(trireme." + function_ +
                                    ") shows the types");
}

void add_functions(nb::module_& m) {
  m.def(
      "call",
      [](const std::string& name, nb::dict arguments) {
        const auto found = functions().find(name);
        if (found == functions().end()) {
          throw Error(ErrorKind::internal, "trireme has no function " + name);
        }
        const KeepRecording kept;  // functions of the user may read Arrays meanwhile
        return found->second(Call(name, std::move(arguments), caller()));
      },
      nb::arg("function"), nb::arg("arguments"),
      nb::sig("def call(function: str, arguments: dict[str, Any]) -> Any"));
}

Call call_with(const char* function, const nb::kwargs& given, const char* name, nb::handle value) {
  nb::dict all;
  all.update(given);
  all[name] = value;
  return {function, all, caller()};
}

}  // namespace trireme::python
