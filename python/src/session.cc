// Session: runs a Program without the interpreter lock.

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
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

using Users = std::unordered_map<const void*, std::thread::id>;

// The threads that use objects now. The interpreter lock guards it.
Users& users() {
  static Users all;
  return all;
}

// Whether this process is a copy of one in which another thread ran. What that thread had locked
// stays locked here.
std::atomic<bool> forked_during_run = false;

void after_fork() {
  for (const auto& [object, thread] : users()) {
    if (thread != std::this_thread::get_id()) forked_during_run = true;
  }
}

}  // namespace

InUse::InUse(const void* object) : object_(object) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, after_fork);
  static_cast<void>(registered);
  if (forked_during_run) {
    throw Error(ErrorKind::usage,
                "this process was forked while another thread ran a Session\n"
                "  hint   fork before, or use multiprocessing.get_context(\"spawn\")");
  }
  const auto [user, is_new] = users().emplace(object, std::this_thread::get_id());
  outermost_ = is_new;
  if (user->second != std::this_thread::get_id()) {
    throw Error(ErrorKind::usage,
                "another thread uses this Session now\n  hint   give each thread a Session, "
                "Session(program, other) shares the parameters; or take a lock");
  }
}

InUse::~InUse() {
  if (outermost_) users().erase(object_);
}

namespace {

// `updates`: whether to apply updates, or the name of one, or a list of names.
void set_updates(nb::handle updates, RunOptions& options) {
  std::string name;
  if (read(updates, options.updates)) return;
  options.updates = true;
  if (read(updates, name)) options.update = {name};
  else if (!read(updates, options.update)) {
    throw Error(ErrorKind::usage, "Session.run: updates is of type " + type_text(updates) +
                                      "\n  hint   give a bool, or names of updates");
  }
}

nb::object run_session(Session& session, const nb::dict& arrays, nb::handle fetches, bool training,
                       nb::handle updates, bool check_finite) {
  const Feeds feeds = feeds_of(arrays);
  RunOptions options{.training = training, .check_finite = check_finite};
  set_updates(updates, options);
  std::vector<Value> values;
  const bool single = nb::hasattr(fetches, "dtype");
  if (single) values.emplace_back();
  if (single ? !read(fetches, values[0]) : !read(fetches, values)) {
    throw Error(ErrorKind::usage, "Session.run: fetches is of type " + type_text(fetches) +
                                      "\n  hint   give a Value or a list of Values");
  }
  std::vector<Tensor> results;
  const InUse used(&session);
  {
    const nb::gil_scoped_release unlocked;
    results = session.run(feeds, values, options);
  }
  if (single) return array_of(results[0]);
  nb::list list;
  for (const Tensor& result : results) list.append(array_of(result));
  return list;
}

const Session* session_of(nb::handle given) {
  const Session* session = nullptr;
  if (!nb::try_cast(nb::borrow(given), session, false) || session == nullptr) {
    throw Error(ErrorKind::usage, "Session: parameters_of is of type " + type_text(given));
  }
  return session;
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
          [](Session* self, const Program& program, nb::handle shared, const nb::kwargs& options) {
            const Call call("Session", options, caller());
            if (shared.is_none()) new (self) Session(program, session_options(call));
            else new (self) Session(program, session_options(call), *session_of(shared));
          },
          nb::arg("program"), nb::arg("parameters_of") = nb::none(), nb::arg("options"),
          nb::sig("def __init__(self, program: Program, parameters_of: Session | None = None, *, "
                  "threads: int = 0, seed: int = 1, precision: str = 'f32', plan_memory: bool = "
                  "True, fuse: bool = True, libraries: bool = True, interpreter: bool = False, "
                  "max_bytes: int = 0, max_operations: int = 0, profile: str = '') -> None"),
          "parameters_of: another Session, which shares its parameters of the same names.")
      .def("run", run_session, nb::arg("feeds"), nb::arg("fetches"), nb::kw_only(),
           nb::arg("training") = false, nb::arg("updates") = nb::bool_(false),
           nb::arg("check_finite") = false,
           nb::sig("def run(self, feeds: Mapping[str, Any], fetches: Value | Sequence[Value], *, "
                   "training: bool = False, updates: bool | str | Sequence[str] = False, "
                   "check_finite: bool = False) -> Any"),
           "Returns the values of the fetches as NumPy arrays, in order; an array for one Value. "
           "updates: True, or the name of the updates to apply, or a list of names.")
      .def("freeze", &Session::freeze, nb::arg("pattern"),
           "Updates leave the parameters whose names match as they are; * matches any text.")
      .def("unfreeze", &Session::unfreeze, nb::arg("pattern"))
      .def("learning_rate", &Session::learning_rate, nb::arg("update") = "",
           "The learning rate of the next update.")
      .def("set_learning_rate", &Session::set_learning_rate, nb::arg("rate"),
           nb::arg("update") = "")
      .def(
          "parameter",
          [](Session& session, const std::string& name) {
            const InUse used(&session);
            return array_of(session.parameter(name));
          },
          nb::arg("name"), nb::sig("def parameter(self, name: str) -> NDArray[Any]"),
          "A copy of a parameter's value.")
      .def(
          "set_parameter",
          [](Session& session, const std::string& name, const nb::object& value) {
            const InUse used(&session);
            session.set_parameter(name, tensor_of(value));
          },
          nb::arg("name"), nb::arg("value"),
          nb::sig("def set_parameter(self, name: str, value: Any) -> None"))
      .def("state_dict", state_of, nb::sig("def state_dict(self) -> dict[str, NDArray[Any]]"),
           "Copies of the parameters of the network by name, without the state of the optimizer.")
      .def("load_state_dict", load_state, nb::arg("tensors"), nb::kw_only(),
           nb::arg("strict") = true, nb::arg("layout") = "trireme", nb::arg("modules") = nb::dict(),
           nb::sig("def load_state_dict(self, tensors: Mapping[str, Any], *, strict: bool = True, "
                   "layout: str = 'trireme', modules: Mapping[str, str] = {}) -> tuple[list[str], "
                   "list[str]]"),
           "Sets the parameters of the network. layout: 'torch' for names and shapes of PyTorch. "
           "modules: paths of modules, and the layers that they are: {'encoder': "
           "'transformer_encoder_0'}; '' is everything. Returns the missing and the unexpected "
           "names. Loads nothing if there is an error. Raises UsageError for names that do not "
           "match, if strict, and for another shape or dtype.")
      .def_prop_rw("step", &Session::step, &Session::set_step,
                   "The number of runs so far; with the seed it determines the random numbers.")
      .def_prop_ro("threads", &Session::threads)
      .def_prop_ro("statistics", statistics_of, nb::sig("def statistics(self) -> dict[str, float]"))
      .def("profile_table", &Session::profile_table);
}

}  // namespace trireme::python
