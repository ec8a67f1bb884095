#include "distributed/checkpoint/part.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checksum.h"
#include "base/error.h"
#include "distributed/checkpoint/part_json.h"

namespace trireme::distributed::checkpoint {
namespace {

constexpr const char* kRules[] = {"sgd", "adagrad", "adam", "ftrl"};
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;  // of a dense parameter

// In a block of rows, in front of the rows of one slot.
struct SlotHead {
  std::uint32_t slot, rows;
};
// In front of a piece of a dense parameter.
struct DenseHead {
  std::uint64_t entry, offset;
};
constexpr std::size_t kDensePiece = kLargestBlock - sizeof(DenseHead);

// The footer's payload.
struct FooterNumbers {
  std::uint64_t rows, removed, bytes, digest;
};

template <class T>
std::string_view raw_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string_view bytes_of_ids(std::span<const Id> ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

void write_footer(BlockWriter& writer, const PartCounts& counts) {
  const FooterNumbers numbers{counts.rows, counts.removed, counts.bytes, counts.digest};
  writer.write(BlockKind::footer, raw_bytes(numbers));
}

void write_header(BlockWriter& writer, const PartInfo& info) {
  const std::string text = info_json(info).dump();
  if (text.size() > kLargestBlock) {
    fail_usage("a part of a checkpoint with names of more than 1 MiB");
  }
  writer.write(BlockKind::header, text);
}

// False if it is more than we take.
bool multiply(std::uint64_t& bytes, std::int64_t size) {
  return size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) &&
         bytes <= kMaxBytes;
}

std::optional<std::uint64_t> row_bytes_of(const DenseRange& range) {
  std::uint64_t bytes = size_of(range.dtype);
  for (std::size_t i = 1; i < range.shape.size(); ++i) {
    if (!multiply(bytes, range.shape[i])) return {};
  }
  return bytes;
}

std::string problem_of(const DenseRange& range) {
  if (range.shape.size() > 64) return fmt::format("'{}' has more than 64 axes", range.name);
  std::optional<std::uint64_t> bytes = row_bytes_of(range);
  if (!bytes || !multiply(*bytes, range.all_rows())) {
    return fmt::format("the shape of '{}' is too large", range.name);
  }
  if (range.first < 0 || range.first > range.last || range.last > range.all_rows()) {
    return fmt::format("'{}' has no rows [{}, {})", range.name, range.first, range.last);
  }
  return "";
}

}  // namespace

std::uint64_t DenseRange::row_bytes() const {
  const std::optional<std::uint64_t> bytes = row_bytes_of(*this);
  if (!bytes) fail_usage(fmt::format("the shape of '{}' is too large", name));
  return *bytes;
}

std::string layout_of(const TableOptions& options) {
  return fmt::format("width {} {} {}", options.width, kRules[static_cast<int>(options.rule.kind)],
                     options.float16 ? "f16" : "f32");
}

std::size_t rows_of_block(std::size_t row_bytes) {
  return std::clamp<std::size_t>((kLargestBlock - sizeof(SlotHead)) / (sizeof(Id) + row_bytes), 1,
                                 1024);
}

std::string problem_of(const PartInfo& info) {
  if (info.server.empty()) return "a part of no server";
  if (info.kind == PartInfo::Kind::dense) {
    if (info.dense.size() > kMaxDense) return "too many dense parameters in a part";
    for (const DenseRange& range : info.dense) {
      if (std::string problem = problem_of(range); !problem.empty()) return problem;
    }
    return "";
  }
  if (info.table.empty()) return "a part of no table";
  if (info.slots.first < 0 || info.slots.first >= info.slots.last || info.slots.last > kSlots) {
    return fmt::format("slots [{}, {})", info.slots.first, info.slots.last);
  }
  if (info.row_bytes < 16 || sizeof(SlotHead) + sizeof(Id) + info.row_bytes > kLargestBlock) {
    return fmt::format("rows of {} bytes", info.row_bytes);
  }
  return "";
}

TablePartWriter::TablePartWriter(const std::string& folder, const std::string& file,
                                 const PartInfo& info)
    : part_{info, {}, file, {}}, writer_(folder + "/" + file) {
  if (const std::string problem = problem_of(info); !problem.empty()) fail_usage(problem);
  write_header(writer_, info);
  block_.reserve(kLargestBlock);
}

void TablePartWriter::removed(std::span<const Id> ids) {
  constexpr std::size_t kMax = kLargestBlock / sizeof(Id);
  for (; !ids.empty(); ids = ids.subspan(std::min(kMax, ids.size()))) {
    const std::span<const Id> piece = ids.first(std::min(kMax, ids.size()));
    writer_.write(BlockKind::removed, bytes_of_ids(piece));
    part_.counts.removed += piece.size();
  }
}

void TablePartWriter::rows(const RowBlock& block) {
  const std::size_t bytes = sizeof(SlotHead) + block.ids.size() * sizeof(Id) + block.records.size();
  if (block_.size() + bytes > kLargestBlock) flush();
  const SlotHead head{static_cast<std::uint32_t>(block.slot),
                      static_cast<std::uint32_t>(block.ids.size())};
  block_ += raw_bytes(head);
  block_ += bytes_of_ids(block.ids);
  block_ += block.records;
  part_.counts.rows += block.ids.size();
  part_.counts.digest += digest_of(block);
}

void TablePartWriter::flush() {
  if (!block_.empty()) writer_.write(BlockKind::rows, block_);
  block_.clear();
}

Part TablePartWriter::finish() {
  flush();
  write_footer(writer_, part_.counts);
  part_.sum = writer_.finish();
  return part_;
}

Part write_dense_part(const std::string& folder, const std::string& file, PartInfo info,
                      std::span<const DenseRows> rows) {
  info.kind = PartInfo::Kind::dense;
  for (const DenseRows& entry : rows) info.dense.push_back(entry.range);
  if (const std::string problem = problem_of(info); !problem.empty()) fail_usage(problem);
  Part part{std::move(info), {}, file, {}};
  BlockWriter writer(folder + "/" + file);
  write_header(writer, part.info);
  std::string block;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t all = rows[i].range.bytes();
    for (std::uint64_t offset = 0; offset < all; offset += kDensePiece) {
      const std::size_t bytes = std::min<std::uint64_t>(kDensePiece, all - offset);
      const DenseHead head{i, offset};
      block.resize(sizeof head + bytes);
      std::memcpy(block.data(), &head, sizeof head);
      rows[i].read(offset, block.data() + sizeof head, bytes);
      writer.write(BlockKind::dense, block);
      part.counts.bytes += bytes;
      part.counts.digest += hash64(block);
    }
  }
  write_footer(writer, part.counts);
  part.sum = writer.finish();
  return part;
}

