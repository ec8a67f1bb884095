// Every subcommand's words and options, as `trireme COMMAND --help` shows them.

#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "trireme/inspect.h"

namespace commands {
namespace {

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "train, test and save what a job file describes");
  command->add_option("job", arguments->job, "job file (docs/reference/job.md)");
  command
      ->add_option("--set", arguments->options.set,
                   "change one key of the job: --set train.epochs=2 (may be repeated)")
      ->allow_extra_args(false);
  command->add_option("--seed", arguments->seed, "of parameters, order of examples and dropout")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--threads", arguments->options.threads, "default: all processors")
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->options.output, "folder for the saved model");
  command->add_option("--run", arguments->options.run,
                      "folder for metrics, TensorBoard events and checkpoints");
  CLI::Option* resume =
      command
          ->add_option("--resume", arguments->resume_from,
                       "go on from the newest checkpoint of the run folder, or of DIR")
          ->expected(0, 1)
          ->type_name("[DIR]");
  command->add_option("--save-sheet", arguments->sheet,
                      "PNG file for the test images (default: test_images.png in the folder)");
  command->add_flag("--no-sheet", arguments->no_sheet, "no picture of test images");
  command->add_flag("--trace-nan", arguments->options.trace_nan,
                    "name the layer that first makes NaN or infinity (slower)");
  command->add_flag("--quiet", arguments->quiet, "only results");
  command->add_flag("--timings,--time-to-first-step", arguments->timings,
                    "say how long the start took, kernels compiled and memory planned");
  command->add_option("--log-every", arguments->log_every, "print the loss every so many steps")
      ->check(CLI::PositiveNumber);
  command->add_flag("--no-memory-planning", arguments->no_memory_planning,
                    "give every value memory of its own (to compare)");
  command->callback([arguments, resume] {
    arguments->resume = resume->count() > 0;
    // In `train --resume job.toml` the job is not what to resume from.
    if (arguments->job.empty() && arguments->resume_from.ends_with(".toml")) {
      std::swap(arguments->job, arguments->resume_from);
    }
    if (arguments->job.empty()) throw CLI::RequiredError("job");
    train(*arguments);
  });
}

void add_eval(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "measure a saved model on a data set");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command
      ->add_option("--data", arguments->data,
                   "data set such as mnist/test, a .csv file, or texts in a .tsv file")
      ->required();
  command->add_option("--batch", arguments->batch, "examples at a time")
      ->check(CLI::PositiveNumber);
  command->add_option("--limit", arguments->limit, "only the first examples")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", arguments->threads, "default: all processors")
      ->check(CLI::PositiveNumber);
  command->add_option("--sheet", arguments->sheet, "PNG file for the first pictures");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { eval(*arguments); });
}

void add_predict(CLI::App& app) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command =
      app.add_subcommand("predict", "apply a saved model to pictures, texts or data");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("files", arguments->files,
                      "PNG or JPEG files; of a model that takes texts, files of text");
  command->add_option("--text", arguments->texts, "a text itself; may be given several times");
  command->add_option("--data", arguments->data,
                      "data set such as mnist/test, a .csv file, or texts in a .tsv file");
  command->add_option("--rows", arguments->rows, "which of its rows: 0:10 (default), 7, 100:");
  command->add_option("--top", arguments->top, "how many classes to show")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", arguments->threads, "default: all processors")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { predict(*arguments); });
}

void add_compile(CLI::App& app) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand(
      "compile", "a saved model to a folder that runs without a compiler, by Trireme::inference");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("--target", arguments->options.target,
                      "x86-64-v3, x86-64-v4, aarch64 or native (default)");
  command->add_option("--precision", arguments->precision,
                      "of weights and of what is kept between steps: f32 (default), bf16 or f16");
  command->add_option("-o,--output", arguments->output,
                      "folder to write (default: MODEL/compiled-TARGET)");
  command->add_option("--linker", arguments->options.linker, "default: mold, else ld.lld");
  command->callback([arguments] { compile(*arguments); });
}

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand(
      "inspect", "the Program as text, its parameters, what it costs and the memory it needs");
  command->add_option("what", arguments->what, "a saved model, a job (.toml) or a program file")
      ->required();
  command->add_option("--batch", arguments->batch, "examples at a time")
      ->check(CLI::PositiveNumber);
  command->add_flag("--program", arguments->program_only, "only the text");
  command->callback([arguments] { inspect(*arguments); });
}

void add_data(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "lists, checks and converts data sets");
  command->require_subcommand(1);
  command->add_subcommand("list", "known data sets, whether they are here, and where")
      ->callback(list_data);

  auto name = std::make_shared<std::string>();
  CLI::App* path_command = command->add_subcommand("path", "the files of a known data set");
  path_command->add_option("name", *name, "mnist, or one part: mnist/test")->required();
  path_command->callback([name] { print_data_paths(*name); });

  auto specifications = std::make_shared<std::vector<std::string>>();
  CLI::App* verify_command =
      command->add_subcommand("verify", "reads all of a data set: form, checksums, ranges");
  verify_command->add_option("what", *specifications,
                             "known data sets, files or folders; none: all known ones found");
  verify_command->callback([specifications] { verify_data(*specifications); });

  auto output = std::make_shared<std::string>();
  CLI::App* convert_command =
      command->add_subcommand("convert", "writes a data set as a record file");
  convert_command->add_option("what", *name, "a known data set, a file or a folder")->required();
  convert_command->add_option("output", *output, "the record file, NAME.trec")->required();
  convert_command->callback([name, output] { convert_data(*name, *output); });
}

void add_info(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("info", "version, processor, libraries, threads, folders, data sets");
  command->callback([] { std::printf("%s", trireme::system_information().c_str()); });
}

}  // namespace

void add_all(CLI::App& app) {
  add_train(app);
  add_eval(app);
  add_predict(app);
  add_compile(app);
  add_inspect(app);
  add_data(app);
  add_info(app);
}

}  // namespace commands
