// Parts as files: what is written is read, and whatever is not as it was written is noticed.

#include "distributed/checkpoint/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "base/checksum.h"
#include "base/testing/error.h"
#include "distributed/checkpoint/testing/checkpoint.h"

namespace trireme::distributed::checkpoint {
namespace {

using ::testing::HasSubstr;

PartInfo info_of(const SparseTable& table, PartInfo::Kind kind) {
  PartInfo info;
  info.kind = kind;
  info.checkpoint = 7;
  info.server = "server1";
  info.table = "w\xc3\xb6rter\n%";
  info.layout = layout_of(table.options());
  info.row_bytes = static_cast<std::uint32_t>(table.row_bytes());
  info.clock = 65000;
  return info;
}

void fill(SparseTable& table, int rows) {
  std::vector<Id> ids(static_cast<std::size_t>(rows));
  std::iota(ids.begin(), ids.end(), Id{0});
  look_up(table, ids, Create::yes);
}

Part write_part(const std::string& folder, SparseTable& table, const PartInfo& info,
                const std::vector<Id>& removed = {}) {
  TablePartWriter writer(folder, "a.part", info);
  writer.removed(removed);
  table.read(info.slots.first, info.slots.last, {.rows = rows_of_block(table.row_bytes())},
             [&](const RowBlock& block) { writer.rows(block); });
  return writer.finish();
}

// Rows of 8 KB, in many blocks and several to a slot.
TEST(CheckpointPart, HoldsATable) {
  const MemoryDirectory directory;
  SparseTable table(small_options(RowRule::adam(), 700)), other(table.options());
  fill(table, 500);
  const PartInfo info = info_of(table, PartInfo::Kind::delta);
  const std::vector<Id> removed = {5000, 6000, ~Id{0}};
  const Part part = write_part(directory.path(), table, info, removed);
  EXPECT_EQ(part.info, info);
  EXPECT_EQ(part.counts.rows, 500u);
  EXPECT_EQ(part.counts.removed, 3u);
  EXPECT_EQ(part.counts.digest, table.digest());
  EXPECT_EQ(part.sum.bytes, std::filesystem::file_size(directory.path() + "/a.part"));
  EXPECT_EQ(part.sum.crc, crc32c(read_file(directory.path() + "/a.part")));
  std::vector<Id> told;
  read_part(directory.path(), part,
            {.removed = [&](std::span<const Id> ids) { told.assign(ids.begin(), ids.end()); },
             .rows = [&](const RowBlock& block) { other.insert(block); }});
  EXPECT_EQ(told, removed);
  expect_same_blocks(all_blocks(other), all_blocks(table));
  EXPECT_EQ(parse_part(part_text(part), "text"), part);
}

// Its bytes, taken apart by the format's description alone.
TEST(CheckpointPart, IsOfTheFormat) {
  const MemoryDirectory directory;
  TableOptions options = small_options(RowRule::sgd(), 2);
  options.initializer = RowInitializer::zeros();
  SparseTable table(options);
  table.assign(std::vector<Id>{0}, std::vector<float>{1.5f, -2}.data());
  const PartInfo info = info_of(table, PartInfo::Kind::full);
  write_part(directory.path(), table, info);
  const std::string bytes = read_file(directory.path() + "/a.part");
  const auto u32 = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 8), "\x89TPART\r\n");
  EXPECT_EQ(u32(8), 1u);
  std::size_t at = 12;
  const std::uint32_t kinds[] = {1, 2, 5};
  std::vector<std::string> payloads;
  for (std::uint32_t number = 0; number < 3; ++number) {
    const std::uint32_t size = u32(at + 12);
    EXPECT_EQ(u32(at + 4), kinds[number]);
    EXPECT_EQ(u32(at + 8), number);
    EXPECT_EQ(u32(at), crc32c(bytes.substr(at + 4, 12 + size)));
    payloads.push_back(bytes.substr(at + 16, size));
    at += 16 + size;
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_THAT(payloads[0],
              HasSubstr("\"table\":\"w%C3%B6rter%0A%25\",\"layout\":\"width 2 sgd f32\""));
  ASSERT_EQ(payloads[1].size(), 4 + 4 + 8 + 20u);
  const std::uint32_t slot_and_rows[2] = {14472, 1};  // of id 0: docs/reference/formats/table.md
  const float weights[2] = {1.5f, -2};
  EXPECT_EQ(std::memcmp(payloads[1].data(), slot_and_rows, 8), 0);
  EXPECT_EQ(payloads[1].substr(8, 8), std::string(8, '\0'));
  EXPECT_EQ(std::memcmp(payloads[1].data() + 16, weights, 8), 0);
  std::uint64_t footer[4];
  ASSERT_EQ(payloads[2].size(), sizeof footer);
  std::memcpy(footer, payloads[2].data(), sizeof footer);
  EXPECT_THAT(footer, testing::ElementsAre(1, 0, 0, table.digest()));
}

TEST(CheckpointPart, HoldsDenseParameters) {
  const MemoryDirectory directory;
  std::vector<DenseRows> rows;
  std::map<std::string, std::string> contents, read;
  const auto add = [&](const DenseRange& range) {
    std::string& content = contents[range.name];
    for (std::uint64_t i = 0; i < range.bytes(); ++i) {
      content += static_cast<char>(hash_of(i) + range.name.size());
    }
    rows.push_back({range, [&content](std::uint64_t offset, char* to, std::size_t bytes) {
                      ASSERT_LE(offset + bytes, content.size());
                      std::memcpy(to, content.data() + offset, bytes);
                    }});
  };
  add({"w", DType::f32, {900, 1000}, 100, 800});  // 2.8 MB, so more than a block
  add({"w.adam_m", DType::f32, {900, 1000}, 100, 101});
  add({"none", DType::f32, {900, 1000}, 5, 5});
  add({"step", DType::i64, {}, 0, 1});
  add({"half", DType::bf16, {3, 0, 2}, 0, 3});
  PartInfo info;
  info.server = "s";
  info.checkpoint = 3;
  const Part part = write_dense_part(directory.path(), "d.part", info, rows);
  EXPECT_EQ(part.counts.bytes, 700u * 4000 + 4000 + 8);
  EXPECT_EQ(parse_part(part_text(part), "text"), part);
  read_part(directory.path(), part,
            {.dense = [&](const DenseRange& range, std::uint64_t offset, std::string_view bytes) {
              EXPECT_EQ(offset, read[range.name].size());
              read[range.name] += bytes;
            }});
  std::erase_if(contents, [](const auto& entry) { return entry.second.empty(); });
  EXPECT_EQ(read, contents);
}

// Small parts of all three kinds.
std::vector<std::pair<Part, std::string>> samples(const std::string& folder) {
  std::vector<std::pair<Part, std::string>> samples;
  SparseTable table(small_options(RowRule::adagrad(), 2));
  fill(table, 5);
  for (const auto kind : {PartInfo::Kind::full, PartInfo::Kind::delta}) {
    const std::vector<Id> removed = {100, 200};
    const Part part = write_part(folder, table, info_of(table, kind),
                                 kind == PartInfo::Kind::delta ? removed : std::vector<Id>());
    samples.emplace_back(part, read_file(folder + "/a.part"));
  }
  const std::vector<DenseRows> rows = {
      {{"w", DType::f32, {3}, 0, 3},
       [](std::uint64_t, char* to, std::size_t bytes) { std::memset(to, 'x', bytes); }}};
  PartInfo info;
  info.server = "s";
  const Part part = write_dense_part(folder, "a.part", info, rows);
  samples.emplace_back(part, read_file(folder + "/a.part"));
  return samples;
}

// Without the manifest's help, too.
TEST(CheckpointPart, EveryByteCounts) {
  const MemoryDirectory directory;
  for (const auto& [part, bytes] : samples(directory.path())) {
    EXPECT_EQ(read_part(text_source(bytes), "part", {}).sum, part.sum);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const std::string bad = flipped(bytes, at);
      EXPECT_THROW(read_part(text_source(bad), "part", {}), Damaged) << "flipped at " << at;
      EXPECT_THROW(read_part(text_source(bytes.substr(0, at)), "part", {}), Damaged)
          << "cut at " << at;
    }
    EXPECT_THROW(read_part(text_source(bytes + "x"), "part", {}), Damaged);
    EXPECT_THROW(read_part(text_source(bytes + bytes), "part", {}), Damaged);
  }
}

