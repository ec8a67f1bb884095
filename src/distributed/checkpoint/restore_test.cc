// Checkpoints of servers, restored into other numbers of servers, against one table that saw
// everything.

#include "distributed/checkpoint/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/testing/error.h"
#include "distributed/checkpoint/testing/checkpoint.h"

namespace trireme::distributed::checkpoint {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Restore : public testing::Test {
 protected:
  // Of one file of a checkpoint, by the order in its manifest.
  std::string path(std::int64_t id, std::size_t part) {
    const auto list = catalog_.list();
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const Committed& one) { return one.id == id; });
    return catalog_.folder(id) + "/" + catalog_.manifest(*found).parts.at(part).file;
  }
  // Restores into new servers.
  std::optional<Restored> into(Servers& servers) { return restore(catalog_, servers.share()); }

  const MemoryDirectory directory_;
  const std::unique_ptr<Store> store_ = make_memory_store();
  Catalog catalog_{*store_, catalog_options(directory_)};
  SparseTable whole_{words()};
};

// 4 servers, 3, 4 again: full checkpoints and deltas, with rows that are evicted and come back.
TEST_F(Restore, IntoAnotherNumberOfServers) {
  Training training(whole_, 1);
  auto servers = std::make_unique<Servers>(words(), 4);
  std::int64_t step = 0;
  for (const int next : {3, 4, 1, 5}) {
    for (const bool delta : {false, true, true}) {
      training.run(*servers, 20);
      servers->save(catalog_, delta, ++step);
    }
    const Manifest last = catalog_.manifest(catalog_.list().at(0));
    EXPECT_TRUE(std::any_of(last.parts.begin(), last.parts.end(), [](const Part& part) {
      return part.info.kind == PartInfo::Kind::delta && part.counts.removed > 0;
    }));
    auto others = std::make_unique<Servers>(words(), next);
    const auto restored = into(*others);
    ASSERT_TRUE(restored);
    EXPECT_THAT(restored->passed_over, IsEmpty());
    EXPECT_EQ(restored->manifest.step, step);
    EXPECT_EQ(restored->manifest.snapshot, "queue of step " + std::to_string(step));
    EXPECT_EQ(others->digest(), whole_.digest());
    EXPECT_EQ(others->digest(), servers->digest());
    others->expect_dense(step);
    servers =
        std::move(others);  // which trains on as if nothing had been: ages and statistics, too
  }
}

TEST_F(Restore, NothingWhereThereIsNothing) {
  Servers servers(words(), 2);
  EXPECT_FALSE(into(servers));
}

// What makes a checkpoint unusable, and the reported reason.
TEST_F(Restore, OneThatIsDamagedIsPassedOverAsAWhole) {
  Training training(whole_, 2);
  Servers servers(words(), 3);
  training.run(servers, 10);
  servers.save(catalog_, false, 1);
  const std::uint64_t digest = whole_.digest();
  training.run(servers, 10);
  servers.save(catalog_, false, 2);
  const std::string manifest = catalog_.folder(2) + "/manifest.json";
  const std::size_t parts = catalog_.manifest(catalog_.list().at(0)).parts.size();
  for (const std::string& file : {path(2, 0), path(2, parts / 2), path(2, parts - 1), manifest}) {
    const std::string bytes = read_file(file);
    for (const std::string& bad :
         {flipped(bytes, 0), flipped(bytes, bytes.size() / 2), flipped(bytes, bytes.size() - 1),
          bytes.substr(0, bytes.size() / 3), bytes.substr(0, bytes.size() - 1), std::string(),
          read_file(path(1, 0))}) {
      overwrite(file, bad);
      Servers others(words(), 2);
      const auto restored = into(others);
      ASSERT_TRUE(restored);
      EXPECT_EQ(restored->manifest.id, 1);
      EXPECT_EQ(others.digest(), digest);
      others.expect_dense(1);
      ASSERT_EQ(restored->passed_over.size(), 1u);
      EXPECT_EQ(restored->passed_over[0].id, 2);
      EXPECT_THAT(restored->passed_over[0].reason, HasSubstr(file + " is damaged"));
    }
    fs::remove(file);
    Servers others(words(), 4);
    EXPECT_EQ(into(others)->manifest.id, 1);
    EXPECT_EQ(others.digest(), digest);
    overwrite(file, bytes);
  }
  Servers others(words(), 2);
  EXPECT_EQ(into(others)->manifest.id, 2);
  EXPECT_EQ(others.digest(), whole_.digest());
  fs::remove(path(1, 0));
  fs::remove(path(2, 1));
  EXPECT_THAT(
      error_of(ErrorKind::data, [&] { into(others); }),
      testing::AllOf(HasSubstr("no checkpoint can be restored\n  2: "), HasSubstr("\n  1: ")));
}

