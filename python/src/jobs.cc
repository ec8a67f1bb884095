// Jobs: files and texts that describe a training.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "arguments.h"
#include "location.h"
#include "module.h"
#include "sessions.h"
#include "trireme/error.h"
#include "trireme/job.h"

namespace trireme::python {

namespace {

JobOptions job_options(const Call& call) {
  JobOptions options;
  call.set("set", options.set);
  call.set("seed", options.seed);
  call.set("output", options.output);
  call.set("run", options.run);
  call.set("threads", options.threads);
  call.set("trace_nan", options.trace_nan);
  call.set("interpreter", options.interpreter);
  return options;
}

// `text` is the content of a file `source`, or None: it is read.
void make_job(Job* self, nb::handle source, nb::handle text, const nb::kwargs& given) {
  const Call call("jobs.Job", given, caller());
  const JobOptions options = job_options(call);
  std::string name, content;
  if (!read(source, name) || (!text.is_none() && !read(text, content))) {
    throw Error(ErrorKind::usage, "jobs.Job: the job is of type " + type_text(source) +
                                      "\n  hint   give the path of a file, or a dict");
  }
  new (self) Job(text.is_none() ? Job::read(name, options) : Job::parse(content, name, options));
}

nb::object batches_or_none(const data::Batches* batches) {
  return batches == nullptr ? nb::none() : nb::cast(*batches);
}

JobResult run_job(Job& job, const nb::kwargs& given) {
  FitOptions options;
  std::optional<JobResult> result;
  const InUse used(&job);
  {
    const nb::gil_scoped_release unlocked;  // data are read, and the Program is built
    options = job.fit_options();
  }
  const auto interrupt = set_fit("jobs.Job.run", given, options);
  const InUse session(&job.trainer().session());
  {
    const nb::gil_scoped_release unlocked;
    result = train_job(job, options);
  }
  if (interrupt->error) throw std::move(*interrupt->error);
  return *result;
}

}  // namespace

void add_jobs(nb::module_& m) {
  // Distribution, a class of settings, as trireme._distributed takes it.
  nb::class_<Distribution>(m, "DistributionOptions")
      .def(
          "__init__",
          [](Distribution* self, nb::handle given) {
            Distribution options;
            if (!read(given, options)) {
              throw Error(ErrorKind::usage, "a Distribution is expected, not " + type_text(given));
            }
            new (self) Distribution(options);
          },
          nb::arg("distribution"), nb::sig("def __init__(self, distribution: Any) -> None"));
  nb::class_<JobResult>(m, "JobResult", "A training of a job that has ended.")
      .def_ro("steps", &JobResult::steps)
      .def_ro("seconds", &JobResult::seconds)
      .def_prop_ro(
          "training", [](const JobResult& result) { return numbers_of(result.training); },
          nb::sig("def training(self) -> dict[str, float]"))
      .def_prop_ro(
          "test",
          [](const JobResult& result) -> nb::object {
            return result.test ? nb::object(numbers_of(*result.test)) : nb::none();
          },
          nb::sig("def test(self) -> dict[str, Any] | None"));
  nb::class_<Job>(m, "Job", "A training run that a TOML file describes.")
      .def("__init__", make_job, nb::arg("source"), nb::arg("text") = nb::none(),
           nb::arg("options"),
           nb::sig("def __init__(self, source: str, text: str | None = None, **options: Any) -> "
                   "None"))
      .def_prop_ro("name", &Job::name)
      .def_prop_ro("output_directory", &Job::output_directory, "The folder of the saved model.")
      .def_prop_ro("epochs", &Job::epochs)
      .def_prop_ro("max_steps", &Job::max_steps, "0: the steps of all epochs")
      .def_prop_ro("classifies", &Job::classifies)
      .def_prop_ro("input_name", &Job::input_name)
      .def_prop_ro("target_name", &Job::target_name)
      .def_prop_ro(
          "train_data", [](Job& job) { return job.train_data(); },
          nb::sig("def train_data(self) -> Batches"))
      .def_prop_ro(
          "validation_data", [](Job& job) { return batches_or_none(job.validation_data()); },
          nb::sig("def validation_data(self) -> Batches | None"))
      .def_prop_ro(
          "test_data", [](Job& job) { return batches_or_none(job.test_data()); },
          nb::sig("def test_data(self) -> Batches | None"))
      .def_prop_ro("program", [](Job& job) { return Program(job.program().shared_ir()); })
      .def_prop_ro(
          "output", [](Job& job) { return to_python(job.output()); },
          nb::sig("def output(self) -> Value"), "The prediction.")
      .def_prop_ro("trainer", &Job::trainer, nb::rv_policy::reference_internal)
      .def("resolved", &Job::resolved,
           "The job as TOML with the defaults of all options. It reads back as the same job.")
      .def("summary", &Job::summary, "One line about the model. Compiles the training step.")
      .def("fit_and_save", run_job, nb::arg("options"),
           nb::sig("def fit_and_save(self, **options: Any) -> JobResult"));
}

}  // namespace trireme::python
