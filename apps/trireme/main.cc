// The `trireme` command line.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "description.h"
#include "support.h"
#include "trireme/crash.h"
#include "trireme/error.h"

namespace {

constexpr const char* kExamples = R"(examples:
  trireme train examples/jobs/fashion_conv.toml     train, test and save the model of a job
  trireme train job.toml --set train.epochs=2       the same with one key changed
  trireme init prices.csv                           write a first job for data of your own
  trireme check job.toml                            check a job without training
  trireme launch --trainers 2 job.toml              the same in several processes
  trireme job status                                processes and progress of such a job
  trireme eval fashion_conv --data fashion_mnist/test
  trireme predict fashion_conv shirt.png boot.jpg
  trireme predict fashion_conv --data fashion_mnist/test --rows 0:5 --json
  trireme compile fashion_conv --target aarch64     a folder that runs without a compiler
  trireme convert resnet18.onnx resnet18            a model of ONNX as a saved model
  trireme export fashion_conv fashion_conv.onnx     and the other way
  trireme data list                                 known data sets and their folders
  trireme inspect fashion_conv                      the Program, parameters, cost and memory
  trireme --version
)";

constexpr const char* kFooter = R"(
training in several processes: trireme launch, job, credentials and role (each has --help)
environment:
  TRIREME_NUM_THREADS   number of threads
  TRIREME_DATA          folder of data sets
  TRIREME_CACHE_DIR     folder of compiled kernels
  TRIREME_MAX_FILE_BYTES  largest file that is read into memory
  TRIREME_DUMP          folder for the compiler's output as text
  TRIREME_PROFILE       file for a Chrome trace of every kernel
  NO_COLOR              print without colors
exit codes:
  0 success
  1 a bug in Trireme
  2 wrong usage, or a network that cannot be built
  3 wrong or damaged data, job or model
  4 a file is missing, or cannot be read or written
  5 NaN or infinity
  6 another process stopped the job of trireme launch, such as trireme job stop
  7 in a pod: the job was stopped by trireme job stop
  130, 143 stopped by SIGINT, SIGTERM; training writes a last checkpoint)";

int exit_code(trireme::ErrorKind kind) {
  switch (kind) {
    case trireme::ErrorKind::usage: return 2;
    case trireme::ErrorKind::data: return 3;
    case trireme::ErrorKind::not_found:
    case trireme::ErrorKind::io: return 4;
    case trireme::ErrorKind::numeric: return 5;
    case trireme::ErrorKind::internal: return 1;
  }
  return 1;
}

int report_error(const std::string& message, int code);

// `trireme job schema` is about job files, not about jobs that run.
bool is_distributed(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  if (words[0] == "job") return words.size() < 2 || words[1] != "schema";
  return words[0] == "launch" || words[0] == "role" || words[0] == "credentials";
}

// Replaces this process by trireme_distributed. Returns, with an exit code, only if that program is
// missing.
int exec_distributed(char** argv) {
  const std::string path = commands::distributed_program();
  ::execv(path.c_str(), argv);
  return report_error(path +
                          " is missing: this Trireme was built without distributed training\n"
                          "  hint   build with -DTRIREME_BUILD_DISTRIBUTED=ON",
                      4);
}

// Prints the message to stderr and returns `code`.
int report_error(const std::string& message, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Reports a wrong command line, with the subcommand or option nearest to the wrong word.
int report_usage_error(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& words) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::string hint;
  if (chosen.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands(nullptr))
      names.push_back(command->get_name());
    for (const std::string& word : words) {
      if (word.starts_with("-")) continue;
      const std::string near = nearest(word, names);
      return report_error("there is no command \"" + word + "\"" +
                              (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
                              "\n  hint   trireme --help",
                          2);
    }
  } else {
    const std::vector<std::string> names = option_names(*chosen[0]);
    for (const std::string& word : chosen[0]->remaining()) {
      if (!word.starts_with("--")) continue;
      const std::string near = nearest(word.substr(0, word.find('=')), names);
      if (!near.empty()) hint = "did you mean " + near + "?  ";
    }
    hint += "trireme " + chosen[0]->get_name() + " --help";
  }
  return report_error(
      std::string(error.what()) + "\n  hint   " + (hint.empty() ? "trireme --help" : hint), 2);
}

}  // namespace

int main(int argc, char** argv) {
  trireme::report_crashes("trireme");
  // Without this, exceeding the file size limit ends the process instead of failing the write.
  std::signal(SIGXFSZ, SIG_IGN);
  if (is_distributed({argv + 1, argv + argc})) return exec_distributed(argv);

  CLI::App app(std::string("Trireme trains and runs neural networks.\n\n") + kExamples, "trireme");
  app.footer(kFooter);
  app.set_version_flag("--version", "trireme " TRIREME_VERSION);
  app.require_subcommand(1);
  commands::add_all(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return report_usage_error(app, error, {argv + 1, argv + argc});
  } catch (const commands::Stopped& stopped) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", stopped.message.c_str());
    return 128 + stopped.signal;
  } catch (const trireme::Error& error) {
    return report_error(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report_error(
        "there is not enough memory\n  hint   use smaller batches, or fewer rows or files at once",
        4);
  } catch (const std::exception& error) {
    return report_error(
        std::string(error.what()) + "\n  hint   this is a bug in Trireme; please report it", 1);
  }
}