TEST_F(Restore, ADamagedDeltaTakesThoseAfterItAlong) {
  Training training(whole_, 3);
  Servers servers(words(), 2);
  std::vector<std::uint64_t> digests;
  for (std::int64_t step = 1; step <= 4; ++step) {
    training.run(servers, 8);
    servers.save(catalog_, step > 1, step);
    digests.push_back(whole_.digest());
  }
  fs::remove(path(3, 0));
  Servers others(words(), 3);
  const auto restored = into(others);
  EXPECT_EQ(restored->manifest.id, 2);
  EXPECT_EQ(others.digest(), digests[1]);
  ASSERT_EQ(restored->passed_over.size(), 2u);
  EXPECT_THAT(restored->passed_over[0].reason, HasSubstr("is missing"));
  // Going on from there, what was damaged is no part of what follows.
  catalog_.rewind(2);
  Servers after(words(), 2);
  into(after);
  after.save(catalog_, true, 5);
  EXPECT_TRUE(catalog_.list().at(0).delta);
  Servers last(words(), 1);
  EXPECT_EQ(into(last)->manifest.id, 5);
  EXPECT_EQ(last.digest(), digests[1]);
}

// A server knows of damage to what it needs; the master hears of all.
TEST_F(Restore, EachServerSpeaksForItsShare) {
  Training training(whole_, 4);
  Servers servers(words(), 4);
  training.run(servers, 10);
  servers.save(catalog_, false, 1);
  const auto list = catalog_.list();
  const Manifest manifest = catalog_.manifest(list.at(0));
  overwrite(catalog_.folder(1) + "/" + manifest.parts[0].file, "");
  Servers others(words(), 4);
  int objections = 0;
  for (Server& server : others.all()) {
    const Share share{{{*server.table, server.slots}}, {}};
    const auto reason = damage(catalog_, list, 1, share);
    objections += reason ? 1 : 0;
    if (!reason) {
      EXPECT_GT(load(catalog_, list, 1, share).rows, 0u);
      continue;
    }
    EXPECT_THAT(*reason, HasSubstr("it ends after 0 bytes"));
    EXPECT_THROW(load(catalog_, list, 1, share), Damaged);
    EXPECT_EQ(server.table->statistics().rows, 0u);  // no half of it
  }
  EXPECT_EQ(objections, 1);
}

TEST_F(Restore, AnotherModelIsAMistakeAndNoDamage) {
  Servers servers(words(), 1);
  servers.save(catalog_, false, 1);
  TableOptions options = words();
  options.width = 4;
  Servers wider(options, 1);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { into(wider); }),
              HasSubstr("'words' is width 4 adam f32, but in checkpoint 1 it is width 3 adam f32"));
  options.name = "other";
  Servers other(options, 1);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { into(other); }),
              HasSubstr("checkpoint 1 has no table 'other'"));
  Share share = servers.share();
  share.dense[0].range.shape = {kDenseRows, 4};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { restore(catalog_, share); }),
              HasSubstr("'net.w' has another shape"));
  share.dense[0].range.name = "net.b";
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { restore(catalog_, share); }),
              HasSubstr("has no parameter 'net.b'"));
}

