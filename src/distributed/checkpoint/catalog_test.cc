// Which checkpoints there are, through crashes at every point.

#include "distributed/checkpoint/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing/error.h"
#include "distributed/checkpoint/testing/checkpoint.h"
#include "distributed/coordination/election.h"

namespace trireme::distributed::checkpoint {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A store whose next change is lost, or done without an answer.
class BadStore : public Store {
 public:
  explicit BadStore(Store& store) : store_(store) {}
  enum class Next { good, lost, unanswered } next = Next::good;

  Outcome commit(const Transaction& t) override {
    const bool change = !t.then.empty() && !std::holds_alternative<Get>(t.then[0]);
    const Next what = change ? std::exchange(next, Next::good) : Next::good;
    if (what == Next::lost) throw Unavailable("cut off");
    const Outcome outcome = store_.commit(t);
    if (what == Next::unanswered) throw Unavailable("cut off");
    return outcome;
  }
  std::int64_t grant(std::int64_t seconds) override { return store_.grant(seconds); }
  bool keep_alive(std::int64_t lease) override { return store_.keep_alive(lease); }
  void revoke(std::int64_t lease) override { store_.revoke(lease); }
  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    return store_.watch(prefix, from);
  }

 private:
  Store& store_;
};

class Checkpoints : public testing::Test {
 protected:
  Manifest manifest(const Begun& begun) { return Servers::manifest(begun, begun.id * 10, {}); }
  std::int64_t save(Catalog& catalog, bool delta = false) {
    const Begun begun = catalog.begin(delta);
    catalog.commit(manifest(begun));
    return begun.id;
  }
  static std::vector<std::int64_t> ids(Catalog& catalog) {
    std::vector<std::int64_t> ids;
    for (const Committed& one : catalog.list()) ids.push_back(one.id);
    return ids;
  }
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(options_.folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const MemoryDirectory directory_;
  CatalogOptions options_ = catalog_options(directory_);
  const std::unique_ptr<Store> memory_ = make_memory_store();
  BadStore store_{*memory_};
};

TEST_F(Checkpoints, AreThereWhenCommitted) {
  Catalog catalog(store_, options_);
  EXPECT_THAT(catalog.list(), IsEmpty());
  const Begun begun = catalog.begin(true);
  EXPECT_EQ(begun.id, 1);
  EXPECT_FALSE(begun.delta);  // there is none to stand on
  EXPECT_EQ(begun.base, 1);
  EXPECT_EQ(begun.previous, 0);
  EXPECT_TRUE(fs::is_directory(begun.folder));
  EXPECT_THAT(catalog.list(), IsEmpty());
  const Manifest written = manifest(begun);
  catalog.commit(written);
  EXPECT_EQ(catalog.manifest(catalog.list().at(0)), written);
  const Begun next = catalog.begin(true);
  EXPECT_TRUE(next.delta);
  EXPECT_EQ(next.base, 1);
  EXPECT_EQ(next.previous, 1);
  catalog.commit(manifest(next));
  EXPECT_THAT(ids(catalog), ElementsAre(2, 1));
  EXPECT_EQ(memory_->get("job/checkpoint/latest")->value, "2");
  EXPECT_EQ(parse_committed(2, memory_->get("job/checkpoint/at/000000000002")->value).base, 1);
  // Another process sees the same.
  EXPECT_THAT(ids(*std::make_unique<Catalog>(store_, options_)), ElementsAre(2, 1));
}

TEST_F(Checkpoints, CommittingTwiceDoesNoHarm) {
  Catalog catalog(store_, options_);
  const Manifest first = manifest(catalog.begin(false));
  for (const auto bad : {BadStore::Next::lost, BadStore::Next::unanswered}) {
    store_.next = bad;
    EXPECT_THROW(catalog.commit(first), Unavailable);
  }
  catalog.commit(first);
  catalog.commit(first);
  EXPECT_THAT(ids(catalog), ElementsAre(1));
  EXPECT_EQ(save(catalog), 2);
  catalog.commit(first);  // late
  EXPECT_THAT(ids(catalog), ElementsAre(2, 1));
  Manifest other = first;
  other.step += 1;
  EXPECT_THROW(catalog.commit(other), Unavailable);
}

TEST_F(Checkpoints, OneThatWasOvertakenIsRefused) {
  Catalog slow(store_, options_), quick(store_, options_);
  const Manifest overtaken = manifest(slow.begin(false));
  const Begun begun = quick.begin(false);
  quick.commit(manifest(begun));
  EXPECT_FALSE(fs::exists(slow.folder(overtaken.id)));  // remains, as it seemed
  fs::create_directory(slow.folder(overtaken.id));
  EXPECT_THAT(error_of(ErrorKind::io, [&] { slow.commit(overtaken); }),
              HasSubstr("was not committed"));
  EXPECT_THAT(ids(quick), ElementsAre(begun.id));
}

TEST_F(Checkpoints, OnlyTheLeaderChangesThem) {
  Election election(store_, "job/leader");
  auto lease = std::make_unique<LeaseKeeper>(store_, LeaseOptions{.seconds = 5});
  const Leader first = election.campaign("first", *lease, Milliseconds(60000)).value();
  CatalogOptions options = options_;
  options.guard = election.guard(first);
  Catalog deposed(store_, options);
  save(deposed);
  const Manifest late = manifest(deposed.begin(false));
  EXPECT_TRUE(election.resign(first));
  const Leader second = election.campaign("second", *lease, Milliseconds(60000)).value();
  options.guard = election.guard(second);
  Catalog leading(store_, options);
  EXPECT_THROW(deposed.commit(late), Deposed);
  EXPECT_THROW(deposed.begin(false), Deposed);
  EXPECT_THROW(deposed.rewind(0), Deposed);
  EXPECT_THAT(ids(leading), ElementsAre(1));
  EXPECT_EQ(save(leading), 3);
  EXPECT_THAT(ids(deposed), ElementsAre(3, 1));
}

TEST_F(Checkpoints, OldOnesGoWithTheirDeltas) {
  Catalog catalog(store_, options_);
  for (const bool delta : {false, true, false, true, true}) save(catalog, delta);
  EXPECT_THAT(ids(catalog), ElementsAre(5, 4, 3, 2, 1));  // two full ones and their deltas
  save(catalog);
  EXPECT_THAT(ids(catalog), ElementsAre(6, 5, 4, 3));
  EXPECT_THAT(folders(),
              ElementsAre("000000000003", "000000000004", "000000000005", "000000000006"));
  options_.keep = 1;
  Catalog other(store_, options_);
  save(other);
  EXPECT_THAT(ids(other), ElementsAre(7));
  EXPECT_THAT(folders(), ElementsAre("000000000007"));
}

TEST_F(Checkpoints, RemainsGoAndNothingElse) {
  Catalog catalog(store_, options_);
  save(catalog);
  const Begun crashed = catalog.begin(false);
  overwrite(crashed.folder + "/server1.00000.part", "half");
  overwrite(crashed.folder + "/server1.00001.part.tmp.4.0", "half");
  overwrite(options_.folder + "/notes.txt", "by hand");
  fs::create_directory(options_.folder + "/000000000099");  // after a Store that lost its memory
  const Begun begun = catalog.begin(true);
  EXPECT_EQ(begun.id, 100);
  EXPECT_EQ(begun.previous, 1);
  EXPECT_THAT(folders(), ElementsAre("000000000001", "000000000100", "notes.txt"));
}

TEST_F(Checkpoints, AStoreThatKnowsNothingLearnsOfThem) {
  Catalog catalog(store_, options_);
  for (const bool delta : {false, true}) save(catalog, delta);
  catalog.begin(true);  // is not committed
  const std::vector<Committed> before = catalog.list();
  const auto fresh = make_memory_store();
  Catalog again(*fresh, options_);
  ASSERT_THAT(ids(again), ElementsAre(2, 1));
  EXPECT_EQ(again.list()[0].manifest, before[0].manifest);
  EXPECT_EQ(again.manifest(again.list()[0]).step, 20);
  const Begun begun = again.begin(true);
  EXPECT_EQ(begun.id, 4);
  EXPECT_EQ(begun.previous, 2);
  // What the Store knows is not put right by the folder: 2 was forgotten.
  again.rewind(1);
  EXPECT_THAT(ids(*std::make_unique<Catalog>(*fresh, options_)), ElementsAre(1));
}

// Killed between the transaction and the note in the folder: the next one makes good for it.
TEST_F(Checkpoints, TheFolderIsToldLater) {
  Catalog catalog(store_, options_);
  save(catalog);
  fs::remove(catalog.folder(1) + "/committed");
  save(catalog);
  const auto fresh = make_memory_store();
  EXPECT_THAT(ids(*std::make_unique<Catalog>(*fresh, options_)), ElementsAre(2, 1));
}

TEST_F(Checkpoints, AreForgotten) {
  Catalog catalog(store_, options_);
  for (const bool delta : {false, true, true}) save(catalog, delta);
  catalog.rewind(1);
  EXPECT_THAT(ids(catalog), ElementsAre(1));
  const Begun begun = catalog.begin(true);
  EXPECT_EQ(begun.id, 4);
  EXPECT_EQ(begun.previous, 1);
  catalog.commit(manifest(begun));
  EXPECT_THAT(ids(catalog), ElementsAre(4, 1));
  EXPECT_THAT(folders(), ElementsAre("000000000001", "000000000004"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { catalog.rewind(3); }),
              HasSubstr("no checkpoint 3 to go back to"));
  catalog.rewind(0);
  EXPECT_THAT(catalog.list(), IsEmpty());
  EXPECT_EQ(catalog.begin(true).previous, 0);
}

TEST_F(Checkpoints, EveryByteOfAManifestCounts) {
  Catalog catalog(store_, options_);
  save(catalog);
  const Committed committed = catalog.list().at(0);
  const std::string path = catalog.folder(1) + "/manifest.json";
  const std::string bytes = read_file(path);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    overwrite(path, flipped(bytes, at));
    EXPECT_THROW(catalog.manifest(committed), Damaged) << at;
    overwrite(path, bytes.substr(0, at));
    EXPECT_THROW(catalog.manifest(committed), Damaged) << at;
  }
  fs::remove(path);
  EXPECT_THROW(catalog.manifest(committed), Damaged);
  // The key, too: but for digits, which then name another manifest.
  for (const char* bad :
       {"", "full", "full 1 0 5", "full 1 0 5 12345678 9", "some 1 0 5 0", "full -1 0 5 0",
        "full 1 0 5 123456789", "full 1 0 99999999999999999999 0"}) {
    EXPECT_THROW(parse_committed(1, bad), Damaged) << bad;
  }
  // One with a damaged key is not listed, and stays.
  store_.put("job/checkpoint/at/000000000001", "full");
  EXPECT_THAT(catalog.list(), IsEmpty());
  save(catalog);
  EXPECT_THAT(folders(), ElementsAre("000000000001", "000000000002"));
}

