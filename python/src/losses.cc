// Losses by name, as job files have them.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "arguments.h"
#include "module.h"
#include "nn/catalog/losses.h"
#include "trireme/error.h"

namespace trireme::python {

namespace {

const char* name_of_task(nn::Task task) {
  switch (task) {
    case nn::Task::classes: return "classes";
    case nn::Task::labels: return nullptr;  // needs the names of the labels
    case nn::Task::binary: return "binary";
    case nn::Task::numbers: break;
  }
  return "numbers";
}

nb::object task_of(const std::optional<std::string>& name) {
  nb::object found = nb::none();
  nb::list names;
  nn::for_each_loss([&](const nn::LossEntry& entry, const auto&, const auto&) {
    const char* task = name_of_task(entry.task);
    if (task == nullptr) return;
    names.append(entry.name);
    if (name && entry.name == *name) found = nb::str(task);
  });
  return name ? found : names;
}

nb::object named_loss(const std::string& name, nb::handle output, nb::handle target) {
  Value x;
  Value t;
  if (!read(output, x) || !read(target, t)) {
    throw Error(ErrorKind::usage, "a loss needs Values");
  }
  Value made;
  nn::for_each_loss([&](const nn::LossEntry& entry, const auto& options, const auto& apply) {
    if (entry.name == name) made = apply(x, t, options);
  });
  return to_python(made);
}

}  // namespace

void add_losses(nb::module_& m) {
  m.def("loss_task", task_of, nb::arg("name") = nb::none(),
        nb::sig("def loss_task(name: str | None = None) -> Any"),
        "What a loss by this name is for: \"classes\", \"binary\" or \"numbers\"; None if there is "
        "none. Without a name, all names.");
  m.def("named_loss", named_loss, nb::arg("name"), nb::arg("output"), nb::arg("target"),
        nb::sig("def named_loss(name: str, output: Value, target: Value) -> Value"));
}

}  // namespace trireme::python
