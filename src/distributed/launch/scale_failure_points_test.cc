// Scaling of a job by `trireme job scale`, with a store that fails before or after each operation
// of the command and of the launcher in turn.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/wait_until.h"
#include "distributed/control/order_keys.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/testing/failing_store.h"
#include "distributed/job/job_commands.h"
#include "distributed/launch/scale_controller.h"

namespace trireme::distributed {
namespace {

const std::string kPrefix = "job/";

SupervisorOptions shells() {
  SupervisorOptions options;
  options.command = [](const std::string&, const std::string&) {
    return std::vector<std::string>{"/bin/sh", "-c",
                                    "trap 'exit 0' TERM; while :; do sleep 0.02; done"};
  };
  options.heard = [](const std::string&, const std::string&) {};
  options.over = [] { return false; };
  return options;
}

// A user, or a launcher, tries again after an error.
template <class Call>
void retried(const Call& call) {
  EXPECT_TRUE(wait_until([&] {
    try {
      return call(), true;
    } catch (const Unavailable&) {
      return false;
    }
  }));
}

// A job with one server gets another one, which ends when it is drained.
TEST(ScalingFailurePoints, OfALauncher) {
  const auto store = make_memory_store();
  FailingStore failing(*store);
  enumerate_failures("scaling", failing, [&] {
    store->commit({.then = {Erase{kPrefix, true}}});
    Supervisor children(shells());
    std::optional<ScaleController> launcher;
    retried([&] {
      launcher.emplace(failing, ScaleControllerOptions{.prefix = kPrefix, .wanted = {1, 1}},
                       children);
    });
    children.start("server");
    const auto poll_until = [&](const auto& done) {
      return wait_until([&] {
        children.poll(Milliseconds(5));
        launcher->poll();
        return done();
      });
    };
    OpenJob job{{}, std::make_unique<FailingStore>(static_cast<Store&>(failing)), true};
    job.record.prefix = kPrefix;
    const auto scale = [&](int servers) {
      retried([&] { scale_job(job, {.servers = servers}); });
      EXPECT_EQ(store->get(wanted_servers_key(kPrefix))->value, std::to_string(servers));
      EXPECT_EQ(store->get(wanted_key(kPrefix))->value, "1 " + std::to_string(servers));
    };
    scale(2);
    EXPECT_TRUE(poll_until([&] { return children.running("server") == 2; }));
    const std::string newest = children.processes("server").rbegin()->first;
    store->put(process_prefix(kPrefix, "server") + newest,
               text_of(ProcessEntry{.name = newest, .role = "server", .place = 1}));
    scale(1);
    store->put(drained_key(kPrefix, 1), "1");
    EXPECT_TRUE(poll_until([&] { return children.running("server") == 1; }));
    EXPECT_TRUE(poll_until([&] { return !store->get(drained_key(kPrefix, 1)); }))
        << "it would end the next server in that place";
    EXPECT_FALSE(children.processes("server").contains(newest));
  });
}

}  // namespace
}  // namespace trireme::distributed
