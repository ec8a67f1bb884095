// One suite for every Store: in memory, our server of etcd's interface, and etcd itself.

#include "distributed/coordination/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <thread>

#include "base/testing/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/coordination/testing/etcd_process.h"

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A Store and what it stands on.
struct Standing {
  TestClock clock;  // of a store of ours
  std::unique_ptr<Store> memory;
  std::unique_ptr<EtcdServer> server;
  std::unique_ptr<testing::EtcdProcess> etcd;
  std::unique_ptr<Store> store;
};

std::unique_ptr<Standing> in_memory() {
  auto standing = std::make_unique<Standing>();
  standing->store =
      make_memory_store({.now = [standing = standing.get()] { return standing->clock.now(); }});
  return standing;
}

std::unique_ptr<Standing> served() {
  auto standing = std::make_unique<Standing>();
  standing->memory =
      make_memory_store({.now = [standing = standing.get()] { return standing->clock.now(); }});
  standing->server = std::make_unique<EtcdServer>(
      *standing->memory, EtcdServerOptions{.security = {.token = "open sesame"}});
  standing->store =
      connect_etcd({.address = "127.0.0.1:" + std::to_string(standing->server->port()),
                    .security = {.token = "open sesame"}});
  return standing;
}

std::unique_ptr<Standing> real() {
  auto standing = std::make_unique<Standing>();
  standing->etcd = std::make_unique<testing::EtcdProcess>();
  standing->store = connect_etcd({.address = standing->etcd->address()});
  return standing;
}

class Stores : public ::testing::TestWithParam<std::unique_ptr<Standing> (*)()> {
 protected:
  Store& store() { return *standing_->store; }
  // Lets this time pass for leases.
  void pass(Milliseconds time) {
    if (standing_->etcd) std::this_thread::sleep_for(time);
    else standing_->clock.advance(time);
  }

  std::unique_ptr<Standing> standing_ = GetParam()();
};

std::vector<std::string> keys(const std::vector<Entry>& entries) {
  std::vector<std::string> result;
  for (const Entry& entry : entries) result.push_back(entry.key);
  return result;
}

// Returns the next `count` events of a watch, as "key=value" and "key erased".
std::vector<std::string> next(Watch& watch, std::size_t count) {
  std::vector<std::string> result;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (result.size() < count && std::chrono::steady_clock::now() < until) {
    for (const Event& event : watch.wait(Milliseconds(200)).events) {
      result.push_back(event.entry.key + (event.erased ? " erased" : "=" + event.entry.value));
    }
  }
  return result;
}

TEST_P(Stores, KeysHaveValuesAndRevisions) {
  EXPECT_FALSE(store().get("a"));
  const std::int64_t first = store().put("a", "1");
  const std::int64_t second = store().put("a", std::string("\0\xff", 2));
  EXPECT_GT(second, first);
  const Entry entry = store().get("a").value();
  EXPECT_EQ(entry.value, std::string("\0\xff", 2));
  EXPECT_EQ(entry.created, first);
  EXPECT_EQ(entry.modified, second);
  EXPECT_EQ(entry.version, 2);
  EXPECT_TRUE(store().erase("a"));
  EXPECT_FALSE(store().erase("a"));
  EXPECT_FALSE(store().get("a"));
  store().put("a", "again");
  EXPECT_EQ(store().get("a")->version, 1);
  EXPECT_GT(store().get("a")->created, second);
}

TEST_P(Stores, ATransactionIsDoneAsAWholeOrNotAtAll) {
  store().put("task/1", "todo");
  const Entry before = store().get("task/1").value();
  const Transaction take{
      .when = {unchanged(before), absent("owner/1")},
      .then = {Put{"task/1", "taken"}, Put{"owner/1", "me"}, Get{"owner/", true}},
      .otherwise = {Get{"task/1"}}};
  const Outcome first = store().commit(take), second = store().commit(take);
  EXPECT_TRUE(first.succeeded);
  EXPECT_THAT(keys(first.got.at(0)), ElementsAre("owner/1"));
  EXPECT_FALSE(second.succeeded);
  EXPECT_EQ(second.got.at(0).at(0).value, "taken");
  // One revision for all of it.
  EXPECT_EQ(store().get("task/1")->modified, store().get("owner/1")->created);
  EXPECT_TRUE(
      store().commit({.when = {is_value("task/1", "taken"), present("owner/1")}}).succeeded);
  EXPECT_FALSE(store().commit({.when = {is_value("nothing", "")}}).succeeded);
  using Of = Condition::Of;
  using Is = Condition::Is;
  EXPECT_TRUE(store()
                  .commit({.when = {{"task/1", Of::version, Is::greater, {}, 1},
                                    {"task/1", Of::version, Is::less, {}, 3},
                                    {"nothing", Of::modified, Is::equal, {}, 0}}})
                  .succeeded);
  EXPECT_FALSE(store().commit({.when = {{"task/1", Of::value, Is::less, "a", 0}}}).succeeded);
}

