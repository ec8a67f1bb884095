#include "runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <thread>

namespace trireme::chaos {

namespace {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

const char* word_for(const Outcome& outcome) {
  if (outcome.hung) return "HUNG";
  if (!outcome.wrong.empty()) return "WRONG";
  return outcome.verdict.kept("asynchronous") ? "exact" : "kept";
}

std::string text_of(std::uint64_t seed, const Outcome& outcome) {
  const Verdict& verdict = outcome.verdict;
  std::string text = fmt::format(
      "seed {}: {}; {}{:.0f} s, {} faults, {} tasks, {} again and {} of these on trust, {} "
      "rollbacks, {} moves, {} "
      "checkpoints not written, two masters {} times, unauthenticated_peers {} times and {} "
      "compared; lost {}, "
      "doubled {}, beyond {}, sum {:+}, unequal {}, not served {}; {} ended on their own{}{}\n",
      seed, word_for(outcome), outcome.how, outcome.seconds, outcome.faults, outcome.tasks,
      outcome.again, outcome.lost, outcome.rollbacks, outcome.moves, outcome.no_checkpoints,
      outcome.two_masters, outcome.visits, outcome.compared, verdict.lost, verdict.doubled,
      verdict.beyond, verdict.sum_error, verdict.unequal, verdict.not_served, outcome.exits,
      outcome.exits == 0 ? "" : ": ", outcome.exits_text);
  for (const std::string& wrong : outcome.wrong) text += fmt::format("  WRONG: {}\n", wrong);
  if (!outcome.log.empty()) text += fmt::format("  log: {}\n", outcome.log);
  return text;
}

class Runs {
 public:
  explicit Runs(const RunsOptions& options)
      : options_(options), next_(options.first.seed), end_(next_ + options.seeds) {}

  bool run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.jobs; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    print_waits();
    print(fmt::format(
        "visits of unauthenticated peers: {}, of which {} were compared with counters\n", visits_,
        compared_));
    print(fmt::format("{}\n", !well_ ? "NOT all right" : exact_ ? "all exact" : "all right"));
    return well_;
  }

  RunOptions of_seed(std::uint64_t seed) const {
    constexpr std::array kModes = {"asynchronous", "synchronous", "geo", "all_reduce"};
    RunOptions run = options_.first;
    run.seed = seed;
    if (run.job.mode == kEach) run.job.mode = kModes[seed % kModes.size()];
    if (options_.jobs > 1) run.label = fmt::format("{:>4}: ", seed);
    if (run.job.mode != "all_reduce") return run;
    run.servers = 0;
    if (!options_.own_trainers) run.trainers = 3;
    return run;
  }

 private:
  void work() {
    for (;;) {
      std::uint64_t seed = 0;
      {
        const std::lock_guard lock(mutex_);
        if (next_ == end_) return;
        seed = next_++;
      }
      const Outcome outcome = chaos::run(of_seed(seed));
      const std::lock_guard lock(mutex_);
      add(seed, outcome);
    }
  }
  void add(std::uint64_t seed, const Outcome& outcome) {
    print(text_of(seed, outcome));
    well_ = well_ && outcome.wrong.empty();
    exact_ = exact_ && outcome.verdict.kept("asynchronous");
    visits_ += outcome.visits;
    compared_ += outcome.compared;
    for (const auto& [fault, all] : outcome.waits) {
      waits_[fault].insert(waits_[fault].end(), all.begin(), all.end());
    }
  }
  void print_waits() {
    for (auto& [what, all] : waits_) {
      std::sort(all.begin(), all.end());
      const bool told = what.find(':') != std::string::npos;  // what was waited for
      print(fmt::format("{:<34} {:3} times; {}median {:.2f} s, most {:.2f} s\n", what, all.size(),
                        told ? "" : "until the next task was ended: ", all[all.size() / 2],
                        all.back()));
    }
  }

  const RunsOptions options_;
  std::mutex mutex_;  // of all below
  std::uint64_t next_;
  const std::uint64_t end_;
  bool well_ = true, exact_ = true;
  int visits_ = 0, compared_ = 0;
  std::map<std::string, std::vector<double>> waits_;
};

// Of all modes of the runs.
void print_faults(const Runs& runs, const RunsOptions& options) {
  std::vector<std::string> possible, left_out;
  const auto add = [](std::vector<std::string>& to, const std::string& text) {
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
  };
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(options.seeds, 4); ++i) {
    std::vector<std::string> left;
    for (const Fault fault : possible_faults(runs.of_seed(options.first.seed + i), left)) {
      add(possible, name_of(fault));
    }
    for (const std::string& text : left) add(left_out, text);
  }
  std::string names;
  for (const std::string& name : possible) names += (names.empty() ? "" : ", ") + name;
  print("faults: " + names + "\n");
  for (const std::string& text : left_out) print("left out: " + text + "\n");
}

}  // namespace

bool run_all(const RunsOptions& options) {
  Runs runs(options);
  print_faults(runs, options);
  return runs.run();
}

}  // namespace trireme::chaos
