// trireme inspect: prints what a model, job or Program computes and what it costs.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "commands.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/inspect.h"
#include "trireme/job.h"
#include "trireme/saved_model.h"

namespace commands {
namespace {

namespace tr = trireme;

std::string megabytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

void print_cost(const tr::Program& program, tr::Session& session,
                const std::vector<tr::Value>& fetches, tr::RunOptions mode,
                const InspectArguments& arguments) {
  tr::SymbolSizes sizes;
  for (const tr::Value& input : program.inputs()) {
    for (const tr::Dim& dim : input.shape()) {
      for (const std::string& symbol : dim.symbols()) sizes[symbol] = arguments.batch;
    }
  }
  const tr::MemoryReport memory = session.memory(fetches, mode, sizes);
  std::printf(
      "%s at batch %lld: %d kernels, %d library calls, arena %s "
      "(stored values %s, all values of the Program %s), parameters %s\n",
      mode.updates ? "training step" : "prediction", static_cast<long long>(arguments.batch),
      memory.kernels, memory.library_calls, megabytes(memory.arena_bytes).c_str(),
      megabytes(memory.sum_of_values).c_str(), megabytes(memory.program_bytes).c_str(),
      megabytes(memory.parameter_bytes).c_str());
}

void print_program(const tr::Program& program, const InspectArguments& arguments) {
  std::printf("%s\n", program.str().c_str());
  if (arguments.program_only) return;
  std::printf("%s\n", tr::parameter_table(program).c_str());
  tr::SymbolSizes one_example;
  for (const tr::Value& input : program.inputs()) {
    for (const tr::Dim& dim : input.shape()) {
      for (const std::string& symbol : dim.symbols()) one_example[symbol] = 1;
    }
  }
  std::printf("cost of all ops above: %.4g MFLOP for one example\n",
              tr::count_flops(program, one_example) / 1e6);
}

void inspect_program_file(const InspectArguments& arguments) {
  std::ifstream file(arguments.what);
  if (!file) throw tr::Error(tr::ErrorKind::not_found, "cannot open " + arguments.what);
  std::stringstream text;
  text << file.rdbuf();
  tr::Program program = tr::Program::parse(text.str());
  print_program(program, arguments);
  if (arguments.program_only || program.outputs().empty()) return;
  tr::Session session(program);
  print_cost(program, session, program.outputs(), {}, arguments);
}

}  // namespace

void inspect(const InspectArguments& arguments) {
  const bool folder = std::filesystem::is_directory(arguments.what);
  if (folder) {
    tr::Model model = tr::load_model(arguments.what);
    print_program(model.program(), arguments);
    if (!arguments.program_only) {
      print_cost(model.program(), model.session(), model.program().outputs(), {}, arguments);
    }
  } else if (arguments.what.ends_with(".toml")) {
    tr::Job job = tr::Job::read(arguments.what);
    print_program(job.program(), arguments);
    if (!arguments.program_only) {
      tr::Trainer& trainer = job.trainer();
      print_cost(job.program(), trainer.session(), {job.output()}, {}, arguments);
      print_cost(job.program(), trainer.session(), trainer.training_fetches(),
                 {.training = true, .updates = true}, arguments);
    }
  } else {
    inspect_program_file(arguments);
  }
}

}  // namespace commands