TEST_P(Stores, PrefixesAreReadAndErasedTogether) {
  for (const char* key : {"b/2", "b/1", "a", "b", "b/10", "c"}) store().put(key, key);
  EXPECT_THAT(keys(store().list("b/").entries), ElementsAre("b/1", "b/10", "b/2"));
  const Outcome page = store().commit({.then = {Get{"b", true, "b/1", 2}, Get{"b", true, {}, 1}}});
  EXPECT_THAT(keys(page.got.at(0)), ElementsAre("b/10", "b/2"));
  EXPECT_THAT(keys(page.got.at(1)), ElementsAre("b"));
  store().commit({.then = {Erase{"b/", true}}});
  EXPECT_THAT(keys(store().list("b").entries), ElementsAre("b"));
}

TEST_P(Stores, ListsOfManyPages) {
  for (int begin = 0; begin < 2300; begin += 100) {
    Transaction transaction;
    for (int i = begin; i < begin + 100; ++i) {
      transaction.then.push_back(Put{"many/" + std::to_string(10000 + i), std::to_string(i)});
    }
    store().commit(transaction);
  }
  const Store::Listing listing = store().list("many/");
  ASSERT_EQ(listing.entries.size(), 2300U);
  for (int i = 0; i < 2300; ++i) {
    EXPECT_EQ(listing.entries[static_cast<std::size_t>(i)].value, std::to_string(i));
  }
  EXPECT_GT(listing.revision, 20);
}

TEST_P(Stores, WatchesSeeEachChangeInOrder) {
  store().put("w/old", "0");
  const std::int64_t from = store().put("w/a", "1");
  const auto watch = store().watch("w/", from);
  store().put("x/a", "no");
  store().put("w/a", "2");
  store().commit({.then = {Put{"w/b", "3"}, Erase{"w/old"}}});
  store().erase("w/a");
  EXPECT_THAT(next(*watch, 5),
              ElementsAre("w/a=1", "w/a=2", "w/b=3", "w/old erased", "w/a erased"));
  EXPECT_TRUE(watch->wait(Milliseconds(50)).events.empty());
  store().put("w/late", "4");
  EXPECT_THAT(next(*watch, 1), ElementsAre("w/late=4"));
}

TEST_P(Stores, KeysGoWithTheirLease) {
  const std::int64_t lease = store().grant(2), other = store().grant(60);
  EXPECT_NE(lease, other);
  const std::int64_t from = store().put("lives/a", "1", lease);
  store().put("lives/b", "2", other);
  store().put("lives/c", "3", lease);
  store().put("lives/c", "4");  // let go by its lease
  EXPECT_EQ(store().get("lives/a")->lease, lease);
  const auto watch = store().watch("lives/", from + 4);
  for (int i = 0; i < 3; ++i) {
    pass(Milliseconds(800));
    EXPECT_TRUE(store().keep_alive(lease));
  }
  EXPECT_TRUE(store().get("lives/a"));
  EXPECT_THAT(watch->wait(Milliseconds(0)).events, IsEmpty());
  pass(Milliseconds(2000));
  EXPECT_THAT(next(*watch, 1), ElementsAre("lives/a erased"));
  EXPECT_FALSE(store().keep_alive(lease));
  EXPECT_THAT(keys(store().list("lives/").entries), ElementsAre("lives/b", "lives/c"));
  store().revoke(other);
  store().revoke(other);
  EXPECT_FALSE(store().get("lives/b"));
  EXPECT_FALSE(store().keep_alive(123456789));
  EXPECT_NE(error_of(ErrorKind::not_found, [&] { store().put("x", "y", lease); }), "");
}

TEST_P(Stores, RefusesWhatNoStoreTakes) {
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { store().put("", "x"); }), HasSubstr("empty key"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { store().put("big", std::string(2'000'000, 'x')); }),
              HasSubstr("2000003 bytes"));
  Transaction many;
  for (int i = 0; i < 200; ++i) many.then.push_back(Get{"k"});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { store().commit(many); }), HasSubstr("200 actions"));
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { store().commit({.then = {Put{"a", "1"}, Put{"a", "2"}}}); }),
      HasSubstr("writes \"a\" twice"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { store().commit({.then = {Put{"a/b", "1"}, Erase{"a", true}}}); }),
              HasSubstr("writes and erases"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { store().grant(0); }), HasSubstr("0 seconds"));
}

