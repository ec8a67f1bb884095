#include "distributed/control/mover.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "distributed/control/orders.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kMove{20000};      // in which a server answers
constexpr int kMaxSlots = 512;            // of a move
constexpr double kTargetRefusal = 0.025;  // seconds for which slots of a move should be refused

Frame table_order(Op op, std::uint32_t table) {
  Frame frame = order(op);
  frame.header.table = table;
  return frame;
}

}  // namespace

std::string text_of(const SlotMove& move) {
  std::ostringstream text;
  text << move.first << ' ' << move.last << ' ' << move.from << ' ' << move.to;
  return text.str();
}

SlotMove slot_move_of(const std::string& text) {
  std::istringstream stream(text);
  SlotMove move;
  std::string more;
  if (!(stream >> move.first >> move.last >> move.from >> move.to) || stream >> more ||
      move.first < 0 || move.last < move.first || move.last > kSlots || move.from < 0 ||
      move.to < 0) {
    fail_data("\"" + text + "\" is no move of slots");
  }
  return move;
}

std::uint64_t next_bytes(std::uint64_t bytes, double seconds, std::uint64_t max) {
  const double scale = std::min(kTargetRefusal / std::max(seconds, 1e-6), 2.0);
  return std::clamp(static_cast<std::uint64_t>(scale * static_cast<double>(bytes)), max / 64 + 1,
                    std::max(max, max / 64 + 1));
}

Frame Mover::ask(int server, Frame request) {
  return server_clients_.ask(static_cast<std::size_t>(server), std::move(request), kMove);
}

Declared together(std::vector<Declarations> of_each_server) {
  Declared all;
  std::set<std::size_t> counts;
  std::set<std::pair<std::uint32_t, std::uint32_t>> there;
  for (Declarations& declared : of_each_server) {
    counts.insert(declared.tables.size());
    for (const auto& [number, blocks] : declared.blocks) {
      for (const std::uint32_t block : blocks) there.emplace(number, block);
    }
    all.tables.merge(declared.tables);
    all.dense.merge(declared.dense);
  }
  all.whole = counts.size() == 1 && *counts.begin() == all.tables.size() &&
              there.size() == blocks_of(all.dense).size();
  return all;
}

Declared Mover::declarations() {
  std::vector<Declarations> all;
  for (const Frame& answer :
       server_clients_.ask_all([](std::size_t) { return order(Op::describe); }, kMove)) {
    all.push_back(declarations_of(answer.payload.text()));
  }
  return together(std::move(all));
}

std::optional<SlotMove> Mover::next(const SlotMap& map, int servers, std::uint64_t bytes) {
  const SlotMap goal = map.moved_to(servers);
  int first = 0;
  while (first < kSlots && map.owner(first) == goal.owner(first)) ++first;
  if (first == kSlots) return std::nullopt;
  SlotMove move{first, first + 1, map.owner(first), goal.owner(first)};
  int owned = 0;
  for (int slot = 0; slot < kSlots; ++slot) owned += map.owner(slot) == move.from ? 1 : 0;
  const std::string text = ask(move.from, order(Op::statistics)).payload.text();
  const std::uint64_t of_slot =
      number_of(text, "memory") / static_cast<std::uint64_t>(std::max(owned, 1)) + 1;
  const int max = static_cast<int>(std::clamp<std::uint64_t>(bytes / of_slot, 1, kMaxSlots));
  while (move.last < kSlots && move.last - move.first < max && map.owner(move.last) == move.from &&
         goal.owner(move.last) == move.to) {
    ++move.last;
  }
  return move;
}

void Mover::make_room(const SlotMove& move, std::uint32_t table, const std::string& declaration) {
  Frame declare = table_order(Op::declare_table, table);
  declare.payload = Payload(declaration);
  ask(move.to, std::move(declare));
  Frame drop = table_order(Op::drop_slots, table);
  *drop.payload.extend<SlotRange>(1) = {move.first, move.last};
  ask(move.to, std::move(drop));
  prepared_.insert(table);
}

void Mover::prepare(const SlotMove& move) {
  prepared_.clear();
  for (const auto& [table, declaration] : declarations().tables) {
    make_room(move, table, declaration);
  }
}

std::uint64_t Mover::copy_table(const SlotMove& move, std::uint32_t table) {
  std::uint64_t moved = 0;
  SlotsAsked asked{.slots = {move.first, move.last}};
  while (asked.slots.first < move.last) {
    Frame read = table_order(Op::read_slots, table);
    *read.payload.extend<SlotsAsked>(1) = asked;
    const Frame rows = ask(move.from, std::move(read));
    const auto head = PayloadReader(rows.payload).value<SlotsHead>();
    const bool unfinished = (head.parts & kUnfinished) != 0;
    const bool further = !unfinished || head.slots.last > asked.slots.first + 1 ||
                         asked.inside == 0 || head.until > asked.after;
    if (head.slots.first != asked.slots.first || head.slots.last <= head.slots.first || !further)
      fail_data("a server that gives other slots");
    moved += rows.header.count;
    Frame insert = table_order(Op::insert_slots, table);
    insert.payload = rows.payload;
    ask(move.to, std::move(insert));
    asked.slots.first = unfinished ? head.slots.last - 1 : head.slots.last;
    asked.inside = unfinished ? 1 : 0;
    asked.after = head.until;
    asked.bytes =
        unfinished ? kLargestPage : 0;  // each page of a slot looks through all of its rows
  }
  return moved;
}

std::uint64_t Mover::copy(const SlotMove& move, const SlotMap& next) {
  server_clients_.set_map(static_cast<std::size_t>(move.from), next);
  const Frame answer = ask(move.from, order(Op::describe));
  std::uint64_t moved = 0;
  for (const auto& [table, declaration] : declarations_of(answer.payload.text()).tables) {
    if (!prepared_.contains(table)) make_room(move, table, declaration);  // declared meanwhile
    moved += copy_table(move, table);
  }
  return moved;
}

bool Mover::has_arrived(const SlotMove& move, const SlotMap& next) {
  return SlotMap::from_bytes(ask(move.to, order(Op::get_map)).payload.text()) == next;
}

void Mover::drop(const SlotMove& move) {
  for (const auto& [table, declaration] : declarations().tables) {
    Frame drop = table_order(Op::drop_slots, table);
    *drop.payload.extend<SlotRange>(1) = {move.first, move.last};
    ask(move.from, std::move(drop));
  }
}

void Mover::for_moved_blocks(int before, int servers, const MovedBlock& each) {
  const std::vector<DenseBlockPlace> blocks = blocks_of(declarations().dense);
  const std::vector<int> from = spread_by_size(blocks, before);
  const std::vector<int> to = spread_by_size(blocks, servers);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto request = [&](Op op) {
      Frame frame = table_order(op, blocks[i].parameter);
      frame.header.count = blocks[i].block;
      return frame;
    };
    if (from[i] != to[i]) each(request, from[i], to[i]);
  }
}

void Mover::move_dense(int before, const SlotMap& next) {
  server_clients_.set_map(next);
  for_moved_blocks(before, next.servers(), [&](const auto& request, int from, int to) {
    const Frame content = ask(from, request(Op::dense_read));
    Frame insert = request(Op::dense_insert);
    insert.payload = content.payload;
    ask(to, std::move(insert));
  });
}

void Mover::drop_dense(int before, int servers) {
  for_moved_blocks(before, servers, [&](const auto& request, int from, int) {
    if (from < servers) ask(from, request(Op::dense_drop));
  });
}

}  // namespace trireme::distributed
