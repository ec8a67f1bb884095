// Batches of tasks: as the pipeline cuts them, the same for every reader and in every attempt.

#include "distributed/launch/task_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/testing/error.h"
#include "data/testing/sequences.h"
#include "distributed/coordination/lease_keeper.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/master/master.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kExamples = 151;
constexpr int kEpochs = 2;

Ids ids(const data::Batch& batch) { return batch.at("id").to_vector<std::int64_t>(); }
std::int64_t words_in(const data::Batch& batch) { return batch.at("words").dim(0); }

// Identifies a batch for every trainer: epoch, task, number.
using Name = std::array<std::uint32_t, 3>;
Name name_of(const TaskReader::Read& read) { return {read.epoch, read.task, read.number}; }

// A trainer with its own data that is a member as long as the object exists.
struct Reading {
  Reading(Store& store, const std::string& name, data::Batches cut)
      : batches(std::move(cut)), lease(store, {.seconds = 2}), members(store, "job/") {
    members.join({.name = name, .role = "trainer"}, lease);
    client.emplace(
        store, network,
        TaskClientOptions{.prefix = "job/", .name = name, .security = {.token = "open sesame"}});
    reader.emplace(*client, batches);
  }
  data::Batches batches;
  LeaseKeeper lease;
  ProcessRegistry members;
  Network network;
  std::optional<TaskClient> client;
  std::optional<TaskReader> reader;
};

// A pipeline that each process makes itself.
struct JobSnapshot {
  std::string name;
  std::function<data::Batches()> make;
};
std::ostream& operator<<(std::ostream& out, const JobSnapshot& cut) { return out << cut.name; }

