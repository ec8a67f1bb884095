// Tables whose rows do not all fit into memory, against the same table without a limit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <thread>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "distributed/table/no_space.h"
#include "distributed/table/testing/table.h"

namespace trireme::distributed {
namespace {

using data::TestDirectory;
using ::testing::HasSubstr;

constexpr std::uint64_t kDifferent = 400;

// Room for the index and for 100 of 400 rows.
TableOptions limited_options(const std::string& folder, RowRule rule = RowRule::adagrad()) {
  TableOptions options = small_options(rule);
  options.memory_limit = kDifferent * 64 + 100 * 80;
  options.decay = 0.9;
  options.disk.folder = folder;
  return options;
}

TableOptions without_limit(TableOptions options) {
  options.memory_limit = 0;
  options.disk = {};
  return options;
}

// The same calls at random for both; returns how many rows lay on disk at most.
std::uint64_t use_both(SparseTable& a, SparseTable& b, unsigned seed, int steps) {
  Batches batches(seed);
  std::uint64_t largest = 0;
  for (int step = 1; step <= steps; ++step) {
    const std::vector<Id> ids = batches.ids(batches.below(50), kDifferent);
    const std::vector<float> values = batches.floats(ids.size() * 5);
    const std::size_t kind = batches.below(10);
    std::vector<float> rows[2];
    int i = 0;
    for (SparseTable* table : {&a, &b}) {
      rows[i++] = look_up(*table, ids, kind % 3 == 0 ? Create::no : Create::yes);
      if (kind < 6) table->update(ids, values.data(), {.rate = 0.1, .step = step});
      if (kind == 6) table->add_deltas(ids, values.data());
      if (kind == 7) table->assign(ids, values.data());
      if (kind == 8) table->count(ids, values.data());
      if (kind == 9) table->tick();
      if (step % 50 == 0) table->remove(std::span(ids).first(ids.size() / 2));
      if (step % 70 == 0) table->evict({.show_weight = 1, .below = 0.01, .unused_for = 30});
      if (step % 90 == 0) table->drop(5000, 6000);
    }
    EXPECT_EQ(rows[0], rows[1]) << "step " << step;
    largest = std::max(largest, a.statistics().on_disk);
  }
  return largest;
}

TEST(ColdRows, GiveTheSameBits) {
  for (const RowRule& rule : {RowRule::adagrad(), RowRule::adam()}) {
    const TestDirectory directory;
    const TableOptions options = limited_options(directory.path() + "/cold", rule);
    SparseTable table(options), reference(without_limit(options));
    EXPECT_GT(use_both(table, reference, 3, 90), 100u);
    expect_same_blocks(all_blocks(table), all_blocks(reference));
    EXPECT_EQ(table.digest(), reference.digest());
    EXPECT_LE(table.statistics().memory, options.memory_limit);
    // Changes of rows that have left memory are reported, too.
    all_blocks(table, {.clear = 2});
    all_blocks(reference, {.clear = 2});
    EXPECT_GT(use_both(table, reference, 4, 60), 100u);
    expect_same_blocks(all_blocks(table, {.changed = 2}), all_blocks(reference, {.changed = 2}));
    EXPECT_EQ(table.take_removed(2, 0, kSlots), reference.take_removed(2, 0, kSlots));
    // A block goes in over rows on disk.
    for (const RowBlock& block : all_blocks(reference)) table.insert(block);
    EXPECT_EQ(table.digest(), reference.digest());
  }
}

TEST(ColdRows, ServeThreadsAtOnce) {
  const TestDirectory directory;
  TableOptions options = limited_options(directory.path() + "/cold", RowRule::sgd());
  options.initializer = RowInitializer::zeros();
  SparseTable table(options);
  constexpr int kThreads = 3, kCalls = 40;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, t] {
      Batches batches(static_cast<unsigned>(t));
      const std::vector<float> ones(5 * 50, 1);
      for (int call = 0; call < kCalls; ++call) {
        table.update(batches.ids(50, kDifferent), ones.data(), {.rate = 1});
        look_up(table, batches.ids(50, kDifferent), Create::yes);
        if (call % 10 == 0) table.digest(0, 1000);
        // Rows that come and go on disk and in memory; their weights stay 0.
        std::vector<Id> others = batches.ids(30, 60);
        for (Id& id : others) id ^= Id{1} << 20;
        look_up(table, others, Create::yes);
        if (t == 0) table.remove(others);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(table.statistics().on_disk, 0u);
  double total = 0;
  for (const Id id : ids_of(all_blocks(table))) total += look_up(table, {id})[4];
  EXPECT_EQ(total, -kThreads * kCalls * 50.0);
}

TEST(ColdRows, AreGoneWithTheirProcess) {
  const TestDirectory directory;
  const TableOptions options = limited_options(directory.path() + "/cold");
  SparseTable reference(without_limit(options));
  {
    SparseTable table(options);
    use_both(table, reference, 5, 40);
    EXPECT_GT(table.statistics().on_disk, 0u);
  }
  SparseTable table(options);
  EXPECT_EQ(table.statistics().rows, 0u);
  SparseTable fresh(without_limit(options));
  use_both(table, fresh, 6, 40);
  expect_same_blocks(all_blocks(table), all_blocks(fresh));
}

TEST(ColdRows, WantAFolderOfTheirOwn) {
  const TestDirectory directory;
  TableOptions options = limited_options(directory.path() + "/not/there");
  const auto text = [&](ErrorKind kind) {
    return error_of(kind, [&] { SparseTable table(options); });
  };
  EXPECT_THAT(text(ErrorKind::not_found), HasSubstr("/not for its cold rows is not there"));
  options.disk.folder = directory.path();
  directory.write("thesis.txt", "years of work");
  EXPECT_THAT(text(ErrorKind::usage), HasSubstr("something else than cold rows"));
  EXPECT_EQ(read_file(directory.path() + "/thesis.txt"), "years of work");
  options.disk.folder = directory.path() + "/cold";
  const SparseTable first(options);
  EXPECT_THAT(text(ErrorKind::io), HasSubstr("is another process at work in it?"));
}

TEST(ColdRows, TooSmallALimitIsSaid) {
  const TestDirectory directory;
  TableOptions options = limited_options(directory.path() + "/cold");
  options.memory_limit = 3000;
  SparseTable table(options);
  std::string text;
  for (Id id = 0; id < 200 && text.empty(); ++id) {
    const std::string error =
        error_of(ErrorKind::usage, [&] { look_up(table, {id}, Create::yes); });
    if (error != "no error") text = error;
  }
  EXPECT_THAT(text, HasSubstr("and cannot move to disk; nothing was changed. Raise the limit"));
}

// Rows of 4 KB, so that a small disk is soon full.
TableOptions large_rows(const std::string& folder) {
  TableOptions options = small_options(RowRule::sgd(), 1024);
  options.memory_limit = 64 << 10;
  options.disk.folder = folder;
  options.disk.write_buffer = 128 << 10;
  return options;
}

// Updates new rows until the disk refuses; then all that went before is there. Returns the error.
std::string fill(SparseTable& table, SparseTable& reference) {
  const std::vector<float> gradient(1024, 1);
  for (Id id = 0; id < 2000; ++id) {
    const std::vector<Id> ids = {id};
    std::string error = "no error";
    try {
      table.update(ids, gradient.data(), {.rate = 1});
    } catch (const NoSpace& full) {
      error = full.what();
    }
    EXPECT_EQ(table.is_disk_full(), error != "no error");
    if (error != "no error") {
      EXPECT_EQ(table.digest(), reference.digest());
      expect_same_blocks(all_blocks(table), all_blocks(reference));
      return error;
    }
    reference.update(ids, gradient.data(), {.rate = 1});
  }
  return "no error";
}

TEST(ColdRows, LoseNothingAtTheLimitOfTheDisk) {
  const TestDirectory directory;
  TableOptions options = large_rows(directory.path() + "/cold");
  options.disk.limit = 250 << 10;
  SparseTable table(options), reference(without_limit(options));
  const std::string error = fill(table, reference);
  EXPECT_THAT(error, HasSubstr("cannot write cold rows in " + directory.path() + "/cold"));
  EXPECT_THAT(error, HasSubstr("no row is lost"));
}

TEST(ColdRows, LoseNothingWhenTheDiskIsFull) {
  const TestDirectory directory;
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "no right to mount a small file system";
  }
  struct Unmount {
    const std::string& path;
    ~Unmount() { ::umount(path.c_str()); }
  } const unmount{directory.path()};
  const std::string ballast = directory.path() + "/ballast";
  {
    write_file_atomically(ballast, std::string(7 << 19, 'x'));
    const TableOptions options = large_rows(directory.path() + "/cold");
    SparseTable table(options), reference(without_limit(options));
    EXPECT_THAT(fill(table, reference), HasSubstr("No space left on device"));
    // With room again, all goes on.
    std::filesystem::remove(ballast);
    const std::vector<Id> ids = {0, 1, 5000};
    const std::vector<float> gradients(3 * 1024, 2);
    table.update(ids, gradients.data(), {.rate = 1});
    reference.update(ids, gradients.data(), {.rate = 1});
    EXPECT_EQ(table.digest(), reference.digest());
    EXPECT_FALSE(table.statistics().disk_full);
  }
}

}  // namespace
}  // namespace trireme::distributed
