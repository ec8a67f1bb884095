#include "distributed/coordination/key_watcher.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "base/testing/error.h"
#include "base/testing/wait_until.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/cut_store.h"

namespace trireme::distributed {
namespace {

bool is(const KeyWatcher& watcher, const std::string& key, const std::string& value) {
  const std::optional<Entry> entry = watcher.get(key);
  return entry && entry->value == value;
}

TEST(KeyWatcher, FollowsEntriesBelowItsPrefix) {
  const auto store = make_memory_store();
  store->put("job/a", "1");
  store->put("jobs/a", "2");
  const KeyWatcher watcher(*store, "job/");
  EXPECT_TRUE(wait_until([&] { return is(watcher, "job/a", "1"); })) << "written before";
  EXPECT_FALSE(watcher.get("jobs/a")) << "of another prefix";
  store->put("job/b", "");
  EXPECT_TRUE(wait_until([&] { return is(watcher, "job/b", ""); }));
  store->put("job/a", "3");
  EXPECT_TRUE(wait_until([&] { return is(watcher, "job/a", "3"); }));
  store->erase("job/a");
  EXPECT_TRUE(wait_until([&] { return !watcher.get("job/a"); }));
}

TEST(KeyWatcher, WaitReturnsAtAChange) {
  const auto store = make_memory_store();
  KeyWatcher watcher(*store, "job/");
  watcher.wait(Milliseconds(60000));  // for the first read
  std::thread writer([&] { store->put("job/a", "1"); });
  watcher.wait(Milliseconds(60000));
  EXPECT_TRUE(is(watcher, "job/a", "1"));
  writer.join();
  watcher.wait(Milliseconds(1));  // nothing changes
}

TEST(KeyWatcher, ReadsEverythingWhenTheStoreIsBack) {
  const auto store = make_memory_store();
  CutStore seen(*store);
  seen.cut = true;
  store->put("job/a", "1");
  const KeyWatcher watcher(seen, "job/");
  ASSERT_TRUE(wait_until([&] { return seen.refused > 1; }));
  EXPECT_FALSE(watcher.get("job/a"));
  seen.cut = false;
  EXPECT_TRUE(wait_until([&] { return is(watcher, "job/a", "1"); }));
  EXPECT_NO_THROW(watcher.check());
}

TEST(KeyWatcher, ItsCallbackIsCalledAgainAfterUnavailable) {
  const auto store = make_memory_store();
  std::atomic<int> calls = 0;
  std::atomic<std::size_t> entries = 0;
  store->put("job/a", "1");
  const KeyWatcher watcher(*store, "job/", [&](const KeyWatcher::Entries& all) {
    if (calls++ == 0) throw Unavailable("away");
    entries = all.size();
  });
  EXPECT_TRUE(wait_until([&] { return entries == 1; }));
  EXPECT_EQ(calls, 2);
}

TEST(KeyWatcher, AnotherErrorOfItsCallbackEndsIt) {
  const auto store = make_memory_store();
  KeyWatcher watcher(*store, "job/", [](const KeyWatcher::Entries&) { fail_data("no order"); });
  std::string told;
  ASSERT_TRUE(wait_until([&] {
    watcher.wait(Milliseconds(10));
    try {
      watcher.check();
    } catch (const Error& error) {
      told = error.what();
    }
    return !told.empty();
  }));
  EXPECT_EQ(told, "no order");
}

}  // namespace
}  // namespace trireme::distributed
