// A program that counts records at a pace that does not depend on the machine: while the test
// allows it, a step takes at least 25 ms.
//   counting_program asynchronous|bounded|synchronous|geo|all_reduce CALM
// Every record is a separate id, and each training of it alone adds one to its row: by SGD with a
// rate of the batch size, and a loss whose gradient is -1. Common steps divide that by the number
// of members with a batch. It writes the number of its trained batches to the file steps.NAME, and
// runs at full speed once the file CALM exists.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <thread>

#include "trireme/distributed.h"
#include "trireme/trireme.h"

namespace tr = trireme;
namespace nn = trireme::nn;
using Clock = std::chrono::steady_clock;
using Mode = tr::Distribution::Mode;

constexpr std::int64_t kBatch = 8, kBatches = 1500, kEpochs = 4, kRecords = kBatch * kBatches;
constexpr std::chrono::milliseconds kStep{25};

static tr::Distribution distribution(const std::string& mode) {
  tr::Distribution how{.task_batches = 16, .checkpoint_seconds = 4};
  how.mode = mode == "synchronous"  ? Mode::synchronous
             : mode == "geo"        ? Mode::geo
             : mode == "all_reduce" ? Mode::all_reduce
                                    : Mode::asynchronous;
  if (mode == "bounded") how.staleness = 4;
  return how;
}

class Pace {
 public:
  explicit Pace(std::string calm) : calm_(std::move(calm)) {}
  void step(std::int64_t step) {
    const auto now = Clock::now();
    if (step > 1) longest_ = std::max(longest_, std::chrono::duration<double>(now - last_).count());
    std::ofstream("steps." + std::to_string(::getpid()) + ".new") << step;
    std::filesystem::rename("steps." + std::to_string(::getpid()) + ".new",
                            std::string("steps.") + std::getenv("TRIREME_JOB_PROCESS"));
    steps_ = step;
    if (!std::filesystem::exists(calm_)) std::this_thread::sleep_until(last_ + kStep);
    last_ = Clock::now();
  }
  std::int64_t steps() const { return steps_; }
  double longest() const { return longest_; }

 private:
  const std::string calm_;
  std::int64_t steps_ = 0;
  double longest_ = 0;  // seconds from one step to the next
  Clock::time_point last_ = Clock::now();
};

// How often records were counted: the least and the most.
static void report_counts() {
  tr::Model model = tr::load_model("counts");
  std::vector<std::int64_t> all(kRecords);
  std::iota(all.begin(), all.end(), 0);
  const tr::Tensor counts = model.predict({{"record", tr::Tensor::from({kRecords}, all)}})[0];
  const auto [min, max] =
      std::minmax_element(counts.data<float>(), counts.data<float>() + kRecords);
  std::cout << "records were counted " << *min << " to " << *max << " times" << std::endl;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    std::vector<std::int64_t> all(kRecords);
    std::iota(all.begin(), all.end(), 0);
    const tr::data::Dataset records =
        tr::data::from_tensors({{"record", tr::Tensor::from({kRecords}, all)}});
    tr::Program program("counts");
    tr::Value record = program.input("record", tr::i64, {tr::batch});
    tr::Value count = nn::embedding(record, {.num_embeddings = kRecords,
                                             .dim = 1,
                                             .weight_init = nn::zeros(),
                                             .sparse_gradient = true});
    tr::Member member = tr::Member::join({.distribution = distribution(argv[1])});
    tr::Value one = count * 1.0f;  // the rows themselves are the servers'
    tr::Trainer trainer(program,
                        member.distribute(program, {.loss = mean(one * -1.0f),
                                                    .optimizer = tr::Sgd{.learning_rate = kBatch},
                                                    .session = {.threads = 1}}));
    Pace pace(argv[2]);
    const auto after = [&](std::int64_t step, double) { pace.step(step); };
    member.train(trainer, records.shuffle(1).batch(kBatch),
                 {.epochs = kEpochs, .after_step = after});
    std::cout << "own steps: " << pace.steps() << ", the longest " << pace.longest() << " s"
              << std::endl;
    if (!member.is_chief()) return 0;
    member.save(trainer, "counts", {.outputs = {one}});
    report_counts();
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 4;
  }
}