// Between two checkpoints, slots go to another server: it writes them whole, and rows evicted
// before they moved stay away.
TEST_F(Restore, SlotsMoveBetweenServers) {
  Servers servers(words(), 2);
  Training training(whole_, 5);
  training.run(servers, 15);
  servers.save(catalog_, false, 1);
  training.run(servers, 10);
  Server &from = servers.all()[0], &to = servers.all()[1];
  const SlotRange moving = from.slots[0];
  from.writer->forget("words", moving);
  to.writer->forget("words", moving);
  std::vector<Id> gone;
  from.table->read(moving.first, moving.last, {}, [&](const RowBlock& block) {
    if (gone.size() < 3) gone.push_back(block.ids[0]);
  });
  for (SparseTable* table : {from.table.get(), &whole_}) table->remove(gone);
  from.table->read(moving.first, moving.last, {},
                   [&](const RowBlock& block) { to.table->insert(block); });
  from.table->drop(moving.first, moving.last);
  from.slots.erase(from.slots.begin());
  to.slots.push_back(moving);
  training.run(servers, 5);
  servers.save(catalog_, true, 2);
  Servers others(words(), 3);
  EXPECT_EQ(into(others)->manifest.id, 2);
  EXPECT_EQ(others.digest(), whole_.digest());
  // Away and back again.
  to.writer->forget("words", moving);
  std::vector<RowBlock> blocks;
  to.table->read(moving.first, moving.last, {}, [&](RowBlock block) { blocks.push_back(block); });
  to.table->drop(moving.first, moving.last);
  for (std::size_t i = 1; i < blocks.size(); ++i) to.table->insert(blocks[i]);
  whole_.remove(blocks[0].ids);
  servers.save(catalog_, true, 3);
  Servers after(words(), 1);
  EXPECT_EQ(into(after)->manifest.id, 3);
  EXPECT_EQ(after.digest(), whole_.digest());
}

// One that was written, in part or whole, and never committed: the next delta has its changes, too.
TEST_F(Restore, FailedCheckpointsLoseNothing) {
  Training training(whole_, 6);
  Servers servers(words(), 3);
  training.run(servers, 10);
  servers.save(catalog_, false, 1);
  for (int i = 0; i < 3; ++i) {
    training.run(servers, 7);
    const Begun begun = catalog_.begin(true);
    if (i == 0) {
      servers.write(begun);
    } else {  // the second server finds no folder
      Server& first = servers.all()[0];
      first.writer->write(begun, {{*first.table, first.slots}}, {});
      fs::remove_all(begun.folder);
      EXPECT_THAT(error_of(ErrorKind::io, [&] { servers.write(begun); }),
                  HasSubstr("No such file or directory"));
    }
  }
  training.run(servers, 7);
  servers.save(catalog_, true, 2);
  const Manifest last = catalog_.manifest(catalog_.list().at(0));
  EXPECT_EQ(last.previous, 1);
  for (const Part& part : last.parts) EXPECT_NE(part.info.kind, PartInfo::Kind::full);
  Servers others(words(), 2);
  into(others);
  EXPECT_EQ(others.digest(), whole_.digest());
}

// A delta of few changes is small, after checkpoints of both kinds.
TEST_F(Restore, DeltasHoldWhatChanged) {
  Servers servers(words(), 1);
  Training training(whole_, 7);
  training.run(servers, 40);
  SparseTable& table = *servers.all()[0].table;
  for (std::int64_t step = 1; step <= 4; ++step) {
    servers.save(catalog_, step > 1, step);
    std::uint64_t rows = 0, removed = 0;
    for (const Part& part : catalog_.manifest(catalog_.list().at(0)).parts) {
      rows += part.counts.rows;
      removed += part.counts.removed;
    }
    EXPECT_EQ(rows, step == 1 ? table.statistics().rows : 3u);
    EXPECT_EQ(removed, step == 1 ? 0u : 1u);
    const auto first = static_cast<Id>(step) * 1000003;
    table.update(std::vector<Id>{first, first + 1, first + 2}, std::vector<float>(9, 0.5f).data(),
                 {.rate = 1});
    look_up(table, {77});
    all_blocks(table);
    const Id evicted = ids_of(all_blocks(table)).at(static_cast<std::size_t>(step) * 10);
    table.remove(std::vector<Id>{evicted});
  }
}

