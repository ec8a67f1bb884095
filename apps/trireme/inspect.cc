// trireme inspect: prints what a model, job or Program computes and what it costs.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
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
using Json = nlohmann::ordered_json;

std::string megabytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

tr::SymbolSizes sizes_at(const tr::Program& program, std::int64_t batch) {
  tr::SymbolSizes sizes;
  for (const tr::Value& input : program.inputs()) {
    for (const tr::Dim& dim : input.shape()) {
      for (const std::string& symbol : dim.symbols()) sizes[symbol] = batch;
    }
  }
  return sizes;
}

// Prints a Program and the memory of its runs, as text or at the end as JSON.
class Report {
 public:
  Report(const tr::Program& program, const InspectArguments& arguments)
      : program_(program), arguments_(arguments) {
    if (arguments.json) {
      collect();
      return;
    }
    std::printf("%s\n", program.str().c_str());
    if (arguments.program_only) return;
    std::printf("%s\ncost of all ops above: %.4g MFLOP for one example\n",
                tr::parameter_table(program).c_str(), flops() / 1e6);
  }

  void add_run(tr::Session& session, const std::vector<tr::Value>& fetches, tr::RunOptions mode) {
    if (arguments_.program_only) return;
    const tr::MemoryReport memory =
        session.memory(fetches, mode, sizes_at(program_, arguments_.batch));
    if (arguments_.json) {
      json_["runs"].push_back({{"kind", mode.updates ? "training step" : "prediction"},
                               {"batch", arguments_.batch},
                               {"kernels", memory.kernels},
                               {"library_calls", memory.library_calls},
                               {"arena_bytes", memory.arena_bytes},
                               {"sum_of_values", memory.sum_of_values},
                               {"program_bytes", memory.program_bytes},
                               {"parameter_bytes", memory.parameter_bytes}});
      return;
    }
    std::printf(
        "%s at batch %lld: %d kernels, %d library calls, arena %s "
        "(stored values %s, all values of the Program %s), parameters %s\n",
        mode.updates ? "training step" : "prediction", static_cast<long long>(arguments_.batch),
        memory.kernels, memory.library_calls, megabytes(memory.arena_bytes).c_str(),
        megabytes(memory.sum_of_values).c_str(), megabytes(memory.program_bytes).c_str(),
        megabytes(memory.parameter_bytes).c_str());
  }

  void finish() const {
    if (arguments_.json) std::printf("%s\n", json_text(json_, 2).c_str());
  }

 private:
  double flops() const { return tr::count_flops(program_, sizes_at(program_, 1)); }

  void collect() {
    json_["program"] = program_.str();
    if (arguments_.program_only) return;
    json_["parameters"] = Json::array();
    for (const tr::Value& parameter : program_.parameters()) {
      json_["parameters"].push_back({{"name", parameter.name().substr(1)},
                                     {"dtype", std::string(tr::name_of(parameter.dtype()))},
                                     {"shape", tr::str(parameter.shape())}});
    }
    json_["flops_of_one_example"] = flops();
    json_["runs"] = Json::array();
  }

  const tr::Program& program_;
  const InspectArguments& arguments_;
  Json json_;
};

void inspect_program_file(const InspectArguments& arguments) {
  std::ifstream file(arguments.what);
  if (!file) throw tr::Error(tr::ErrorKind::not_found, "cannot open " + arguments.what);
  std::stringstream text;
  text << file.rdbuf();
  tr::Program program = tr::Program::parse(text.str());
  Report report(program, arguments);
  if (!arguments.program_only && !program.outputs().empty()) {
    tr::Session session(program);
    report.add_run(session, program.outputs(), {});
  }
  report.finish();
}

}  // namespace

void inspect(const InspectArguments& arguments) {
  const bool folder = std::filesystem::is_directory(arguments.what);
  if (folder) {
    tr::Model model = tr::load_model(arguments.what);
    Report report(model.program(), arguments);
    report.add_run(model.session(), model.program().outputs(), {});
    report.finish();
  } else if (arguments.what.ends_with(".toml")) {
    tr::Job job = tr::Job::read(arguments.what);
    Report report(job.program(), arguments);
    if (!arguments.program_only) {
      tr::Trainer& trainer = job.trainer();
      report.add_run(trainer.session(), {job.output()}, {});
      report.add_run(trainer.session(), trainer.training_fetches(),
                     {.training = true, .updates = true});
    }
    report.finish();
  } else {
    inspect_program_file(arguments);
  }
}

}  // namespace commands