namespace {

// Reads a part block by block.
class Reading {
 public:
  // expected: what it must be, if that is known.
  Reading(BlockReader& reader, const PartUser& user, const Part* expected)
      : reader_(reader), user_(user), expected_(expected) {}

  Part read(const std::string& name) {
    const BlockReader::Block header = reader_.next();
    if (header.kind != BlockKind::header) reader_.fail("it does not begin with a header");
    part_.info = from_json(header.payload, name, [](const Json& json) { return info_from(json); });
    check(expected_ == nullptr || part_.info == expected_->info);
    for (;;) {
      const BlockReader::Block block = reader_.next();
      if (block.kind == BlockKind::footer) {
        check_footer(block.payload);
        part_.sum = reader_.end();
        check(expected_ == nullptr ||
              (part_.counts == expected_->counts && part_.sum == expected_->sum));
        return part_;
      }
      take(block);
    }
  }

 private:
  void check(bool expected) const {
    if (!expected) reader_.fail("it is not the part that the manifest lists");
  }

  void take(const BlockReader::Block& block) {
    const bool dense = part_.info.kind == PartInfo::Kind::dense;
    if (dense != (block.kind == BlockKind::dense)) reader_.fail("a block of another kind of part");
    switch (block.kind) {
      case BlockKind::removed: take_removed(block.payload); break;
      case BlockKind::rows: take_rows(block.payload); break;
      case BlockKind::dense: take_dense(block.payload); break;
      default: reader_.fail("a second header");
    }
  }

  void take_removed(std::string_view payload) {
    if (part_.info.kind != PartInfo::Kind::delta || part_.counts.rows != 0) {
      reader_.fail("removed ids where none belong");
    }
    if (payload.size() % sizeof(Id) != 0) reader_.fail("a block of ids is cut");
    ids_.resize(payload.size() / sizeof(Id));
    if (!ids_.empty()) std::memcpy(ids_.data(), payload.data(), payload.size());
    for (const Id id : ids_) check_slot(slot_of(id));
    part_.counts.removed += ids_.size();
    if (user_.removed) user_.removed(ids_);
  }