TEST_F(Checkpoints, MissingSlotsAndRowsAreNotCommitted) {
  Catalog catalog(store_, options_);
  Servers servers(words(), 3);
  const Begun begun = catalog.begin(false);
  const std::vector<Part> parts = servers.write(begun);
  const auto refused = [&](std::vector<Part> some) {
    const Manifest bad = Servers::manifest(begun, 1, std::move(some));
    return error_of([&] { catalog.commit(bad); });
  };
  std::vector<Part> some(parts.begin() + 1, parts.end());
  EXPECT_THAT(refused(some), HasSubstr("of table 'words', slot 0 is missing"));
  some = parts;
  some.pop_back();
  EXPECT_THAT(refused(some), HasSubstr("of parameter 'net.w', row 24 is missing"));
  some = parts;
  some.push_back(parts[0]);
  EXPECT_THAT(refused(some), HasSubstr("is there twice"));
  some.back().file = "other.part";
  EXPECT_THAT(refused(some), HasSubstr("of table 'words', slot 0 is there twice"));
  some = parts;
  some[0].file = "../../passwords";
  EXPECT_THAT(refused(some), HasSubstr("is no name of a part"));
  some = parts;
  some[2].info.layout = "width 4 sgd f32";
  EXPECT_THAT(refused(some), HasSubstr("as width 3 adam f32 and as width 4 sgd f32"));
  some = parts;
  some[0].info.kind = PartInfo::Kind::delta;
  EXPECT_THAT(refused(some), HasSubstr("holds changes only"));
  some = parts;
  some[0].info.checkpoint = 9;
  EXPECT_THAT(refused(some), HasSubstr("is of checkpoint 9"));
  fs::remove(begun.folder + "/" + parts[3].file);
  EXPECT_THAT(refused(parts), HasSubstr(parts[3].file + " is not there in its length"));
  EXPECT_THAT(catalog.list(), IsEmpty());
}