class TasksOf : public ::testing::TestWithParam<JobSnapshot> {
 protected:
  // A separate job.
  void lead(std::int64_t task_batches) {
    master_.reset();
    store_ = make_memory_store();
    MasterOptions options;
    options.prefix = "job/";
    options.server.security.token = "open sesame";
    options.epochs = kEpochs;
    options.tasks = [count = batches_.size(), task_batches](std::int64_t) {
      return tasks_of(count, task_batches);
    };
    options.lease = 2;
    options.min_timeout = Milliseconds(60000);
    master_.emplace(*store_, options);
  }
  // The next batch of any epoch; nothing when all are over.
  static std::optional<TaskReader::Read> next(TaskReader& reader) {
    for (;;) {
      std::optional<TaskReader::Read> read = reader.next();
      if (read || reader.all_done()) return read;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const data::Batches batches_ = GetParam().make();
  std::unique_ptr<Store> store_;
  std::optional<Master> master_;
};

const auto kCuts = ::testing::Values(
    JobSnapshot{"plain", [] { return data::sequences(kExamples).shuffle(3).batch(8); }},
    JobSnapshot{"plain_full",
                [] { return data::sequences(kExamples).shuffle(3).batch(8, {.drop_last = true}); }},
    JobSnapshot{"by_length",
                [] {
                  return data::sequences(kExamples).shuffle(3).bucket_by_length(
                      8, {.column = "words"});
                }},
    JobSnapshot{"by_length_in_windows",
                [] {
                  return data::sequences(kExamples).shuffle(3).bucket_by_length(
                      8, {.column = "words", .window = 3}, {.drop_last = true});
                }},
    JobSnapshot{"by_tokens",
                [] { return data::sequences(kExamples).shuffle(3).batch_tokens(30, "words"); }},
    JobSnapshot{"by_tokens_in_order",
                [] { return data::sequences(kExamples).batch_tokens(30, "words"); }},
    JobSnapshot{"by_small_tokens",
                [] { return data::sequences(kExamples).shuffle(3).batch_tokens(4, "words"); }});
INSTANTIATE_TEST_SUITE_P(CheckpointCoordinator, TasksOf, kCuts,
                         [](const auto& info) { return info.param.name; });

// Several trainers together have the batches of a single process, each of them once.
TEST_P(TasksOf, AreTheBatchesOfOneProcess) {
  for (const std::int64_t task_batches : {1, 3, 1000}) {
    lead(task_batches);
    std::mutex mutex;
    std::map<std::int64_t, std::map<std::int64_t, data::Batch>> got;  // by epoch and number
    std::vector<std::thread> trainers;
    for (const char* const name : {"a", "b", "c"}) {
      trainers.emplace_back([&, name] {
        Reading trainer(*store_, name, GetParam().make());
        while (const std::optional<TaskReader::Read> read = next(*trainer.reader)) {
          const std::lock_guard lock(mutex);
          const std::int64_t number = read->task * task_batches + read->number;
          EXPECT_TRUE(got[read->epoch].emplace(number, read->batch).second) << "twice";
          EXPECT_EQ(read->place, (read->epoch - 1) * trainer.batches.size() + number);
          if (read->last) trainer.reader->finish();
        }
      });
    }
    for (std::thread& trainer : trainers) trainer.join();
    ASSERT_EQ(got.size(), static_cast<std::size_t>(kEpochs));
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      std::int64_t number = 0;
      for (const data::Batch& expected : batches_.epoch(epoch)) {
        const data::Batch& batch = got[epoch + 1].at(number++);
        EXPECT_EQ(ids(batch), ids(expected));
        EXPECT_EQ(batch.at("words").to_vector<std::int64_t>(),
                  expected.at("words").to_vector<std::int64_t>());
      }
      EXPECT_EQ(number, static_cast<std::int64_t>(got[epoch + 1].size()));
    }
  }
}

// Whatever a trainer reads of a task before it fails, the next one reads the same under the same
// names.
TEST_P(TasksOf, AreTheSameWhenAnotherTrainerGoesOn) {
  lead(4);
  Reading first(*store_, "first", GetParam().make()), second(*store_, "second", GetParam().make());
  std::map<Name, Ids> before;
  for (int i = 0; i < 6; ++i) {  // of two tasks
    const TaskReader::Read read = next(*first.reader).value();
    before[name_of(read)] = ids(read.batch);
  }
  ASSERT_EQ(before.size(), 6u);
  first.reader->leave();
  int again = 0;
  while (const std::optional<TaskReader::Read> read = next(*second.reader)) {
    if (const auto known = before.find(name_of(*read)); known != before.end()) {
      ++again;
      EXPECT_EQ(ids(read->batch), known->second);
    }
    if (read->last) second.reader->finish();
  }
  EXPECT_EQ(again, 6);
}

TEST_P(TasksOf, HaveEachExampleOnceWithinTheLimitsOfTheCut) {
  const std::string how = GetParam().name;
  lead(5);
  Reading trainer(*store_, "only", GetParam().make());
  std::map<std::uint32_t, Ids> examples;  // by epoch
  std::map<std::uint32_t, std::int64_t> spread;
  while (const std::optional<TaskReader::Read> read = next(*trainer.reader)) {
    const Ids batch = ids(read->batch), lengths = data::lengths_of(kExamples);
    examples[read->epoch].insert(examples[read->epoch].end(), batch.begin(), batch.end());
    ASSERT_FALSE(batch.empty());
    if (how == "by_small_tokens") {
      EXPECT_TRUE(words_in(read->batch) <= 4 || batch.size() == 1);
    } else if (how.starts_with("by_tokens")) {
      EXPECT_TRUE(words_in(read->batch) <= 30 || batch.size() == 1);
    } else {
      EXPECT_LE(batch.size(), 8u);
    }
    Ids own;
    for (const std::int64_t id : batch) own.push_back(lengths[static_cast<std::size_t>(id)]);
    const auto [least, most] = std::minmax_element(own.begin(), own.end());
    spread[read->epoch] += *most - *least;
    if (read->last) trainer.reader->finish();
  }
  ASSERT_EQ(examples.size(), static_cast<std::size_t>(kEpochs));
  for (auto& [epoch, all] : examples) {
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "one came twice";
    EXPECT_EQ(static_cast<std::int64_t>(all.size()), batches_.examples());
    // Sorted as a whole, batches have few of the 12 lengths each; unsorted, nearly every batch has
    // all of them.
    if (how == "by_length") {
      EXPECT_LE(spread[epoch], 12);
    } else if (how == "plain") {
      EXPECT_GT(spread[epoch], 100);
    }
  }
}

// --- Tasks with wrong data

// Ten batches of ten, in tasks of two. Batch `wrong` cannot be read the first `times` times.
class WrongData : public ::testing::Test {
 protected:
  WrongData() {
    MasterOptions options;
    options.prefix = "job/";
    options.server.security.token = "open sesame";
    options.tasks = [](std::int64_t) { return tasks_of(10, 2); };
    options.lease = 2;
    options.min_timeout = Milliseconds(60000);
    master_.emplace(*store_, options);
  }
  data::Batches batches(std::int64_t wrong, ErrorKind kind = ErrorKind::data) {
    return data::sequences(100)
        .map([=, this](data::Batch batch) {
          const Ids all = ids(batch);
          const bool hit = std::find(all.begin(), all.end(), 10 * wrong) != all.end();
          if (hit && times_-- > 0) fail(kind, "block 7 is damaged");
          return batch;
        })
        .batch(10);
  }
  // First examples of all its batches.
  static Ids read_all(Reading& trainer) {
    Ids all;
    while (!trainer.reader->all_done()) {
      const std::optional<TaskReader::Read> read = trainer.reader->next();
      if (!read) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (read) all.push_back(ids(read->batch).at(0));
      if (read && read->last) trainer.reader->finish();
    }
    return all;
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
  std::optional<Master> master_;
  std::atomic<int> times_ = 1000;
};

TEST_F(WrongData, AreLeftOutAndAllOthersAreRead) {
  Reading trainer(*store_, "a", batches(3));
  std::vector<std::string> told;
  trainer.reader.emplace(
      *trainer.client, trainer.batches,
      [&](const Task& task, const std::string& why) { told.push_back(task.data + ": " + why); });
  Ids all = read_all(trainer);
  EXPECT_EQ(std::count(all.begin(), all.end(), 20), 3) << "the one before it, of the same task";
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  EXPECT_EQ(all, (Ids{0, 10, 20, 40, 50, 60, 70, 80, 90}));
  EXPECT_EQ(told, std::vector<std::string>(3, "2 4: block 7 is damaged"));
  EXPECT_EQ(master_->counts()->failed, 1);
  EXPECT_EQ(master_->counts()->done, 4);
  ASSERT_EQ(bad_tasks(*store_, "job/task/").size(), 1u);
  EXPECT_EQ(bad_tasks(*store_, "job/task/")[0].deaths, 0);
}

TEST_F(WrongData, AreTriedAgain) {
  times_ = 2;
  Reading trainer(*store_, "a", batches(3));
  Ids all = read_all(trainer);
  EXPECT_EQ(std::count(all.begin(), all.end(), 30), 1);
  EXPECT_EQ(master_->counts()->done, 5);
  EXPECT_TRUE(bad_tasks(*store_, "job/task/").empty());
}

// Another process may be able to read the files.
TEST_F(WrongData, OfTheMachineEndTheTrainer) {
  Reading trainer(*store_, "a", batches(1, ErrorKind::io));
  EXPECT_EQ(ids(trainer.reader->next()->batch).at(0), 0);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { trainer.reader->next(); }), HasSubstr("block 7"));
  ASSERT_EQ(bad_tasks(*store_, "job/task/").size(), 1u);
  EXPECT_EQ(bad_tasks(*store_, "job/task/")[0].deaths, 1);
}

