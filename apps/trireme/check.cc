// trireme check: reads a job, opens its data and builds its model, without training.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "support.h"
#include "trireme/inspect.h"
#include "trireme/job.h"

namespace commands {
namespace {

namespace tr = trireme;
using Json = nlohmann::ordered_json;

struct Data {
  const char* name;
  const tr::data::Batches* batches;
};

std::vector<Data> data_of(tr::Job& job) {
  std::vector<Data> all = {{"train", &job.train_data()}};
  if (job.validation_data() != nullptr) all.push_back({"validation", job.validation_data()});
  if (job.test_data() != nullptr) all.push_back({"test", job.test_data()});
  return all;
}

std::int64_t trained_numbers(const tr::Program& program) {
  std::int64_t total = 0;
  for (const tr::Value& parameter : program.parameters()) {
    std::int64_t count = 1;
    for (const tr::Dim& dim : parameter.shape()) count *= dim.constant();
    total += count;
  }
  return total;
}

// At a full batch of the training data.
tr::MemoryReport memory_of(tr::Job& job) {
  tr::SymbolSizes sizes;
  for (const tr::Value& input : job.program().inputs()) {
    for (const tr::Dim& dim : input.shape()) {
      for (const std::string& symbol : dim.symbols()) {
        sizes[symbol] = job.train_data().batch_size();
      }
    }
  }
  tr::Trainer& trainer = job.trainer();
  return trainer.session().memory(trainer.training_fetches(), {.training = true, .updates = true},
                                  sizes);
}

std::int64_t steps_of(tr::Job& job) {
  const std::int64_t all = job.train_data().size() * job.epochs();
  return job.max_steps() > 0 ? std::min(job.max_steps(), all) : all;
}

Json columns_json(const tr::data::Dataset& dataset) {
  Json columns = Json::object();
  for (const tr::data::Column& column : dataset.columns()) columns[column.name] = type_of(column);
  return columns;
}

void print_json(tr::Job& job, std::int64_t numbers, const tr::MemoryReport& memory) {
  Json data = Json::object();
  for (const auto& [name, batches] : data_of(job)) {
    data[name] = {{"examples", batches->examples()},
                  {"batches", batches->size()},
                  {"columns", columns_json(batches->dataset())}};
  }
  const Json all = {{"job", job.name()},
                    {"data", data},
                    {"output", job.output().str()},
                    {"parameters", numbers},
                    {"steps", steps_of(job)},
                    {"memory",
                     {{"batch", job.train_data().batch_size()},
                      {"kernels", memory.kernels},
                      {"library_calls", memory.library_calls},
                      {"arena_bytes", memory.arena_bytes},
                      {"parameter_bytes", memory.parameter_bytes}}},
                    {"saved_model", job.output_directory()}};
  std::printf("%s\n", json_text(all, 1).c_str());
}

void print_text(tr::Job& job, const std::string& parameters, const tr::MemoryReport& memory) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, batches] : data_of(job)) {
    std::string columns;
    for (const tr::data::Column& column : batches->dataset().columns()) {
      columns += (columns.empty() ? "" : ", ") + column.name + " " + type_of(column);
    }
    rows.push_back(
        {name, std::to_string(batches->examples()), std::to_string(batches->size()), columns});
  }
  std::printf("%s\n%s\noutput  %s\n",
              table({"data", "examples", "batches", "columns"}, rows).c_str(), parameters.c_str(),
              job.output().str().c_str());
  std::printf("memory  %.2f MB for values of a step of %lld examples, %.2f MB for parameters\n",
              static_cast<double>(memory.arena_bytes) / 1e6,
              static_cast<long long>(job.train_data().batch_size()),
              static_cast<double>(memory.parameter_bytes) / 1e6);
  std::printf("steps   %lld, then the model is saved to %s/\n%s: ok\n",
              static_cast<long long>(steps_of(job)), job.output_directory().c_str(),
              job.name().c_str());
}

}  // namespace

void check(const CheckArguments& arguments) {
  tr::Job job = tr::Job::read(arguments.job, arguments.options);
  if (arguments.print_job) {
    std::printf("%s", job.resolved().c_str());
    return;
  }
  // Before the Trainer adds its own parameters.
  const std::int64_t numbers = trained_numbers(job.program());
  const std::string parameters = tr::parameter_table(job.program());
  const tr::MemoryReport memory = memory_of(job);
  if (arguments.json) print_json(job, numbers, memory);
  else print_text(job, parameters, memory);
}

}  // namespace commands
