// Steps of several processes equal those of one process with their batches joined: synchronous
// steps with parameters on two servers, and all-reduce. Processes, servers and the store are real,
// on loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <sstream>

#include "../command.h"
#include "distributed/control/server_clients.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/server/testing/server_process.h"
#include "steps/model.h"

namespace trireme::testing {
namespace {

using namespace trireme::distributed;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr int kSteps = 30;
const Security kTestSecurity = {.token = "open sesame"};

// The output of a process.
struct Said {
  std::vector<double> losses, examples;
  std::string bits;
  std::map<std::string, std::vector<float>> first, last;
};

Said said_in(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  Said said;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, name;
    words >> what >> name;
    if (what == "bits") said.bits = name;
    if (what == "loss") {
      words >> said.examples.emplace_back() >> said.losses.emplace_back();
    } else if (what == "first" || what == "last") {
      std::vector<float>& values = (what == "first" ? said.first : said.last)[name];
      for (float value = 0; words >> value;) values.push_back(value);
    }
  }
  return said;
}

std::vector<Said> run_members(const std::string& mode, int members, const std::string& where) {
  std::vector<std::future<Outcome>> running;
  for (int rank = 0; rank < members; ++rank) {
    const std::string command = std::string(TRIREME_STEP_MEMBER) + " " + mode + " " +
                                std::to_string(rank) + " " + std::to_string(members) + " " +
                                std::to_string(kSteps) + " " + where;
    running.push_back(std::async(std::launch::async, [=] { return run(command); }));
  }
  std::vector<Said> all;
  for (auto& one : running) all.push_back(said_in(one.get()));
  return all;
}

// The same steps in this process, from the same values; each is compared with the output of the
// members, and so is the end.
void expect_steps_of_one(const std::vector<Said>& all, float tolerance) {
  StepModel alone;
  alone.trainer.emplace(alone.program, alone.options());
  for (const auto& [name, values] : all[0].first) {
    Session& session = alone.trainer->session();
    session.set_parameter(name, Tensor::from<float>(session.parameter(name).shape(), values));
  }
  double largest = 0, first_loss = 0, last_loss = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    double sum = 0, examples = 0;
    for (const Said& said : all) {
      ASSERT_EQ(said.losses.size(), kSteps);
      sum += said.losses[step] * said.examples[step];
      examples += said.examples[step];
    }
    EXPECT_EQ(examples, StepModel::kBatch);
    const double loss = alone.trainer->step(alone.batch_of(static_cast<std::int64_t>(step), 0, 1));
    EXPECT_NEAR(sum / examples, loss, tolerance) << "step " << step;
    largest = std::max(largest, std::abs(sum / examples - loss));
    (step == 0 ? first_loss : last_loss) = loss;
  }
  EXPECT_LT(last_loss, first_loss - 0.02) << "it has learned nothing";
  for (const auto& [name, values] : all[0].last) {
    EXPECT_THAT(alone.parameter(name), Pointwise(FloatNear(tolerance), values)) << name;
  }
  for (const Said& said : all) EXPECT_EQ(said.bits, all[0].bits);
  std::printf("%zu processes: %d losses differ by at most %.1e from those of one, bits are equal\n",
              all.size(), kSteps, largest);
}

TEST(Steps, SynchronousOnesWithTwoServersAreThoseOfOneProcess) {
  for (const int members : {2, 3}) {
    distributed::testing::ServerProcess first(0, 2), second(1, 2);
    Network network;
    ServerClients server_clients(network, kTestSecurity,
                                 [](std::size_t, const std::string&) { return false; });
    server_clients.aim({first.address(), second.address()}, 1);
    server_clients.set_members(1, static_cast<std::size_t>(members));
    const std::vector<Said> all =
        run_members("synchronous", members, first.address() + " " + second.address());
    expect_steps_of_one(all, 1e-5f);
  }
}

TEST(Steps, OfAllReduceAreThoseOfOneProcess) {
  for (const int members : {2, 4}) {
    const std::unique_ptr<Store> store = make_memory_store();
    EtcdServer server(*store, {.security = kTestSecurity});
    const std::vector<Said> all =
        run_members("all_reduce", members, "127.0.0.1:" + std::to_string(server.port()));
    expect_steps_of_one(all, 2e-5f);
  }
}

}  // namespace
}  // namespace trireme::testing
