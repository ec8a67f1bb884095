// Setting the clock back does not delay code that waits for gRPC.

#include "clock.h"

#include <grpc/event_engine/event_engine.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <future>
#include <thread>

#include "../../command.h"

namespace trireme::chaos {
namespace {

using namespace std::chrono_literals;
using trireme::testing::InFolder;
using trireme::testing::Outcome;

constexpr auto kWait = 1s;

// The two timers of gRPC, and a wait with a deadline. The test below runs them as processes whose
// clock is set back.
TEST(Wait, ForATimer) {
  grpc::CompletionQueue queue;
  grpc::Alarm alarm;
  alarm.Set(&queue, std::chrono::system_clock::now() + kWait, nullptr);
  void* tag = nullptr;
  bool well = false;
  EXPECT_TRUE(queue.Next(&tag, &well));
}

TEST(Wait, ForATimerOfTheEventEngine) {
  const grpc::CompletionQueue begins_grpc;
  const auto engine = grpc_event_engine::experimental::CreateEventEngine();
  std::promise<void> over;
  engine->RunAfter(kWait, [&] { over.set_value(); });
  over.get_future().wait();
}

TEST(Wait, ForADeadline) {
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool well = false;
  EXPECT_EQ(queue.AsyncNext(&tag, &well, std::chrono::system_clock::now() + kWait),
            grpc::CompletionQueue::TIMEOUT);
}

class SetBack : public InFolder, public ::testing::WithParamInterface<const char*> {};

TEST_P(SetBack, WhileAProcessWaits) {
  if (!Clock::has_shim()) GTEST_SKIP() << "sanitizers and a changed clock do not go together";
  Clock clock(path("clock"));
  std::string command = "env";
  for (const auto& [name, value] : clock.environment()) command += " " + name + "=" + value;
  command += " timeout 30 " + std::filesystem::read_symlink("/proc/self/exe").string() +
             " --gtest_filter=Wait." + GetParam();
  const auto start = std::chrono::steady_clock::now();
  auto waiting = std::async(std::launch::async, [&] { return trireme::testing::run(command); });
  while (waiting.wait_for(100ms) != std::future_status::ready) clock.jump(-3600);
  const Outcome outcome = waiting.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_GE(std::chrono::steady_clock::now() - start, kWait);
}
INSTANTIATE_TEST_SUITE_P(Waits, SetBack,
                         ::testing::Values("ForATimer", "ForATimerOfTheEventEngine",
                                           "ForADeadline"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace trireme::chaos