// Increments by many threads: none is lost, and each is seen once.
TEST_P(Stores, ConditionsKeepWritersApart) {
  const std::int64_t from = store().put("count", "0");
  const auto watch = store().watch("count", from + 1);
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&] {
      for (int i = 0; i < 25;) {
        const Entry entry = store().get("count").value();
        const std::string more = std::to_string(std::stoi(entry.value) + 1);
        if (store().commit({.when = {unchanged(entry)}, .then = {Put{"count", more}}}).succeeded)
          ++i;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(store().get("count")->value, "100");
  const std::vector<std::string> seen = next(*watch, 100);
  ASSERT_EQ(seen.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], "count=" + std::to_string(i + 1));
  }
}

// Random transactions against a plain map.
TEST_P(Stores, DoesWhatAPlainMapDoes) {
  std::mt19937 random(7);
  std::map<std::string, std::string> plain;
  const auto key = [&] { return "k" + std::to_string(random() % 6); };
  for (int round = 0; round < 300; ++round) {
    const std::string asked = key(), written = key(), erased = "k" + std::to_string(random() % 6);
    const std::string value = std::to_string(random() % 3);
    Transaction transaction{.when = {random() % 2 == 0 ? is_value(asked, value) : absent(asked)},
                            .then = {Put{written, value}},
                            .otherwise = {Erase{erased}, Get{"k", true}}};
    const bool by_value = transaction.when[0].of == Condition::Of::value;
    const bool holds =
        by_value ? plain.contains(asked) && plain[asked] == value : !plain.contains(asked);
    const Outcome outcome = store().commit(transaction);
    ASSERT_EQ(outcome.succeeded, holds) << round;
    if (holds) {
      plain[written] = value;
    } else {
      plain.erase(erased);
      ASSERT_EQ(outcome.got.at(0).size(), plain.size());
      for (const Entry& entry : outcome.got[0]) ASSERT_EQ(plain.at(entry.key), entry.value);
    }
  }
}

std::string name_of_store(const ::testing::TestParamInfo<std::unique_ptr<Standing> (*)()>& info) {
  return info.index == 0 ? "InMemory" : info.index == 1 ? "Served" : "Etcd";
}

INSTANTIATE_TEST_SUITE_P(All, Stores, ::testing::Values(&in_memory, &served, &real), name_of_store);

TEST(MemoryStore, SaysThatChangesWereForgotten) {
  const auto store = make_memory_store({.history = 10});
  const auto watch = store->watch("", 1);
  for (int i = 0; i < 30; ++i) store->put("a", std::to_string(i));
  EXPECT_TRUE(watch->wait(Milliseconds(10)).compacted);
  store->put("a", "new");
  EXPECT_THAT(next(*watch, 1), ElementsAre("a=new"));
}

TEST(EtcdServer, RefusesStrangersAndCountsThem) {
  const auto memory = make_memory_store();
  const EtcdServer server(*memory, {.security = {.token = "right"}});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  for (const char* token : {"", "wrong", "righ", "right and more"}) {
    const auto stranger = connect_etcd({.address = address, .security = {.token = token}});
    EXPECT_THAT(error_of(ErrorKind::io, [&] { stranger->put("a", "1"); }), HasSubstr("token"));
  }
  EXPECT_GE(server.refused(), 4);
  EXPECT_FALSE(memory->get("a"));
  EXPECT_NE(
      error_of(ErrorKind::io,
               [&] { EtcdServer(*memory, {.address = address, .security = {.token = "t"}}); }),
      "");
}

TEST(EtcdStore, SaysThatNobodyAnswers) {
  const auto store = connect_etcd({.address = "127.0.0.1:1", .timeout = Milliseconds(300)});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(store->put("a", "1"), Unavailable);
  EXPECT_THROW(store->keep_alive(1), Unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// After a crash, acknowledged writes exist, watches continue, and leases are valid.
TEST(EtcdStore, FindsAServerThatComesBack) {
  testing::EtcdProcess etcd;
  const auto store = connect_etcd({.address = etcd.address(), .timeout = Milliseconds(10000)});
  const std::int64_t lease = store->grant(30);
  const std::int64_t from = store->put("a", "1", lease);
  const auto watch = store->watch("a", from);
  EXPECT_THAT(next(*watch, 1), ElementsAre("a=1"));
  for (int round = 0; round < 2; ++round) {
    etcd.kill();
    std::this_thread::sleep_for(Milliseconds(500));  // the client notices
    etcd.restart();
    const auto healthy = std::chrono::steady_clock::now();
    EXPECT_EQ(store->get("a")->lease, lease);
    EXPECT_TRUE(store->keep_alive(lease));
    EXPECT_LT(std::chrono::steady_clock::now() - healthy, std::chrono::seconds(8));
    const std::string value = "after " + std::to_string(round);
    store->put("a", value, lease);
    EXPECT_THAT(next(*watch, 1), ElementsAre("a=" + value));
  }
}

}  // namespace
}  // namespace trireme::distributed