  void check_slot(int slot) {
    if (slot < part_.info.slots.first || slot >= part_.info.slots.last) {
      reader_.fail(fmt::format("rows of slot {}", slot));
    }
  }

  void take_rows(std::string_view payload) {
    while (!payload.empty()) {
      SlotHead head{};
      if (payload.size() < sizeof head) reader_.fail("a block of rows is cut");
      std::memcpy(&head, payload.data(), sizeof head);
      payload.remove_prefix(sizeof head);
      const std::uint64_t bytes = std::uint64_t{head.rows} * (sizeof(Id) + part_.info.row_bytes);
      if (head.slot >= kSlots || head.rows == 0 || bytes > payload.size()) {
        reader_.fail("a block of rows is cut");
      }
      fill(head, payload.substr(0, bytes));
      payload.remove_prefix(bytes);
      part_.counts.rows += head.rows;
      part_.counts.digest += digest_of(block_);
      if (user_.rows) user_.rows(block_);
    }
  }

  // The rows of one slot, whose ids must rise from block to block.
  void fill(const SlotHead& head, std::string_view bytes) {
    block_.slot = static_cast<int>(head.slot);
    check_slot(block_.slot);
    block_.ids.resize(head.rows);
    std::memcpy(block_.ids.data(), bytes.data(), head.rows * sizeof(Id));
    block_.records.assign(bytes.substr(head.rows * sizeof(Id)));
    for (const Id id : block_.ids) {
      const std::pair<int, Id> place(block_.slot, id);
      if (slot_of(id) != block_.slot || (any_ && place <= last_)) {
        reader_.fail(fmt::format("row {} is out of place", id));
      }
      any_ = true;
      last_ = place;
    }
  }

  // All bytes of all entries, in order.
  void take_dense(std::string_view payload) {
    DenseHead head{};
    if (payload.size() <= sizeof head) reader_.fail("a block of a parameter is cut");
    std::memcpy(&head, payload.data(), sizeof head);
    skip_complete();
    const std::string_view bytes = payload.substr(sizeof head);
    if (head.entry != entry_ || head.entry >= part_.info.dense.size() || head.offset != offset_ ||
        bytes.size() > part_.info.dense[entry_].bytes() - offset_) {
      reader_.fail("a block of a parameter is out of place");
    }
    offset_ += bytes.size();
    part_.counts.bytes += bytes.size();
    part_.counts.digest += hash64(payload);
    if (user_.dense) user_.dense(part_.info.dense[entry_], head.offset, bytes);
  }

  void skip_complete() {
    while (entry_ < part_.info.dense.size() && offset_ == part_.info.dense[entry_].bytes()) {
      ++entry_;
      offset_ = 0;
    }
  }

  void check_footer(std::string_view payload) {
    FooterNumbers numbers{};
    if (payload.size() != sizeof numbers) reader_.fail("its last block is cut");
    std::memcpy(&numbers, payload.data(), sizeof numbers);
    const PartCounts said{numbers.rows, numbers.removed, numbers.bytes, numbers.digest};
    skip_complete();
    if (said != part_.counts || entry_ != part_.info.dense.size()) {
      reader_.fail("it does not hold what its last block counts");
    }
  }

  BlockReader& reader_;
  const PartUser& user_;
  const Part* const expected_;
  Part part_;
  RowBlock block_;
  std::vector<Id> ids_;
  bool any_ = false;
  std::pair<int, Id> last_ = {};
  std::size_t entry_ = 0;     // of dense ones, the next byte's
  std::uint64_t offset_ = 0;  // in it
};

}  // namespace

Part read_part(Source source, const std::string& name, const PartUser& user) {
  BlockReader reader(std::move(source), name);
  return Reading(reader, user, nullptr).read(name);
}

void read_part(const std::string& folder, const Part& part, const PartUser& user) {
  const std::string path = folder + "/" + part.file;
  BlockReader reader(file_source(path), path);
  Reading(reader, user, &part).read(path);
}

}  // namespace trireme::distributed::checkpoint
