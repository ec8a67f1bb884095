// One process of steps_test, which trains some steps with the others:
//   step_member synchronous RANK MEMBERS STEPS SERVER...     with parameters on these servers
//   step_member all_reduce RANK MEMBERS STEPS STORE          in a group of the store
// Prints the loss of each of its batches, "loss 3 48 0.69"; then the bits of its parameters, "bits
// 1234"; and rank 0 all initial and final values, "first NAME 0.1 0.2 ..." and "last NAME ...".

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/checksum.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/strategy/data_parallel.h"
#include "distributed/strategy/server_training.h"
#include "model.h"

namespace {

using namespace trireme;
using namespace trireme::distributed;
using trireme::testing::StepModel;

struct Part {
  std::int64_t rank = 0, members = 1, steps = 0;
};

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void say_values(const char* when, const std::string& name, const std::vector<float>& values) {
  std::string line = std::string(when) + " " + name;
  for (const float value : values) line += fmt::format(" {:.9g}", value);
  say(line);
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

void train(const Part& part, const StepModel& model,
           const std::function<double(const data::Batch&)>& step) {
  for (std::int64_t i = 0; i < part.steps; ++i) {
    const data::Batch batch = model.batch_of(i, part.rank, part.members);
    say(fmt::format("loss {} {} {:.17g}", i, data::examples_in(batch), step(batch)));
  }
}

void by_servers(const Part& part, const std::vector<std::string>& servers) {
  StepModel model;
  Network network;
  const ServerView view{SlotMap::balanced(static_cast<int>(servers.size())), servers};
  ParameterClient client(network, {.view = [&] { return view; },
                                   .security = {.token = "open sesame"},
                                   .sender = static_cast<std::uint32_t>(part.rank + 1),
                                   .deadline = Milliseconds(120000)});
  ServerTrainingOptions how;
  how.mode = Mode::synchronous;
  set_optimizer(how, model.options().optimizer);
  ServerTraining training(client, how, model.program);
  TrainerOptions options = model.options();
  training.extend(options);
  model.trainer.emplace(model.program, options);
  client.join(1, static_cast<std::uint32_t>(part.rank));
  training.start(*model.trainer);
  const auto say_all = [&](const char* when) {
    for (const std::string& name : training.tables()) {
      say_values(when, name, training.read_table(name).to_vector<float>());
    }
    for (const std::string& name : training.dense()) say_values(when, name, model.parameter(name));
  };
  if (part.rank == 0) say_all("first");
  // No member is in the second step before all have begun the first one.
  train(part, model, [&](const data::Batch& batch) { return training.step(batch); });
  training.settle();
  std::string bits;
  for (const std::string& name : training.dense()) bits += bytes_of(model.parameter(name));
  for (const std::string& name : training.tables()) {
    bits += bytes_of(training.read_table(name).to_vector<float>());
  }
  say(fmt::format("bits {}", crc32c(bits)));
  if (part.rank == 0) say_all("last");
}

void by_all_reduce(const Part& part, const std::string& address) {
  StepModel model;
  const std::unique_ptr<Store> store =
      connect_etcd({.address = address, .security = {.token = "open sesame"}});
  DataParallelOptions how;
  how.group.prefix = "steps/";
  how.group.name = "member_" + std::to_string(part.rank);
  how.group.min_members = static_cast<std::size_t>(part.members);
  how.bucket_bytes = 4096;
  std::vector<std::string> names;
  for (const Value& parameter : model.program.parameters()) {
    names.push_back(parameter.name().substr(1));
  }
  DataParallel parallel(*store, how, model.program, model.numbers);
  TrainerOptions options = model.options();
  parallel.extend(options);
  model.trainer.emplace(model.program, options);
  const auto say_all = [&](const char* when) {
    for (const std::string& name : names) say_values(when, name, model.parameter(name));
  };
  parallel.join(*model.trainer);
  if (part.rank == 0) say_all("first");
  train(part, model, [&](const data::Batch& batch) { return parallel.step(batch); });
  const std::vector<std::byte> state = parallel.state();  // the optimizer's, too
  say(fmt::format("bits {}", crc32c({reinterpret_cast<const char*>(state.data()), state.size()})));
  if (part.rank == 0) say_all("last");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 5) return 2;
  const Part part{std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])};
  try {
    if (words[0] == "synchronous") by_servers(part, {words.begin() + 4, words.end()});
    else by_all_reduce(part, words[4]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "member %s: %s\n", argv[2], error.what());
    return 1;
  }
  return 0;
}