TEST(CheckpointPart, IsTheOneThatWasMeant) {
  const MemoryDirectory directory;
  for (auto& [part, bytes] : samples(directory.path())) {
    overwrite(directory.path() + "/a.part", bytes);
    part.file = "a.part";
    read_part(directory.path(), part, {});
    Part other = part;
    other.info.checkpoint += 1;  // a part of another checkpoint is refused before any callback
    const PartUser user{.removed = [](auto) { FAIL(); },
                        .rows = [](const auto&) { FAIL(); },
                        .dense = [](const auto&, auto, auto) { FAIL(); }};
    EXPECT_THROW(read_part(directory.path(), other, user), Damaged);
    other = part;
    other.counts.digest += 1;
    EXPECT_THROW(read_part(directory.path(), other, {}), Damaged);
    other = part;
    other.file = "b.part";
    EXPECT_THAT(error_of(ErrorKind::data, [&] { read_part(directory.path(), other, {}); }),
                HasSubstr("b.part is missing"));
  }
}

// Blocks in another order, twice or missing, all with good checksums: only the count of blocks
// tells.
TEST(CheckpointPart, ItsBlocksAreInOrder) {
  const MemoryDirectory directory;
  SparseTable table(small_options(RowRule::sgd(), 60000));
  fill(table, 12);  // 240 KB each
  const Part part = write_part(directory.path(), table, info_of(table, PartInfo::Kind::full));
  const std::string bytes = read_file(directory.path() + "/a.part");
  std::vector<std::string> blocks;
  for (std::size_t at = 12; at < bytes.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at + 12, 4);
    blocks.push_back(bytes.substr(at, 16 + size));
    at += 16 + size;
  }
  ASSERT_GE(blocks.size(), 5u);
  const auto joined = [&] {
    std::string all = bytes.substr(0, 12);
    for (const std::string& block : blocks) all += block;
    return all;
  };
  EXPECT_EQ(joined(), bytes);
  const auto whole = blocks;
  std::swap(blocks[1], blocks[2]);
  EXPECT_THROW(read_part(text_source(joined()), "part", {}), Damaged);
  blocks = whole;
  blocks.erase(blocks.begin() + 2);
  EXPECT_THROW(read_part(text_source(joined()), "part", {}), Damaged);
  blocks = whole;
  blocks.insert(blocks.begin() + 2, blocks[1]);
  EXPECT_THROW(read_part(text_source(joined()), "part", {}), Damaged);
  blocks = whole;
  blocks.erase(blocks.begin());
  EXPECT_THROW(read_part(text_source(joined()), "part", {}), Damaged);
}

TEST(CheckpointPart, IsThereWholeOrNotAtAll) {
  const MemoryDirectory directory;
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(directory.path()), {});
  };
  {
    BlockWriter writer(directory.path() + "/a.part");
    writer.write(BlockKind::rows, "text");
    EXPECT_FALSE(std::filesystem::exists(directory.path() + "/a.part"));
    EXPECT_EQ(files(), 1);  // under another name
  }
  EXPECT_EQ(files(), 0);
  BlockWriter writer(directory.path() + "/a.part");
  writer.finish();
  EXPECT_TRUE(std::filesystem::exists(directory.path() + "/a.part"));
  EXPECT_EQ(files(), 1);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { BlockWriter writer(directory.path() + "/no/a"); }),
              HasSubstr("/no/a: No such file or directory"));
}

}  // namespace
}  // namespace trireme::distributed::checkpoint