// Errors appear when it is their turn: earlier batches are trained first.
TEST_F(WrongData, AreNotFoundAhead) {
  Reading trainer(*store_, "a", batches(1));
  TaskReader& reader = *trainer.reader;
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.peek(), nullptr);
  EXPECT_EQ(master_->counts()->bad_ends, 0);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(master_->counts()->bad_ends, 1);
  EXPECT_EQ(ids(reader.next()->batch).at(0), 20) << "of the next task";
}

// A task that another trainer failed on is not read ahead while one is in progress.
TEST_F(WrongData, NobodyLooksAheadAtWhatOthersHaveHad) {
  times_ = 0;
  {
    Reading dies(*store_, "dies", batches(0));
    ASSERT_TRUE(dies.reader->next());
  }
  while (master_->counts()->bad_ends == 0) std::this_thread::sleep_for(Milliseconds(5));
  Reading trainer(*store_, "a", batches(0));
  TaskReader& reader = *trainer.reader;
  for (int i = 0; i < 2; ++i) {
    const TaskReader::Read read = reader.next().value();
    EXPECT_EQ(read.task, 0u);
    // Reading ahead in the same task is allowed; the next one belonged to another trainer, too, but
    // was not begun.
    EXPECT_EQ(reader.peek() != nullptr, i == 0);
  }
  reader.finish();
  EXPECT_EQ(reader.next()->task, 1u);
}

TEST_F(WrongData, ThatOnlyAStepFindsAreGivenBackByName) {
  times_ = 0;
  Reading trainer(*store_, "a", batches(0));
  TaskReader& reader = *trainer.reader;
  ASSERT_TRUE(reader.next());
  EXPECT_FALSE(reader.give_back("an id beyond its table")) << "no task is done yet";
  EXPECT_EQ(master_->counts()->pending, 0) << "others are handed out again";
  EXPECT_EQ(master_->counts()->bad_ends, 1);
  EXPECT_EQ(bad_tasks(*store_, "job/task/").at(0).why.at(0), "an id beyond its table");
  while (!reader.next()->last) {
  }
  reader.finish();
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.give_back("an id beyond its table"));
  // Between two tasks none is the cause.
  while (!reader.next()->last) {
  }
  reader.finish();
  EXPECT_FALSE(reader.give_back("why not"));
  EXPECT_EQ(master_->counts()->bad_ends, 2);
}

// The master has cut other data.
TEST(TaskReader, BatchesThatAreNot) {
  const std::unique_ptr<Store> store = make_memory_store();
  MasterOptions options;
  options.prefix = "job/";
  options.server.security.token = "open sesame";
  options.tasks = [](std::int64_t) { return std::vector<std::string>{"20 30"}; };
  const Master master(*store, options);
  Reading trainer(*store, "a", data::sequences(100).batch(10));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { trainer.reader->next(); }),
              HasSubstr("there is no batch 20 among the 10 of the epoch"));
}

}  // namespace
}  // namespace trireme::distributed
