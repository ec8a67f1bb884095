// A trainer of a job as a process.

#include <cstdio>
#include <optional>

#include "distributed/launch/training_member.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

class TrainerProcess {
 public:
  explicit TrainerProcess(const RoleOptions& options)
      : member_(options),
        job_(Job::read(options.job, {.set = options.set,
                                     .output = options.output,
                                     .threads = options.threads,
                                     .processes = options.trainers,
                                     .extend = [this](Program& program, TrainerOptions& made) {
                                       member_.extend(program, made, job_.distribution(),
                                                      {checkpoint_folder(job_.output_directory()),
                                                       export_folder(job_.output_directory())});
                                     }})) {}

  void run() {
    member_.train(job_.trainer(), job_.train_data());
    if (!member_.is_chief()) return;
    measure("validation", job_.validation_data());
    std::optional<AveragedParameters> averaged;
    if (job_.averages()) averaged.emplace(job_.trainer().averaged());
    measure("test", job_.test_data());
    save();
    std::fflush(stdout);
    member_.conclude();
  }

 private:
  void measure(const char* what, const data::Batches* data) {
    if (data == nullptr) return;
    const Metrics metrics = job_.trainer().evaluate(*data);
    for (const auto& [name, value] : metrics.numbers()) {
      std::printf("%s %s: %.6g\n", what, name.c_str(), value);
    }
  }

  // The model as of one process, with complete tables.
  void save() {
    if (!member_.gather_tables()) return;
    job_.trainer().save(job_.output_directory(), job_.save_options());
    std::printf("saved to %s\n", job_.output_directory().c_str());
  }

  TrainingMember member_;
  Job job_;
};

}  // namespace

void run_trainer(const RoleOptions& options) { TrainerProcess(options).run(); }

}  // namespace trireme::distributed
