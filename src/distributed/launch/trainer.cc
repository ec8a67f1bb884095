// A trainer of a job as a process.

#include <cstdio>

#include "distributed/launch/training_member.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

constexpr std::uint64_t kLargestModel = std::uint64_t{4} << 30;

class TrainerProcess {
 public:
  explicit TrainerProcess(const RoleOptions& options)
      : member_(options),
        job_(Job::read(options.job, {.set = options.set,
                                     .output = options.output,
                                     .threads = options.threads,
                                     .processes = options.trainers,
                                     .extend = [this](Program& program, TrainerOptions& made) {
                                       member_.extend(program, made, job_.distribution());
                                     }})) {}

  void run() {
    member_.train(job_.trainer(), job_.train_data());
    if (!member_.is_chief()) return;
    test();
    save();
    std::fflush(stdout);
    member_.conclude();
  }

 private:
  void test() {
    const data::Batches* data = job_.test_data();
    if (data == nullptr) return;
    const Metrics metrics = job_.trainer().evaluate(*data);
    for (const auto& [name, value] : metrics.numbers()) {
      std::printf("test %s: %.6g\n", name.c_str(), value);
    }
  }

  // The model as one process would have it, its tables whole.
  void save() {
    const std::uint64_t bytes = member_.table_bytes();
    if (bytes > kLargestModel) {
      std::printf("the tables have %.1f GB, too much for a saved model: they are in %s\n",
                  static_cast<double>(bytes) / 1e9,
                  checkpoint_folder(job_.output_directory()).c_str());
      return;
    }
    member_.bring_home();
    job_.trainer().save(job_.output_directory(), job_.save_options());
    std::printf("saved to %s\n", job_.output_directory().c_str());
  }

  TrainingMember member_;
  Job job_;
};

}  // namespace

void run_trainer(const RoleOptions& options) { TrainerProcess(options).run(); }

}  // namespace trireme::distributed
