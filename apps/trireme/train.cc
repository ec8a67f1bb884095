// trireme train: trains the model of a job file and saves it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "commands.h"
#include "sheet.h"
#include "stop_signal.h"
#include "support.h"
#include "trireme/inspect.h"
#include "trireme/job.h"

namespace commands {
namespace {

namespace tr = trireme;

void draw_sheet(tr::Job& job, const std::string& path) {
  std::optional<tr::AveragedParameters> averaged;
  if (job.averages()) averaged.emplace(job.trainer().averaged());
  const tr::data::Dataset& all = job.test_data()->dataset();
  const tr::data::Dataset test = all.take(std::min(kSheetPictures, all.size()));
  const tr::Tensor scores = job.trainer().predict(test.batch(kSheetPictures), job.output());
  const tr::data::Batch batch = test.all();
  save_sheet(path, job.name(), batch.at(job.input_name()), batch.at(job.target_name()), scores,
             test.class_names());
}

bool has_pictures(tr::Job& job) {
  const auto shape = job.test_data()->dataset().column(job.input_name()).shape;
  return job.classifies() && shape.size() == 3 && (shape[0] == 1 || shape[0] == 3);
}

void print_timings(tr::Job& job) {
  const double seconds = seconds_since_start();
  const tr::SessionStatistics statistics = job.trainer().session().statistics();
  std::printf(
      "first step after %.3f s: %d kernels compiled, %d cached\n"
      "arena bytes: %lld\nvalues bytes: %lld\n",
      seconds, statistics.kernels_compiled, statistics.kernels_cached,
      static_cast<long long>(statistics.arena_bytes),
      static_cast<long long>(statistics.sum_of_values));
}

// Applies --resume. If DIR is a run folder and the job names no other one, the run continues there.
void prepare_resume(tr::Job& job, const TrainArguments& arguments, tr::FitOptions& options) {
  if (!arguments.resume) return;
  const std::string& from = arguments.resume_from;
  if (from.empty()) {
    if (options.run.empty() && options.checkpoint.directory.empty()) {
      throw tr::Error(tr::ErrorKind::usage,
                      "--resume: no run folder is given\n"
                      "  hint   use --run DIR or --resume DIR, or set run in [output] of the job");
    }
    options.resume = true;
    return;
  }
  job.trainer().resume(from);
  if (options.run.empty() && options.checkpoint.directory.empty() &&
      std::filesystem::is_directory(from + "/checkpoints")) {
    options.run = from;
  }
}

[[noreturn]] void throw_stopped(tr::Job& job, const tr::FitOptions& options) {
  const bool saved = !options.run.empty() || !options.checkpoint.directory.empty();
  throw Stopped{"stopped by " + stop_signal_name() + " after step " +
                    std::to_string(job.trainer().steps()) +
                    (saved ? "; a checkpoint was saved\n  hint   continue with --resume"
                           : "; nothing was saved\n  hint   use --run DIR to save checkpoints"),
                stop_signal()};
}

tr::JobResult run(tr::Job& job, const TrainArguments& arguments) {
  tr::FitOptions options = job.fit_options();
  options.progress = !arguments.quiet;
  prepare_resume(job, arguments, options);
  bool first = true;
  options.after_step = [&](std::int64_t step, double loss) {
    if (std::exchange(first, false)) {
      if (step > 1) {
        std::fprintf(stderr, "resumed after step %lld\n", static_cast<long long>(step - 1));
      }
      std::fflush(stdout);
      if (arguments.timings) print_timings(job);
    }
    // Nine digits represent a float exactly, so that runs can be compared bit by bit.
    if (arguments.log_every > 0 && step % arguments.log_every == 0) {
      std::printf("step %lld  loss %.9g\n", static_cast<long long>(step), loss);
    }
  };
  const StopSignals signals;
  options.stop = [] { return stop_signal() != 0; };
  const tr::JobResult result = tr::train_job(job, options);
  if (result.stopped) throw_stopped(job, options);
  if (!arguments.quiet) std::fprintf(stderr, "trained in %.1f s\n", result.seconds);
  return result;
}

void print_json(tr::Job& job, const tr::JobResult& result) {
  nlohmann::ordered_json json = {{"job", job.name()},
                                 {"steps", result.steps},
                                 {"seconds", result.seconds},
                                 {"saved_model", job.output_directory()}};
  if (result.test) {
    json["test"] = {{"examples", result.test->examples()}};
    for (const auto& [name, value] : result.test->numbers()) json["test"][name] = value;
  }
  std::printf("%s\n", json_text(json, 2).c_str());
}

}  // namespace

void train(TrainArguments arguments) {
  if (arguments.seed >= 0) arguments.options.seed = static_cast<std::uint64_t>(arguments.seed);
  arguments.options.plan_memory = !arguments.no_memory_planning;
  if (arguments.dry_run || arguments.print_job) {
    return check({arguments.job, arguments.options, arguments.json, arguments.print_job});
  }
  tr::Job job = tr::Job::read(arguments.job, arguments.options);
  if (!arguments.quiet) std::fprintf(stderr, "%s\n", job.summary().c_str());
  const tr::JobResult result = run(job, arguments);
  if (result.test && !arguments.json) {
    print_measured(*result.test, "test ", job.test_data()->dataset().class_names());
    std::fflush(stdout);
  }
  const std::string& directory = job.output_directory();
  if (job.test_data() != nullptr && has_pictures(job) && !arguments.no_sheet) {
    draw_sheet(job, arguments.sheet.empty() ? directory + "/test_images.png" : arguments.sheet);
  }
  const tr::SaveOptions saved = job.save_options();
  if (arguments.json) print_json(job, result);
  std::fprintf(stderr, "saved %s/   (try: trireme predict %s %s)\n", directory.c_str(),
               directory.c_str(),
               !saved.preprocessing.empty()                         ? "image.png"
               : saved.text.size() == 1 && saved.inputs.size() == 1 ? "--text TEXT"
                                                                    : "--data SPEC");
}

}  // namespace commands
