// Session: runs a Program without the interpreter lock.

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "module.h"
#include "trireme/session.h"

namespace trireme::python {

namespace {

Feeds feeds_of(const nb::dict& arrays) {
  Feeds feeds;
  for (const auto& [name, array] : arrays) {
    feeds.emplace(nb::cast<std::string>(name), tensor_of(array));
  }
  return feeds;
}

nb::list run(Session& session, const nb::dict& arrays, const std::vector<Value>& fetches,
             bool training, bool updates) {
  const Feeds feeds = feeds_of(arrays);
  std::vector<Tensor> results;
  {
    const nb::gil_scoped_release unlocked;
    results = session.run(feeds, fetches, {.training = training, .updates = updates});
  }
  nb::list list;
  for (const Tensor& result : results) list.append(array_of(result));
  return list;
}

}  // namespace

void add_session(nb::module_& m) {
  nb::class_<Session>(m, "Session", "Runs a Program and owns its parameters.")
      .def(
          "__init__",
          [](Session* self, const Program& program, int threads, std::uint64_t seed) {
            new (self) Session(program, {.threads = threads, .seed = seed});
          },
          nb::arg("program"), nb::kw_only(), nb::arg("threads") = 0, nb::arg("seed") = 1)
      .def("run", run, nb::arg("feeds"), nb::arg("fetches"), nb::kw_only(),
           nb::arg("training") = false, nb::arg("updates") = false,
           "Returns the values of the fetches as NumPy arrays, in order.")
      .def(
          "parameter",
          [](Session& session, const std::string& name) {
            return array_of(session.parameter(name));
          },
          nb::arg("name"), "A copy of a parameter's value.")
      .def(
          "set_parameter",
          [](Session& session, const std::string& name, const nb::object& value) {
            session.set_parameter(name, tensor_of(value));
          },
          nb::arg("name"), nb::arg("value"));
}

}  // namespace trireme::python