// Updates, evictions and rows that come back go on while checkpoints are written; a last one, in
// peace, is as the table. What is wrong in one delta would stay wrong in it.
TEST_F(Restore, WhileTheTableIsUsed) {
  Servers servers(words(), 1);
  SparseTable& table = *servers.all()[0].table;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      Batches batches(t);
      for (std::int64_t i = 1; !done; ++i) {
        const std::vector<Id> ids = batches.ids(30, 300);
        table.update(ids, batches.floats(90).data(), {.rate = 0.1, .step = i});
        if (i % 3 == 0) table.remove(batches.ids(20, 300));
        if (i % 5 == 0) table.tick();
        if (i % 8 == 0) table.evict({.unused_for = 10});
      }
    });
  }
  for (std::int64_t step = 1; step <= 12; ++step) servers.save(catalog_, step % 6 != 1, step);
  done = true;
  for (std::thread& thread : threads) thread.join();
  servers.save(catalog_, true, 13);
  Servers others(words(), 3);
  EXPECT_EQ(into(others)->manifest.id, 13);
  EXPECT_EQ(others.digest(), table.digest());
  EXPECT_EQ(ids_of(all_blocks(*others.all()[0].table)).size() +
                ids_of(all_blocks(*others.all()[1].table)).size() +
                ids_of(all_blocks(*others.all()[2].table)).size(),
            table.statistics().rows);
}

TEST_F(Restore, RowsOnDiskToo) {
  const MemoryDirectory cold;
  TableOptions options = words();
  SparseTable reference(options);
  options.memory_limit = 400 * 64 + 100 * 60;
  options.disk.folder = cold.path() + "/a";
  Servers servers(options, 1);
  SparseTable& table = *servers.all()[0].table;
  Batches batches(8);
  for (std::int64_t step = 1; step <= 2; ++step) {
    for (int i = 0; i < 30; ++i) {
      const std::vector<Id> ids = batches.ids(40, 400);
      const std::vector<float> gradients = batches.floats(120);
      for (SparseTable* one : {&table, &reference}) {
        one->update(ids, gradients.data(), {.rate = 0.1, .step = i + 1});
        if (i % 9 == 0) one->remove(std::span(ids).first(10));
      }
    }
    EXPECT_GT(table.statistics().on_disk, 0u);
    servers.save(catalog_, step == 2, step);
  }
  options.disk.folder = cold.path() + "/b";
  Servers others(options, 1);
  into(others);
  EXPECT_EQ(others.digest(), reference.digest());
  EXPECT_GT(others.all()[0].table->statistics().on_disk, 0u);
}

// On a file system of 4 MB.
TEST_F(Restore, AFullDiskStopsNothing) {
  fs::create_directory(directory_.path() + "/checkpoints");
  const std::string folder = directory_.path() + "/checkpoints";
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "no right to mount a small file system";
  }
  struct Unmount {
    const std::string& path;
    ~Unmount() { ::umount(path.c_str()); }
  } const unmount{folder};
  Training training(whole_, 9);
  Servers servers(words(), 1);
  training.run(servers, 20);
  servers.save(catalog_, false, 1);
  const std::string ballast = folder + "/ballast";
  const auto room = [&] { return fs::space(folder).available; };
  overwrite(ballast, std::string(room() - (64 << 10), 'x'));
  const auto before = room();
  for (const bool delta : {true, false}) {
    training.run(servers, 10);
    const Begun begun = catalog_.begin(delta);
    EXPECT_THAT(error_of(ErrorKind::io, [&] { servers.write(begun); }),
                testing::AllOf(HasSubstr("was not written: cannot write " + begun.folder),
                               HasSubstr("No space left on device"), HasSubstr("make room")));
    EXPECT_TRUE(fs::is_empty(begun.folder));
    EXPECT_EQ(room(), before);
  }
  Servers others(words(), 3);
  EXPECT_EQ(into(others)->manifest.id, 1);
  // With room again, a delta has everything since the first one.
  training.run(servers, 5);
  fs::remove(ballast);
  servers.save(catalog_, true, 4);
  EXPECT_EQ(into(others)->manifest.step, 4);
  EXPECT_EQ(others.digest(), whole_.digest());
}

}  // namespace
}  // namespace trireme::distributed::checkpoint
