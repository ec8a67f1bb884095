// trireme._distributed: this process as a member of a job. Its types come from trireme._core.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "trireme/distributed.h"

namespace nb = nanobind;

namespace trireme::python {

namespace {

void join(Member* self, const Distribution& distribution, const std::string& checkpoints,
          const std::string& exports) {
  const nb::gil_scoped_release unlocked;
  new (self) Member(
      Member::join({.distribution = distribution, .checkpoints = checkpoints, .exports = exports}));
}

void train(Member& member, Trainer& trainer, const data::Batches& batches, int epochs,
           nb::object after_step) {
  MemberTraining training{.epochs = epochs};
  if (!after_step.is_none()) {
    training.after_step = [&after_step](std::int64_t step, double loss) {
      const nb::gil_scoped_acquire lock;
      after_step(step, loss);
    };
  }
  const nb::gil_scoped_release unlocked;
  member.train(trainer, batches, training);
}

bool save(Member& member, Trainer& trainer, const std::string& directory,
          const SaveOptions& options) {
  const nb::gil_scoped_release unlocked;
  return member.save(trainer, directory, options);
}

void finish(Member& member) {
  const nb::gil_scoped_release unlocked;
  member.finish();
}

}  // namespace

NB_MODULE(_distributed, m) {
  nb::module_::import_("trireme._core");
  nb::class_<Member>(m, "Member", "This process as a member of a training job.")
      .def("__init__", join, nb::arg("distribution"), nb::arg("checkpoints"), nb::arg("exports"),
           nb::sig("def __init__(self, distribution: trireme._core.DistributionOptions, "
                   "checkpoints: str, exports: str) -> None"))
      .def_prop_ro("is_launched", &Member::is_launched)
      .def_prop_ro("name", &Member::name)
      .def_prop_ro("trainers", &Member::trainers)
      .def_prop_ro("is_chief", &Member::is_chief)
      .def("distribute", &Member::distribute, nb::arg("program"), nb::arg("options"),
           nb::keep_alive<1, 2>(),
           nb::sig("def distribute(self, program: trireme._core.Program, options: "
                   "trireme._core.TrainerOptions) -> trireme._core.TrainerOptions"))
      .def("train", train, nb::arg("trainer"), nb::arg("batches"), nb::arg("epochs"),
           nb::arg("after_step").none(),
           nb::sig("def train(self, trainer: trireme._core.Trainer, batches: "
                   "trireme._core.Batches, epochs: int, after_step: Callable[[int, float], object] "
                   "| None) -> None"))
      .def("save", save, nb::arg("trainer"), nb::arg("directory"), nb::arg("options"),
           nb::sig("def save(self, trainer: trireme._core.Trainer, directory: str, options: "
                   "trireme._core.SaveOptions) -> bool"))
      .def("finish", finish)
      .def("abandon", &Member::abandon);
}

}  // namespace trireme::python
