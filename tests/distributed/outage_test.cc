// An etcd that is unavailable for 30 s in the middle of jobs, one of each mode: training continues
// meanwhile, and nothing is lost or trained twice.

#include <fmt/core.h>

#include <array>
#include <future>
#include <map>

#include "distributed/coordination/testing/etcd_process.h"
#include "launch.h"

namespace trireme::testing {
namespace {

using distributed::testing::EtcdProcess;
using distributed::testing::free_port;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

constexpr int kSteps = 6000;  // of all trainers together: outage/main.cc

void wait_until(Clock::time_point time) { std::this_thread::sleep_until(time); }

class Outage : public Launch {
 protected:
  static inline const std::vector<std::string> kModes = {"asynchronous", "bounded", "synchronous",
                                                         "geo", "all_reduce"};

  std::string command(const std::string& mode) const {
    return kLaunch + "--program " + TRIREME_COUNTING_PROGRAM + " --name outage-" + mode + " --id " +
           std::to_string(::getpid()) + " --etcd " + etcd_.address() + " --trainers 2 --servers " +
           (mode == "all_reduce" ? "0" : "2") + " -- " + mode + " " + path("calm");
  }
  void start(const std::string& mode, const std::string& environment = "") {
    std::filesystem::create_directories(path(mode));
    const std::string line = "cd " + mode + " && env " + environment + command(mode);
    launched_[mode].push_back(
        std::async(std::launch::async, [this, line] { return run_here(line); }));
  }
  // The job of two launchers, as users start them on terminals.
  void start_two(const std::string& mode) {
    const std::string port = std::to_string(free_port());
    for (const std::string rank : {"0", "1"}) {
      start(mode, "RANK=" + rank + " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port + " ");
    }
  }
  // Its trained batches.
  int steps(const std::string& mode, int trainer) const {
    const std::string text = read(path(mode + "/steps.trainer_" + std::to_string(trainer)));
    return text.empty() ? 0 : std::stoi(text);
  }
  std::map<std::string, std::array<int, 2>> all_steps() const {
    std::map<std::string, std::array<int, 2>> all;
    for (const std::string& mode : kModes) all[mode] = {steps(mode, 0), steps(mode, 1)};
    return all;
  }
  // Waits until every trainer of every job has `more` steps more.
  bool wait_for_steps(const std::map<std::string, std::array<int, 2>>& before, int more) const {
    const auto until = Clock::now() + std::chrono::seconds(150);
    for (;;) {
      bool all = true;
      for (const auto& [mode, counts] : all_steps()) {
        for (std::size_t i = 0; i < 2; ++i) all = all && counts[i] >= before.at(mode)[i] + more;
      }
      if (all || Clock::now() > until) return all;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  // Of all launchers of a job.
  std::string ends_well(const std::string& mode) {
    std::string output;
    for (std::future<testing::Outcome>& one : launched_[mode]) {
      const testing::Outcome outcome = one.get();
      EXPECT_EQ(outcome.code, 0) << mode << "\n" << outcome.output;
      output += outcome.output;
    }
    return output;
  }

  EtcdProcess etcd_;
  std::map<std::string, std::vector<std::future<testing::Outcome>>> launched_;
};

TEST_F(Outage, TrainingGoesOnForHalfAMinuteWithoutEtcd) {
  start_two(kModes.front());
  for (std::size_t i = 1; i < kModes.size(); ++i) start(kModes[i]);
  EXPECT_TRUE(wait_for_steps(all_steps(), 40)) << "they do not begin";
  etcd_.kill();
  const auto begun = Clock::now();
  wait_until(begun + std::chrono::seconds(10));
  const auto before = all_steps();
  wait_until(begun + std::chrono::seconds(30));
  const auto after = all_steps();
  etcd_.restart();
  for (const std::string& mode : kModes) {
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_GT(after.at(mode)[i], before.at(mode)[i] + 100) << mode << ", trainer " << i;
    }
  }
  EXPECT_TRUE(wait_for_steps(after, 20)) << "they do not go on";
  write(path("calm"), "");

  for (const std::string& mode : kModes) {
    const std::string output = ends_well(mode);
    EXPECT_THAT(output, Not(HasSubstr("another one is started"))) << mode;
    EXPECT_THAT(output, Not(HasSubstr("went back"))) << mode;
    int sum = 0;
    for (std::size_t at = 0; (at = output.find("own steps: ", at)) != std::string::npos; ++at) {
      sum += std::stoi(output.substr(at + 11));
      fmt::print("{}: {}\n", mode, output.substr(at, output.find('\n', at) - at));
    }
    EXPECT_EQ(sum, kSteps) << mode << ": batches were lost, or learned twice\n" << output;
    const double min = number_behind(output, "records were counted ");
    const double max = number_behind(output, " to ");
    const bool together = mode == "synchronous" || mode == "all_reduce";
    EXPECT_GE(min, together ? 2 : 4) << mode;
    EXPECT_LE(max, 4) << mode;
  }
}

}  // namespace
}  // namespace trireme::testing
