// Slots and blocks as bytes, for checkpoints and other servers; and statistics of a shard.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "distributed/server/shard_parts.h"

namespace trireme::distributed {
namespace {

constexpr std::uint64_t kPage = 1u << 20;

struct BlockHead {
  std::int32_t slot;
  std::uint32_t rows;
};

void check_range(const SlotRange& slots) {
  if (slots.first < 0 || slots.last < slots.first || slots.last > kSlots) {
    fail_usage(
        fmt::format("slots [{}, {}) are not a range of [0, {})", slots.first, slots.last, kSlots));
  }
}

template <class T>
void append_all(Payload& payload, const std::vector<T>& values) {
  if (!values.empty()) std::copy(values.begin(), values.end(), payload.extend<T>(values.size()));
}

SlotRange requested_slots(const Frame& request) {
  PayloadReader reader(request.payload);
  const auto slots = reader.value<SlotRange>();
  reader.end();
  check_range(slots);
  return slots;
}

}  // namespace

// Consecutive blocks of rows.
struct Shard::SlotsPage {
  Payload content;
  std::uint32_t rows = 0, blocks = 0;
};

// Reads the requested number of rows of a slot. Returns the last id if there are more. Errors: io
// if all of these were evicted meanwhile.
std::optional<Id> Shard::read_slot(Table& table, int slot, const ReadOptions& options,
                                   SlotsPage& page) {
  std::optional<Id> last;
  const bool whole = table.rows.read(slot, slot + 1, options, [&](RowBlock block) {
    const BlockHead begin = {block.slot, static_cast<std::uint32_t>(block.ids.size())};
    std::string bytes(reinterpret_cast<const char*>(&begin), sizeof begin);
    bytes.append(reinterpret_cast<const char*>(block.ids.data()), 8 * block.ids.size());
    page.content.append(bytes + block.records);
    page.rows += begin.rows;
    ++page.blocks;
    last = block.ids.back();
  });
  if (!whole && !last) fail_io(fmt::format("rows of slot {} went while they were read", slot));
  return whole ? std::nullopt : last;
}

// The slots from the first one on, until the answer is full.
Frame Shard::read_slots(const Frame& request) {
  Table& table = table_of(request.header);
  PayloadReader reader(request.payload);
  const auto asked = reader.value<SlotsAsked>();
  reader.end();
  check_range(asked.slots);
  const std::uint64_t max_bytes = std::min(asked.bytes == 0 ? kPage : asked.bytes, kLargestPage);
  const std::uint64_t row = sizeof(Id) + table.rows.row_bytes();
  SlotsHead head{.slots = {asked.slots.first, asked.slots.first},
                 .parts = asked.inside != 0 ? kInside : 0};
  SlotsPage page;
  ReadOptions options;
  if (asked.inside != 0) options.after = asked.after;
  while (head.slots.last < asked.slots.last && page.content.size() < max_bytes) {
    options.max_rows = (max_bytes - page.content.size()) / row + 1;
    const std::optional<Id> until = read_slot(table, head.slots.last++, options, page);
    options.after.reset();
    if (!until) continue;
    head.parts |= kUnfinished;
    head.until = *until;
    break;
  }
  // The first of these also has everything of a slot besides rows.
  const int begun = head.slots.first + (asked.inside != 0 ? 1 : 0);
  const auto entries = table.dedup.read(begun, std::max(begun, head.slots.last));
  head.dedup_entries = static_cast<std::uint32_t>(entries.size());
  head.blocks = page.blocks;
  Frame answer = answer_to(request);
  answer.header.count = page.rows;
  *answer.payload.extend<SlotsHead>(1) = head;
  append_all(answer.payload, entries);
  {
    const std::lock_guard lock(steps_mutex_);
    append_all(answer.payload, std::vector(slot_steps_.begin() + begun,
                                           slot_steps_.begin() + std::max(begun, head.slots.last)));
  }
  for (const Payload::Piece& piece : page.content.pieces())
    answer.payload.append(piece.bytes, piece.owner);
  if (answer.payload.size() + kHeaderBytes > kLargestFrame) {
    fail_usage(
        fmt::format("slots [{}, {}) have {} bytes with marks of pushes, more than a frame "
                    "has room for",
                    head.slots.first, head.slots.last, answer.payload.size()));
  }
  return answer;
}

// Slots move by orders of the leader, one after another. So orders of a deposed leader cannot
// interfere with those of the next one.
Frame Shard::move_slots(const Frame& request) {
  const std::lock_guard moves(moves_mutex_);
  if (!obeys(request.header.sequence)) {
    const auto lock = shared();
    return answer_to(request, Code::stale);
  }
  const auto lock = shared();
  if (!tables_.contains(request.header.table)) return answer_to(request, Code::undeclared);
  const bool come = static_cast<Op>(request.header.op) == Op::insert_slots;
  return come ? insert_slots(request) : drop_slots(request);
}

// Slots of this server are in use.
void Shard::check_not_owned(int first, int last, const char* what) const {
  for (int slot = first; slot < last; ++slot) {
    if (owned_[static_cast<std::size_t>(slot)]) {
      fail_usage(fmt::format("slot {} is this server's by map {}, and is not {}", slot,
                             map_.version(), what));
    }
  }
}

// Accepts the answer of read_slots.
Frame Shard::insert_slots(const Frame& request) {
  Table& table = table_of(request.header);
  PayloadReader reader(request.payload);
  const auto head = reader.value<SlotsHead>();
  check_range(head.slots);
  check_not_owned(head.slots.first, head.slots.last, "replaced");
  const int begun = head.slots.first + ((head.parts & kInside) != 0 ? 1 : 0);
  const int end = std::max(begun, head.slots.last);
  std::vector<DedupEntry> entries_copy;
  std::vector<std::uint64_t> steps_copy;
  const auto entries = reader.values(head.dedup_entries, entries_copy);
  const auto steps = reader.values(static_cast<std::size_t>(end - begun), steps_copy);
  for (const DedupEntry& entry : entries) {
    const bool here =
        entry.slot == DedupEntry::kNoSlot || (entry.slot >= begun && entry.slot < end);
    if (!here || entry.kind >= Source::kKinds) {
      fail_data("slots with marks that are none of theirs");
    }
  }
  for (std::uint32_t i = 0; i < head.blocks; ++i) {
    const auto begin = reader.value<BlockHead>();
    RowBlock block;
    std::vector<Id> ids;
    const auto all = reader.values(begin.rows, ids);
    block.slot = begin.slot;
    block.ids.assign(all.begin(), all.end());
    block.records = reader.text(begin.rows * table.rows.row_bytes());
    table.rows.insert(block);
  }
  reader.end();
  table.dedup.drop(begun, end);
  table.dedup.insert(entries);
  const std::lock_guard lock(steps_mutex_);
  std::copy(steps.begin(), steps.end(), slot_steps_.begin() + begun);
  return answer_to(request);
}

Frame Shard::drop_slots(const Frame& request) {
  Table& table = table_of(request.header);
  const SlotRange slots = requested_slots(request);
  check_not_owned(slots.first, slots.last, "dropped");
  table.rows.drop(slots.first, slots.last);
  table.dedup.drop(slots.first, slots.last);
  return answer_to(request);
}

Frame Shard::dense_read(const Frame& request) {
  const auto dense = dense_.find(request.header.table);
  const auto block = block_of(request.header);
  if (block == nullptr) return answer_to(request, Code::wrong_map);
  Frame answer = answer_to(request);
  answer.payload.append(dense->second->bytes);
  std::string size;
  put(size, static_cast<std::uint64_t>(block->size()));
  answer.payload.append(size + block->read());
  return answer;
}

// Accepts the answer of dense_read.
Frame Shard::dense_insert(const Frame& request) {
  check_number(request.header.table);
  PayloadReader reader(request.payload);
  const DenseDeclaration declaration = dense_declaration(reader);
  const auto size = reader.value<std::uint64_t>();
  if (size > reader.left() / sizeof(float))
    fail_data("a block of a dense parameter that ends too early");
  const auto block =
      std::make_shared<DenseBlock>(declaration, std::vector<float>(size), options_.sources);
  block->insert(reader);
  std::string bytes = to_bytes(declaration);
  const auto lock = alone();
  if (!obey(request.header.sequence)) return answer_to(request, Code::stale);
  std::unique_ptr<Dense>& dense = dense_[request.header.table];
  if (dense == nullptr) dense = std::make_unique<Dense>(Dense{declaration, bytes, {}});
  if (dense->bytes != bytes)
    fail_usage("a block of a dense parameter that has been declared with other options");
  dense->blocks[request.header.count] = block;
  return answer_to(request);
}

Frame Shard::dense_drop(const Frame& request) {
  const auto lock = alone();
  if (!obey(request.header.sequence)) return answer_to(request, Code::stale);
  const auto dense = dense_.find(request.header.table);
  if (dense != dense_.end()) dense->second->blocks.erase(request.header.count);
  return answer_to(request);
}

Frame Shard::digest(const Frame& request) {
  const SlotRange slots = requested_slots(request);
  Frame answer = answer_to(request);
  *answer.payload.extend<std::uint64_t>(1) =
      table_of(request.header).rows.digest(slots.first, slots.last);
  return answer;
}

Frame Shard::tell(const Frame& request) {
  Frame answer = answer_to(request);
  if (static_cast<Op>(request.header.op) == Op::get_map) {
    answer.payload.append(map_.to_bytes());
    return answer;
  }
  const Counters& c = *counters_;
  const auto [applied, updates, generation] = [&] {
    const std::lock_guard lock(steps_mutex_);
    return std::tuple(applied_, updates_, steps_.generation());
  }();
  std::string text = fmt::format(
      "step {}\nupdates {}\ngeneration {}\nlookups {}\npushes {}\nrows_read {}\nrows_pushed "
      "{}\nduplicates "
      "{}\nwrong_map {}\nstale "
      "{}\nsteps {}\n",
      applied, updates, generation, c.lookups.load(), c.pushes.load(), c.rows_read.load(),
      c.rows_pushed.load(), c.duplicates.load(), c.wrong_map.load(), c.stale.load(),
      c.steps.load());
  for (const auto& [number, table] : tables_) {
    const TableStatistics s = table->rows.statistics();
    text += fmt::format(
        "table{{number={}}} rows {} on_disk {} not_admitted {} dropped {} memory {}\n", number,
        s.rows, s.on_disk, s.not_admitted, s.dropped, s.memory + table->dedup.memory());
  }
  answer.payload.append(std::move(text));
  return answer;
}

}  // namespace trireme::distributed
