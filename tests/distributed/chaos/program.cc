// A Program whose rows count, trained by many processes: each trained record adds one to its row,
// and each batch, or common step, adds one to a dense parameter. The saved model has the counts.
//   chaos_program MODE FOLDER RECORDS EPOCHS STALENESS PREFETCH
// FOLDER has checkpoints and, at the end, the model; and a file "calm" after the last fault: then a
// batch takes no time.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "program.h"
#include "trireme/distributed.h"
#include "trireme/trireme.h"

namespace tr = trireme;
namespace nn = trireme::nn;
namespace chaos = trireme::chaos;
using Mode = tr::Distribution::Mode;

namespace {

Mode mode_of(const std::string& name) {
  if (name == "synchronous") return Mode::synchronous;
  if (name == "geo") return Mode::geo;
  return name == "all_reduce" ? Mode::all_reduce : Mode::asynchronous;
}

// In common steps the update is a mean over the examples of all members, so a gradient is no count.
// But this is the gradient divided by its size, so each step adds one to its rows, whichever
// members take part.
tr::Optimizer optimizer_of(Mode mode) {
  if (mode == Mode::asynchronous || mode == Mode::geo) return tr::Sgd{.learning_rate = 1};
  return tr::Adam{.learning_rate = 1, .beta1 = 0, .beta2 = 0, .epsilon = 1e-12};
}

void train(const std::vector<std::string>& words) {
  const Mode mode = mode_of(words[0]);
  const std::string& folder = words[1];
  const std::int64_t records = std::stoll(words[2]);
  tr::Program program("chaos");
  const tr::Value id = program.input("id", tr::i64, {tr::batch});
  const tr::Value rows = nn::embedding(
      id,
      {.num_embeddings = records, .dim = 2, .weight_init = nn::zeros(), .sparse_gradient = true});
  const tr::Value steps = program.parameter("steps", tr::f32, {2}, {.initializer = nn::zeros()});
  // Its derivatives by each row of a batch and by the dense parameter are -1, both in the mean over
  // the batch and two columns.
  const tr::Value counts = rows * 1.0f;
  const tr::Value loss = mean((counts * static_cast<float>(chaos::kBatch) + steps) * -2.0f);

  tr::Distribution how{.mode = mode,
                       .task_batches = chaos::kTaskBatches,
                       .staleness = std::stoll(words[4]),
                       .prefetch = words[5] == "1",
                       .checkpoint_seconds = 1.5};
  tr::Member member =
      tr::Member::join({.distribution = how, .checkpoints = folder + "/disk/checkpoints"});
  tr::Trainer trainer(program,
                      member.distribute(program, {.loss = loss, .optimizer = optimizer_of(mode)}));
  const auto take_time = [&](std::int64_t, double) {
    if (std::filesystem::exists(folder + "/calm")) return;
    std::this_thread::sleep_for(chaos::kWork);
  };
  member.train(trainer, chaos::records(records).batch(chaos::kBatch),
               {.epochs = std::stoi(words[3]), .after_step = take_time});
  if (!member.is_chief()) return;
  std::cout << chaos::kChief << std::endl;
  std::this_thread::sleep_for(chaos::kChiefTime);
  member.save(trainer, folder + "/model", {.outputs = {counts, counts * 0.0f + steps}});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train({argv + 1, argv + argc});
    return 0;
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return chaos::exit_code_of(error);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
