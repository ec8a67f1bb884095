// Session: runs a Program without the interpreter lock.

#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "arrays.h"
#include "location.h"
#include "module.h"
#include "sessions.h"
#include "trireme/error.h"
#include "trireme/session.h"

namespace trireme::python {

Feeds feeds_of(const nb::dict& arrays) {
  Feeds feeds;
  for (const auto& [name, array] : arrays) {
    std::string text;
    if (!read(name, text)) {
      throw Error(ErrorKind::usage, "the name of an input is of type " + type_text(name) +
                                        "\n  hint   feeds are {\"name\": array}");
    }
    feeds.emplace(std::move(text), tensor_of(array));
  }
  return feeds;
}

SessionOptions session_options(const Call& call) {
  SessionOptions options;
  call.set("threads", options.threads);
  call.set("seed", options.seed);
  call.set("plan_memory", options.plan_memory);
  call.set("fuse", options.fuse);
  call.set("libraries", options.libraries);
  call.set("interpreter", options.interpreter);
  call.set("max_bytes", options.max_bytes);
  call.set("max_operations", options.max_operations);
  call.set("profile", options.profile);
  std::string precision;
  call.set("precision", precision);
  if (!precision.empty()) options.precision = parse_precision(precision);
  return options;
}

namespace {

nb::object run(Session& session, const nb::dict& arrays, nb::handle fetches, bool training,
               bool updates, bool check_finite) {
  const Feeds feeds = feeds_of(arrays);
  std::vector<Value> values;
  const bool single = nb::hasattr(fetches, "dtype");
  if (single) values.emplace_back();
  if (single ? !read(fetches, values[0]) : !read(fetches, values)) {
    throw Error(ErrorKind::usage, "Session.run: fetches is of type " + type_text(fetches) +
                                      "\n  hint   give a Value or a list of Values");
  }
  std::vector<Tensor> results;
  {
    const nb::gil_scoped_release unlocked;
    results = session.run(feeds, values,
                          {.training = training, .updates = updates, .check_finite = check_finite});
  }
  if (single) return array_of(results[0]);
  nb::list list;
  for (const Tensor& result : results) list.append(array_of(result));
  return list;
}

nb::dict statistics_of(const Session& session) {
  const SessionStatistics statistics = session.statistics();
  nb::dict made;
  made["kernels"] = statistics.kernels;
  made["kernels_compiled"] = statistics.kernels_compiled;
  made["kernels_cached"] = statistics.kernels_cached;
  made["plans"] = statistics.plans;
  made["compile_ms"] = statistics.compile_ms;
  made["arena_bytes"] = statistics.arena_bytes;
  made["sum_of_values"] = statistics.sum_of_values;
  made["operations"] = statistics.operations;
  return made;
}

}  // namespace

void add_session(nb::module_& m) {
  nb::class_<Session>(m, "Session", "Runs a Program and owns its parameters.")
      .def(
          "__init__",
          [](Session* self, const Program& program, const nb::kwargs& options) {
            const Call call("Session", options, caller());
            new (self) Session(program, session_options(call));
          },
          nb::arg("program"), nb::arg("options"))
      .def("run", run, nb::arg("feeds"), nb::arg("fetches"), nb::kw_only(),
           nb::arg("training") = false, nb::arg("updates") = false, nb::arg("check_finite") = false,
           "Returns the values of the fetches as NumPy arrays, in order; an array for one Value.")
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
          nb::arg("name"), nb::arg("value"))
      .def_prop_rw("step", &Session::step, &Session::set_step,
                   "The number of runs so far; with the seed it determines the random numbers.")
      .def_prop_ro("threads", &Session::threads)
      .def_prop_ro("statistics", statistics_of)
      .def("profile_table", &Session::profile_table);
}

}  // namespace trireme::python
