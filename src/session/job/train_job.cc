// train_job(): a whole run of a job.

#include <chrono>
#include <optional>
#include <utility>

#include "trireme/job.h"

namespace trireme {

JobResult train_job(Job& job, const FitOptions& options) {
  JobResult result;
  FitOptions used = options;
  used.stop = [&] {
    result.stopped = result.stopped || (options.stop && options.stop());
    return result.stopped;
  };
  Trainer& trainer = job.trainer();
  const auto start = std::chrono::steady_clock::now();
  result.training = trainer.fit(job.train_data(), used);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.steps = trainer.steps();
  if (result.stopped) return result;
  std::optional<AveragedParameters> averaged;
  if (job.averages()) averaged.emplace(trainer.averaged());
  if (job.test_data() != nullptr) result.test = trainer.evaluate(*job.test_data());
  trainer.save(job.output_directory(), job.save_options());
  return result;
}

}  // namespace trireme
