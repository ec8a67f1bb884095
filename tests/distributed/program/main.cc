// A program of a user that trains a few clicks with many processes, and fails on demand.
//   own_program synchronous|asynchronous|paced|geo|all_reduce|saved [MISTAKE]
// MISTAKE: optimizer, options, pace, exports SECONDS, chief FILE, killed FILE, abort, damage,
// beyond or all.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "trireme/distributed.h"
#include "trireme/trireme.h"

namespace tr = trireme;
namespace nn = trireme::nn;
using Mode = tr::Distribution::Mode;

static Mode mode_of(const std::string& name) {
  if (name == "synchronous") return Mode::synchronous;
  if (name == "asynchronous" || name == "paced") return Mode::asynchronous;
  return name == "geo" ? Mode::geo : Mode::all_reduce;
}

// The first chief that checks fails or is killed.
static void fail_once(const std::string& file, bool dies) {
  if (std::ifstream(file)) return;
  std::ofstream(file) << "failed";
  if (dies) std::raise(SIGKILL);
  throw std::runtime_error("the chief fails");
}

static bool same(const float* a, const float* b) { return std::equal(a, a + 13, b); }

// Batches with an example in the middle kill their process, cannot be read, or look up an id
// without a row.
static tr::data::Dataset with_poison(const tr::data::Dataset& clicks, const std::string& wrong) {
  tr::data::Batch one;
  for (tr::data::Batch& batch : clicks.skip(3000).take(1).batch(1).epoch(0)) one = std::move(batch);
  return clicks.map([wrong, mark = one.at("features")](tr::data::Batch batch) {
    const tr::Tensor& features = batch.at("features");
    for (std::int64_t i = 0; i < features.dim(0); ++i) {
      const bool all = wrong == "all" && features.dim(0) > 1;
      if (!all && !same(features.data<float>() + 13 * i, mark.data<float>())) continue;
      if (wrong == "abort") std::abort();
      if (all || wrong == "damage") throw tr::Error(tr::ErrorKind::data, "block 7 is damaged");
      batch.at("C26").data<std::int64_t>()[i] = 1'000'000;
    }
    return batch;
  });
}

int main(int argc, char** argv) {
  const std::string mode = argv[1], wrong = argc > 2 ? argv[2] : "";
  try {
    const auto clicks = tr::data::synthetic_clicks({.examples = 6000, .ids = 200});
    tr::Program program("own");
    tr::Value id = program.input("C26", tr::i64, {tr::batch});
    tr::Value clicked = program.input("target", tr::f32, {tr::batch, 1});
    tr::Value x = nn::embedding(
        id, {.num_embeddings = clicks.column("C26").ids, .dim = 8, .sparse_gradient = true});
    tr::Value score = nn::linear(nn::linear(x, {.units = 8, .activation = nn::relu}), {.units = 1});
    tr::Value loss = mean(nn::binary_cross_entropy_with_logits(score, clicked));

    tr::Distribution how{.mode = mode_of(mode),
                         .task_batches = 4,
                         .checkpoint_seconds = mode == "saved" ? 60.0 : 0.0};
    if (mode == "paced" || wrong == "pace") how.staleness = 2;
    if (wrong == "exports") {
      how.export_seconds = 0.1;
      how.checkpoint_seconds = std::atof(argv[3]);
    }
    tr::Member member = tr::Member::join({.distribution = how, .exports = "served"});
    tr::Optimizer optimizer = tr::Adagrad{.learning_rate = 0.1};
    if (wrong == "optimizer") optimizer = tr::RmsProp{};
    tr::TrainerOptions options = member.distribute(program, {.loss = loss, .optimizer = optimizer});
    if (wrong == "options") options = {.loss = loss, .optimizer = optimizer};
    tr::Trainer trainer(program, options);
    std::int64_t steps = 0;
    const auto count = [&](std::int64_t step, double) { steps = step; };
    const bool poison =
        wrong == "abort" || wrong == "damage" || wrong == "beyond" || wrong == "all";
    const auto data = poison ? with_poison(clicks, wrong) : clicks;
    member.train(trainer, data.shuffle(1).batch(50), {.epochs = 2, .after_step = count});
    std::cout << "own steps: " << steps << std::endl;

    if (!member.is_chief()) return 0;
    if (wrong == "chief" || wrong == "killed") fail_once(argv[3], wrong == "killed");
    std::cout << "chief of " << member.trainers()
              << ", loss: " << trainer.evaluate(clicks.batch(500))["loss"] << std::endl;
    member.save(trainer, "own", {.outputs = {score}});
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
