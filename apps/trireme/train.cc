// trireme train: a job from its file to a saved model.

#include <cstdio>
#include <memory>
#include <string>

#include "commands.h"
#include "support.h"
#include "trireme/image.h"
#include "trireme/inspect.h"
#include "trireme/job.h"

namespace {

namespace tr = trireme;

struct Arguments {
  std::string job;
  tr::JobOptions options;
  std::int64_t seed = -1;
  std::string sheet;
  bool no_sheet = false;
  bool quiet = false;
  bool time_to_first_step = false;
};

constexpr std::int64_t kPictures = 48;

// Test images with what they are and what the model takes them for.
void save_sheet(tr::Job& job, const std::string& path) {
  const tr::data::Dataset test = job.test_data()->dataset().take(kPictures);
  const tr::Tensor scores = job.trainer().predict(test.batch(kPictures), job.output());
  const tr::data::Batch batch = test.all();
  const tr::Tensor& labels = batch.at(job.target_name());
  const std::int64_t classes = scores.dim(1);
  std::vector<tr::image::Caption> captions;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    const std::int64_t truth = labels.data<std::int64_t>()[i];
    const std::int64_t predicted = winner(scores.data<float>() + i * classes, classes);
    captions.push_back({class_name(test.class_names(), truth),
                        class_name(test.class_names(), predicted), truth != predicted});
    if (truth != predicted) ++wrong;
  }
  const std::string title = job.name() + ": " + std::to_string(wrong) + " of " +
                            std::to_string(captions.size()) + " wrong (true above predicted)";
  tr::image::save_png(path, tr::image::contact_sheet(batch.at(job.input_name()), captions,
                                                     {.title = title}));
  std::printf("test images: %s\n", path.c_str());
}

void print_results(tr::Job& job, const tr::Metrics& metrics) {
  if (!job.classifies()) {
    std::printf("test mse: %.6g\n", metrics.has("mse") ? metrics["mse"] : metrics["loss"]);
    return;
  }
  std::printf("test accuracy: %.4f\n", metrics["accuracy"]);
  if (metrics.tensors().empty()) return;
  std::printf("\nconfusion matrix: rows are true classes, columns predicted ones\n%s\n",
              tr::confusion_table(metrics.tensor("confusion"),
                                  job.test_data()->dataset().class_names()).c_str());
}

bool has_pictures(tr::Job& job) {
  const auto shape = job.test_data()->dataset().column(job.input_name()).shape;
  return job.classifies() && shape.size() == 3 && (shape[0] == 1 || shape[0] == 3);
}

void say_first_step(tr::Job& job) {
  const double seconds = seconds_since_start();
  const tr::SessionStatistics statistics = job.trainer().session().statistics();
  std::printf("first step after %.3f s: %d kernels compiled, %d cached\n", seconds,
              statistics.kernels_compiled, statistics.kernels_cached);
}

void train(Arguments& arguments) {
  if (arguments.seed >= 0) arguments.options.seed = static_cast<std::uint64_t>(arguments.seed);
  tr::Job job = tr::Job::read(arguments.job, arguments.options);
  tr::Trainer& trainer = job.trainer();
  if (!arguments.quiet) std::printf("%s\n", job.summary().c_str());
  std::fflush(stdout);

  tr::FitOptions fit{.epochs = job.epochs(), .progress = !arguments.quiet};
  if (arguments.time_to_first_step) {
    fit.after_step = [&](std::int64_t step, double) {
      if (step == 1) say_first_step(job);
    };
  }
  trainer.fit(job.train_data(), fit);
  tr::Metrics metrics;
  if (job.test_data() != nullptr) {
    metrics = trainer.evaluate(*job.test_data());
    print_results(job, metrics);
  }
  const std::string& directory = job.output_directory();
  trainer.save(directory, job.save_options());
  if (job.test_data() != nullptr && has_pictures(job) && !arguments.no_sheet) {
    save_sheet(job, arguments.sheet.empty() ? directory + "/test_images.png" : arguments.sheet);
  }
  std::printf("saved %s/   (try: trireme predict %s %s)\n", directory.c_str(), directory.c_str(),
              job.save_options().preprocessing.empty() ? "--data SPEC" : "image.png");
}

}  // namespace

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("train", "train, test and save what a job file describes");
  command->add_option("job", arguments->job, "job file (docs/job.md)")->required();
  command
      ->add_option("--set", arguments->options.set,
                   "change one key of the job: --set train.epochs=2 (may be repeated)")
      ->allow_extra_args(false);
  command->add_option("--seed", arguments->seed, "of parameters, order of examples and dropout")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--threads", arguments->options.threads, "default: all processors")
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->options.output, "folder for the saved model");
  command->add_option("--save-sheet", arguments->sheet,
                      "PNG file for the test images (default: test_images.png in the folder)");
  command->add_flag("--no-sheet", arguments->no_sheet, "no picture of test images");
  command->add_flag("--trace-nan", arguments->options.trace_nan,
                    "name the layer that first makes NaN or infinity (slower)");
  command->add_flag("--quiet", arguments->quiet, "only results");
  command->add_flag("--time-to-first-step", arguments->time_to_first_step,
                    "say how long the start took and how many kernels were compiled");
  command->callback([arguments] { train(*arguments); });
}
