// Descriptions, examples and options of every subcommand, as `trireme COMMAND --help` shows them.

#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "completion.h"
#include "description.h"
#include "man.h"
#include "support.h"
#include "trireme/inspect.h"

namespace commands {
namespace {

struct CommandExamples {
  const char* command;
  const char* text;
};

constexpr CommandExamples kCommandExamples[] = {
    {"train", R"(
  trireme train examples/jobs/fashion_conv.toml
  trireme train job.toml --set train.epochs=2 --set train.batch=64
  trireme train job.toml --run runs/1               keep metrics and checkpoints in runs/1
  trireme train job.toml --run runs/1 --resume      continue from the newest checkpoint
)"},
    {"init", R"(
  trireme init prices.csv                           writes prices.toml
  trireme init patients.csv --target survived
  trireme init photos/ -o cats_and_dogs.toml        photos/cat/*.jpg, photos/dog/*.jpg
  trireme init reviews.tsv -o -                     prints the job
)"},
    {"check", R"(
  trireme check job.toml
  trireme check job.toml --set data.batch=256 --json
  trireme check job.toml --print-job > whole.toml   with the defaults of all options
)"},
    {"eval", R"(
  trireme eval fashion_conv --data fashion_mnist/test
  trireme eval fashion_conv --data fashion_mnist/test --limit 1000 --json
  trireme eval housing_linear --data housing.csv
)"},
    {"predict", R"(
  trireme predict fashion_conv shirt.png boot.jpg --top 3
  trireme predict text_lstm --text "a great film"
  trireme predict fashion_conv --data fashion_mnist/test --rows 0:5 --json
  trireme predict fashion_conv --data fashion_mnist/test -o predictions.csv
)"},
    {"compile", R"(
  trireme compile fashion_conv                      for this machine
  trireme compile fashion_conv --target aarch64 -o fashion_arm
  trireme compile fashion_conv --precision bf16     half the size
)"},
    {"quantize", R"(
  trireme quantize fashion_lenet --calibrate fashion_mnist/train
  trireme quantize fashion_lenet --calibrate fashion_mnist/train \
      --data fashion_mnist/test --max-drop 0.5     layers that cost too much stay f32
  trireme quantize text_lstm --weights-only -o text_lstm_small
)"},
    {"convert", R"(
  trireme convert resnet18.onnx resnet18
  trireme convert resnet18.onnx resnet18 --image x --labels imagenet.txt
  trireme convert bert.onnx bert --size sequence=128
  trireme convert resize.onnx resize --shape x=batch,3,224,224 --constant sizes=[1,3,64,64]
)"},
    {"export", R"(
  trireme export fashion_conv fashion_conv.onnx
  trireme export fashion_conv fashion_conv.onnx --opset 21
)"},
    {"inspect", R"(
  trireme inspect fashion_conv
  trireme inspect examples/jobs/fashion_conv.toml --batch 128
  trireme inspect fashion_conv --program            only the Program
)"},
    {"data", R"(
  trireme data list
  trireme data download mnist --directory data
  trireme data path mnist/test
  trireme data verify mnist houses.csv
  trireme data convert cifar10/train cifar10_train.trec
)"},
    {"schema", R"(
  trireme job schema > job.schema.json              then `#:schema job.schema.json` in a job
)"},
    {"catalog", R"(
  trireme catalog > catalog.json
)"},
    {"completion", R"(
  source <(trireme completion bash)                 in ~/.bashrc
  trireme completion zsh > ~/.zfunc/_trireme        in a folder of fpath
  trireme completion fish > ~/.config/fish/completions/trireme.fish
)"},
    {"man", R"(
  trireme man /usr/local/share/man/man1
)"},
    {"info", R"(
  trireme info
)"},
};

// Prints the examples of a command right after its description.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    std::string text = CLI::Formatter::make_description(app);
    const std::string examples = examples_of(app->get_name());
    return examples.empty() ? text : text + "\nexamples:\n" + examples;
  }
};

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "train, test and save the model of a job file");
  command->add_option("job", arguments->job, "job file (docs/reference/job.md)");
  command
      ->add_option("--set", arguments->options.set,
                   "change one key of the job: --set train.epochs=2 (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--seed", arguments->seed,
                   "seed of initial parameters, order of examples and dropout (default: the job's)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--threads", arguments->options.threads,
                   "number of threads (default: all processors)")
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->options.output,
                      "folder for the saved model (default: the job's)");
  command->add_option("--run", arguments->options.run,
                      "folder for metrics, TensorBoard events and checkpoints");
  CLI::Option* resume =
      command
          ->add_option("--resume", arguments->resume_from,
                       "continue from the newest checkpoint of the run folder, or from DIR")
          ->expected(0, 1)
          ->type_name("[DIR]");
  command->add_option("--save-sheet", arguments->sheet,
                      "PNG file for the first test images with their predictions\n"
                      "(default: test_images.png in the saved model's folder)");
  command->add_flag("--no-sheet", arguments->no_sheet, "do not draw test images");
  command->add_flag("--trace-nan", arguments->options.trace_nan,
                    "name the first layer that computes NaN or infinity (slower)");
  command->add_flag("--dry-run", arguments->dry_run, "check the job, as trireme check, and end");
  command->add_flag("--print-job", arguments->print_job,
                    "print the job with the defaults of all options, as a job file, and end");
  command->add_flag("--quiet", arguments->quiet, "print results only");
  command->add_flag("--json", arguments->json, "print the results as JSON");
  command->add_flag("--timings,--time-to-first-step", arguments->timings,
                    "print the time to the first step, compiled kernels and planned memory");
  command->add_option("--log-every", arguments->log_every, "print the loss every N steps")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_flag("--no-memory-planning", arguments->no_memory_planning,
                    "give every value its own memory, for comparison");
  command->callback([arguments, resume] {
    arguments->resume = resume->count() > 0;
    // `train --resume job.toml` names the job, not the folder to resume from.
    if (arguments->job.empty() && arguments->resume_from.ends_with(".toml")) {
      std::swap(arguments->job, arguments->resume_from);
    }
    if (arguments->job.empty()) throw CLI::RequiredError("job");
    train(*arguments);
  });
}

void add_init(CLI::App& app) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App* command = app.add_subcommand(
      "init",
      "write a first job file, with comments, for a CSV file, texts or a folder of pictures");
  command
      ->add_option(
          "data", arguments->data,
          "CSV file; folder with train.csv and test.csv; TSV file with a text and a label\n"
          "in each line; or folder of pictures with a subfolder for each class")
      ->required();
  command
      ->add_option("--target", arguments->target,
                   "column of a CSV file to predict (default: a guess)")
      ->type_name("COLUMN");
  command
      ->add_option("-o,--output", arguments->output,
                   "job file to write (default: named after the data); - prints it")
      ->type_name("FILE");
  command->add_flag("--force", arguments->force, "replace the job file if it exists");
  command->callback([arguments] { init(*arguments); });
}

void add_check(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check", "check a job without training: keys, data, model, shapes and memory");
  command->add_option("job", arguments->job, "job file (docs/reference/job.md)")->required();
  command
      ->add_option("--set", arguments->options.set,
                   "change one key of the job: --set train.epochs=2 (repeatable)")
      ->allow_extra_args(false);
  command->add_flag("--print-job", arguments->print_job,
                    "print the job with the defaults of all options, as a job file");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { check(*arguments); });
}

// Options of a Session that runs a saved model.
void add_session_options(CLI::App& command, trireme::SessionOptions& session) {
  command.add_option("--threads", session.threads, "number of threads (default: all processors)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--max-memory", session.max_bytes,
                  "end with an error above this memory: 500M, 2G (default: no limit)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber)
      ->type_name("SIZE");
  command
      .add_option("--max-operations", session.max_operations,
                  "end with an error above this number of computed elements and products in one\n"
                  "batch (default: no limit)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
}

void add_eval(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "measure a saved model on a data set");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command
      ->add_option("--data", arguments->data,
                   "data set such as mnist/test, a .csv file, or texts in a .tsv file")
      ->required();
  command->add_option("--batch", arguments->batch, "examples per batch (default: 256)")
      ->check(CLI::PositiveNumber);
  command->add_option("--limit", arguments->limit, "use the first N examples only")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  add_session_options(*command, arguments->session);
  command->add_option("--sheet", arguments->sheet,
                      "PNG file for the first images with their predictions");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { eval(*arguments); });
}

void add_predict(CLI::App& app) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "apply a saved model to images, texts or data");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("files", arguments->files,
                      "PNG or JPEG files; text files for a model that takes texts");
  command->add_option("--text", arguments->texts, "a text (repeatable)");
  command->add_option("--data", arguments->data,
                      "data set such as mnist/test, a .csv file, or texts in a .tsv file");
  command->add_option("--rows", arguments->rows,
                      "rows of the data set: 0:10 (default; with --output all), 7, or 100: for\n"
                      "row 100 to the end");
  command
      ->add_option("-o,--output", arguments->output,
                   "write the predictions of all rows to a .csv or .jsonl file")
      ->type_name("FILE");
  command
      ->add_option("--batch", arguments->batch, "examples at a time, with --output (default: 256)")
      ->check(CLI::PositiveNumber);
  command->add_option("--top", arguments->top, "number of classes to print (default: 1)")
      ->check(CLI::PositiveNumber);
  add_session_options(*command, arguments->session);
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { predict(*arguments); });
}

void add_compile(CLI::App& app) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand(
      "compile",
      "compile a saved model to a folder that Trireme::inference runs without a compiler");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("--target", arguments->options.target,
                      "x86-64-v3, alderlake, x86-64-v4, cascadelake, sapphirerapids, aarch64, "
                      "armv8.2-dotprod or native (default)");
  command->add_option("--precision", arguments->precision,
                      "precision of weights and stored values: f32 (default), bf16 or f16");
  command->add_option("-o,--output", arguments->output,
                      "folder to write (default: MODEL/compiled-TARGET)");
  command->add_option("--linker", arguments->options.linker,
                      "linker to use (default: mold, or ld.lld if there is no mold)");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { compile(*arguments); });
}

void add_quantize(CLI::App& app) {
  auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App* command = app.add_subcommand(
      "quantize", "make bytes of the weights of a saved model: four times smaller, and faster");
  command->alias("quantise");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("--calibrate", arguments->calibrate,
                      "data with typical inputs, from which their ranges are found");
  command
      ->add_option("--examples", arguments->examples,
                   "examples of the calibration, from all parts of the data (default: 256)")
      ->check(CLI::PositiveNumber);
  command->add_option("--range", arguments->range,
                      "choice of ranges: mse (default), min_max, percentile or entropy");
  command->add_option("--percentile", arguments->options.percentile,
                      "percent of the values within the range (default: 99.99)");
  command->add_flag("--weights-only", arguments->options.weights_only,
                    "only weights become bytes; needs no calibration");
  command->add_option("--keep", arguments->options.keep,
                      "layer that stays f32, where * stands for any characters");
  command->add_option("--data", arguments->data, "data to measure the model with");
  command->add_option("--limit", arguments->limit, "examples to measure (default: all)")
      ->check(CLI::PositiveNumber);
  command->add_option("--metric", arguments->metric,
                      "what is measured (default: bleu, auc, accuracy, mse or loss)");
  command->add_option("--max-drop", arguments->max_drop,
                      "largest loss, in points (hundredths) of the metric, or percent of an error");
  command->add_option("--batch", arguments->batch, "examples per batch (default: 256)")
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->output, "folder to write (default: MODEL-i8)");
  add_session_options(*command, arguments->session);
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { quantize(*arguments); });
}

void add_convert(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command =
      app.add_subcommand("convert", "turn a model of ONNX into a saved model, to predict with it");
  command->add_option("model", arguments->model, "file of ONNX")->required();
  command->add_option("output", arguments->output, "folder for the saved model")->required();
  const auto add_list = [&](const char* name, std::vector<std::string>& list, const char* text,
                            const char* form) {
    command->add_option(name, list, text)->allow_extra_args(false)->type_name(form);
  };
  add_list("--size", arguments->sizes,
           "size of a symbol in the shapes of inputs: batch=1 (repeatable)", "SYMBOL=N");
  add_list("--shape", arguments->shapes,
           "shape of an input instead of the model's: x=batch,3,224,224 (repeatable)",
           "INPUT=SIZES");
  add_list("--constant", arguments->constants,
           "value of an input, which the saved model then does not have: k=5 or sizes=[2,3]\n"
           "(repeatable)",
           "INPUT=VALUE");
  command->add_option("--image", arguments->image, "input that takes pictures, with values 0 to 1")
      ->type_name("INPUT");
  command
      ->add_option("--labels", arguments->labels,
                   "text file with the name of a class in each line, for the first output")
      ->type_name("FILE");
  command
      ->add_option("--max-memory", arguments->max_bytes,
                   "memory for numbers that are computed now: 500M, 2G (default: no limit)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber)
      ->type_name("SIZE");
  command
      ->add_option("--max-nodes", arguments->max_nodes,
                   "nodes to read, with the steps of loops (default: 1000000)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { convert(*arguments); });
}

void add_export(CLI::App& app) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "write a saved model as a model of ONNX");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("output", arguments->output, "file to write, NAME.onnx")->required();
  command
      ->add_option("--opset", arguments->opset, "version of ONNX's operators, 18 (default) to 27")
      ->type_name("N");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { export_onnx(*arguments); });
}

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand(
      "inspect", "print the Program as text, its parameters, its cost and the memory it needs");
  command->add_option("what", arguments->what, "a saved model, a job (.toml) or a program file")
      ->required();
  command->add_option("--batch", arguments->batch, "examples per batch (default: 64)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--program", arguments->program_only, "print the Program only");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { inspect(*arguments); });
}

void add_data(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "list, download, check and convert data sets");
  command->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  CLI::App* list_command = command->add_subcommand(
      "list", "list the known data sets, and where they are on this machine");
  list_command->add_flag("--json", *json, "print JSON");
  list_command->callback([json] { list_data(*json); });

  auto name = std::make_shared<std::string>();
  CLI::App* path_command = command->add_subcommand("path", "print the files of a known data set");
  path_command->add_option("name", *name, "mnist, or one part: mnist/test")->required();
  path_command->callback([name] { print_data_paths(*name); });

  auto download = std::make_shared<DownloadArguments>();
  CLI::App* download_command = command->add_subcommand(
      "download", "get known data sets from their public origins, with checksums");
  download_command->add_option("name", download->names, "data sets such as mnist")->required();
  download_command->add_option("--directory", download->directory,
                               "folder for data sets (default: $TRIREME_DATA)");
  download_command->add_option("--mirror", download->mirror,
                               "address of a folder that has the files, instead of the origin");
  download_command->add_flag("--quiet", download->quiet, "print only the paths of the files");
  download_command->callback([download] { download_data(*download); });

  auto specifications = std::make_shared<std::vector<std::string>>();
  CLI::App* verify_command =
      command->add_subcommand("verify", "read a whole data set: format, checksums, ranges");
  verify_command->add_option("what", *specifications,
                             "known data sets, files or folders (default: all known ones found)");
  verify_command->add_flag("--json", *json, "print JSON");
  verify_command->callback([specifications, json] { verify_data(*specifications, *json); });

  auto output = std::make_shared<std::string>();
  CLI::App* convert_command =
      command->add_subcommand("convert", "write a data set to a record file");
  convert_command->add_option("what", *name, "a known data set, a file or a folder")->required();
  convert_command->add_option("output", *output, "the record file, NAME.trec")->required();
  convert_command->callback([name, output] { convert_data(*name, *output); });
}

void add_job(CLI::App& app) {
  CLI::App* command = app.add_subcommand("job", "print the JSON Schema of job files");
  command->require_subcommand(1);
  command->add_subcommand("schema", "print the JSON Schema of job files, for editors")
      ->callback([] { std::printf("%s", trireme::job_schema_json().c_str()); });
}

void add_catalog(CLI::App& app) {
  app.add_subcommand("catalog", "print all ops, layers, losses, ... with their options, as JSON")
      ->callback([] { std::printf("%s", trireme::catalog_json().c_str()); });
}

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "print the completion script of a shell: bash, zsh or fish");
  command->add_option("shell", *shell, "bash, zsh or fish")->required();
  command->callback([&app, shell] {
    std::printf("%s", completion_script(describe_program(app), *shell).c_str());
  });
}

void add_man(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("man", "write the man pages of all commands to a folder");
  command->add_option("folder", *folder, "an existing folder")->required();
  command->callback([&app, folder] { write_man_pages(describe_program(app), *folder); });
}

// The lines "name: value" of the information, or one JSON object.
void print_information(bool json) {
  const std::string text = trireme::system_information();
  if (!json) {
    std::printf("%s", text.c_str());
    return;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    all[line.substr(0, colon)] = value == std::string::npos ? "" : line.substr(value);
  }
  std::printf("%s\n", json_text(all, 2).c_str());
}

void add_info(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "info", "print version, processor, libraries, threads, folders, data sets");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json] { print_information(*json); });
}

}  // namespace

std::string examples_of(const std::string& command) {
  for (const CommandExamples& examples : kCommandExamples) {
    if (command == examples.command) return std::string(examples.text).substr(1);
  }
  return "";
}

void add_all(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());  // inherited by the commands added below
  add_train(app);
  add_init(app);
  add_check(app);
  add_eval(app);
  add_predict(app);
  add_compile(app);
  add_quantize(app);
  add_convert(app);
  add_export(app);
  add_inspect(app);
  add_data(app);
  add_job(app);
  add_catalog(app);
  add_completion(app);
  add_man(app);
  add_info(app);
}

}  // namespace commands
