// Processes that write checkpoints one after the other are killed at random moments: whatever is
// there then can be restored, and is the last one that was committed. The Store is served to them
// as `launch` does it.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "distributed/checkpoint/testing/checkpoint.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"

extern char** environ;

namespace trireme::distributed::checkpoint {
namespace {

constexpr const char* kFolder = "TRIREME_TEST_CHECKPOINTS";  // of the process that is killed
constexpr const char* kPort = "TRIREME_TEST_STORE";

// Trains a table. Its content depends only on the steps.
void train(SparseTable& table, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first + 1; step <= last; ++step) {
    Batches batches(static_cast<unsigned>(step));
    const std::vector<Id> ids = batches.ids(60, 1500);
    table.update(ids, batches.floats(ids.size() * 3).data(), {.rate = 0.1, .step = step});
    if (step % 4 == 0) table.remove(batches.ids(20, 1500));
  }
}

CatalogOptions options_of(const std::string& folder) {
  return {.folder = folder, .prefix = "job/checkpoint/"};
}

// Continues from the last checkpoint, and writes one after each step until it is killed.
[[noreturn]] void write_for_ever(const std::string& folder, const std::string& port) {
  const auto store = connect_etcd({.address = "127.0.0.1:" + port, .security = {.token = "t"}});
  Catalog catalog(*store, options_of(folder));
  SparseTable table(words());
  const Share share{{{table, {{0, kSlots}}}}, {}};
  const auto restored = restore(catalog, share);
  std::int64_t step = restored ? restored->manifest.step : 0;
  if (restored) catalog.rewind(restored->manifest.id);
  Writer writer({.server = "p" + std::to_string(::getpid())});
  for (;;) {
    train(table, step, step + 1);
    ++step;
    const Begun begun = catalog.begin(step % 5 != 0);
    catalog.commit(Servers::manifest(begun, step, writer.write(begun, share.tables, {})));
  }
}

pid_t start(const std::string& folder, int port) {
  std::vector<std::string> variables = {std::string(kFolder) + "=" + folder,
                                        std::string(kPort) + "=" + std::to_string(port)};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    // It runs this test, whichever share of all tests this process has.
    if (!std::string_view(*variable).starts_with("GTEST_")) variables.emplace_back(*variable);
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string words[] = {"/proc/self/exe", "--gtest_filter=KilledWriter.*"};
  char* arguments[] = {words[0].data(), words[1].data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, arguments[0], nullptr, nullptr, arguments, environment.data()),
            0);
  return child;
}

std::int64_t latest(Store& store) {
  const auto entry = store.get("job/checkpoint/latest");
  return entry ? std::stoll(entry->value) : 0;
}

TEST(KilledWriter, LeavesTheLastCheckpointWhole) {
  if (const char* const folder = std::getenv(kFolder)) write_for_ever(folder, std::getenv(kPort));
  const MemoryDirectory directory;
  const auto store = make_memory_store();
  const EtcdServer server(*store, {.security = {.token = "t"}});
  Catalog catalog(*store, options_of(directory.path()));
  SparseTable expected(words());
  std::int64_t trained = 0;
  std::mt19937 random(1);
  const auto watch = store->watch("job/checkpoint/latest", 1);
  for (int round = 0; round < 6; ++round) {
    const std::int64_t before = latest(*store);
    const pid_t child = start(directory.path(), server.port());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (latest(*store) < before + 2 && std::chrono::steady_clock::now() < until) {
      watch->wait(Milliseconds(200));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
    EXPECT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended without a signal: " << status;
    ASSERT_GE(latest(*store), before + 2);

    SparseTable table(words());
    const auto restored = restore(catalog, {{{table, {{0, kSlots}}}}, {}});
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->manifest.id, latest(*store));  // none that is newer was damaged
    EXPECT_TRUE(restored->passed_over.empty());
    ASSERT_GE(restored->manifest.step, trained);
    train(expected, trained, restored->manifest.step);
    trained = restored->manifest.step;
    EXPECT_EQ(table.digest(), expected.digest());
  }
}

}  // namespace
}  // namespace trireme::distributed::checkpoint