TEST(CheckpointManifest, IsReadAsItWasWritten) {
  Manifest manifest{.id = 12, .delta = true, .base = 9, .previous = 11};
  manifest.epoch = 3;
  manifest.step = INT64_MAX;
  manifest.map_version = 17;
  for (int c = 0; c < 256; ++c) manifest.snapshot += static_cast<char>(c);
  Part part;
  part.info.kind = PartInfo::Kind::delta;
  part.info.checkpoint = 12;
  part.info.server = "s";
  part.info.table = "t";
  part.info.layout = "width 1 sgd f32";
  part.info.row_bytes = 16;
  part.counts = {5, 6, 0, UINT64_MAX};
  part.file = "a.part";
  part.sum = {1234, UINT32_MAX};
  manifest.parts.push_back(part);
  EXPECT_EQ(problem_of(manifest), "");
  const std::string text = manifest_text(manifest);
  EXPECT_EQ(parse_manifest(text, "m"), manifest);
  for (std::size_t at = 0; at + 2 < text.size(); ++at) {
    EXPECT_THROW(parse_manifest(text.substr(0, at), "m"), Damaged) << at;
  }
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"version\": 1", "\"version\": 2"},
           {"trireme distributed", "trireme"},
           {"\"base\": 9", "\"base\": 12"},
           {"\"previous\": 11", "\"previous\": 12"},
           {"\"step\": 9", "\"step\": -9"},
           {"16384", "16385"},
           {"%00", "%0"},
           {"\"row_bytes\": 16", "\"row_bytes\": 16777216"},
           {"ffffffff\"", "1ffffffff\""},
           {"\"delta\": true", "\"delta\": 1"}}) {
    std::string bad = text;
    ASSERT_NE(bad.find(from), std::string::npos) << from;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_THROW(parse_manifest(bad, "m"), Damaged) << to;
  }
}

}  // namespace
}  // namespace trireme::distributed::checkpoint
