#include "distributed/control/mover.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "distributed/control/orders.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kMove{20000};      // in which a server answers
constexpr double kTargetRefusal = 0.025;  // seconds for which slots of a move should be refused

int first_misplaced(const SlotMap& map, const SlotMap& goal) {
  int first = 0;
  while (first < kSlots && map.owner(first) == goal.owner(first)) ++first;
  return first;
}

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

namespace {

constexpr const char* kServers = "servers ";

}  // namespace

std::string text_of_servers(int servers) { return kServers + std::to_string(servers); }

std::optional<int> servers_of(const std::string& change) {
  if (!change.starts_with(kServers)) return std::nullopt;
  const char* const end = change.data() + change.size();
  int servers = 0;
  const auto [rest, error] = std::from_chars(change.data() + 8, end, servers);
  if (error != std::errc() || rest != end || servers < 1 || servers > kMaxServers) {
    fail_data("\"" + change + "\" is no change of the number of servers");
  }
  return servers;
}

SlotMap map_after(const SlotMap& map, const std::string& change) {
  if (const std::optional<int> servers = servers_of(change)) {
    return *servers > map.servers() ? map.moved(0, 0, *servers - 1) : map.moved_to(*servers);
  }
  const SlotMove move = slot_move_of(change);
  return map.moved(move.first, move.last, move.to);
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

bool is_balanced(const SlotMap& map, int servers) {
  return first_misplaced(map, map.moved_to(servers)) == kSlots;
}

std::optional<SlotMove> Mover::next(const SlotMap& map, int servers, std::uint64_t bytes,
                                    int max_slots) {
  const SlotMap goal = map.moved_to(servers);
  const int first = first_misplaced(map, goal);
  if (first == kSlots) return std::nullopt;
  SlotMove move{first, first + 1, map.owner(first), goal.owner(first)};
  int owned = 0;
  for (int slot = 0; slot < kSlots; ++slot) owned += map.owner(slot) == move.from ? 1 : 0;
  const std::string text = ask(move.from, order(Op::statistics)).payload.text();
  const bool has_tables = text.find(" memory ") != std::string::npos;  // declared by a trainer
  const std::uint64_t of_slot = (has_tables ? number_of(text, "memory") : 0) /
                                    static_cast<std::uint64_t>(std::max(owned, 1)) +
                                1;
  const int max = static_cast<int>(std::clamp<std::uint64_t>(
      bytes / of_slot, 1, static_cast<std::uint64_t>(std::max(max_slots, 1))));
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
  drop_slots(move.to, table, {move.first, move.last});
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
    drop_slots(move.from, table, {move.first, move.last});
  }
}

void Mover::drop_slots(int server, std::uint32_t table, const SlotRange& slots) {
  Frame drop = table_order(Op::drop_slots, table);
  *drop.payload.extend<SlotRange>(1) = slots;
  ask(server, std::move(drop));
}

void Mover::drop_leftovers(const SlotMap& map) {
  std::vector<Declarations> all;
  for (const Frame& answer :
       server_clients_.ask_all([](std::size_t) { return order(Op::describe); }, kMove)) {
    all.push_back(declarations_of(answer.payload.text()));
  }
  std::vector<Blocks> blocks = blocks_by_server(together(all).dense, map.servers());
  blocks.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    drop_other_slots(static_cast<int>(i), all[i].tables, map);
    drop_other_blocks(static_cast<int>(i), all[i].blocks, blocks[i]);
  }
}

void Mover::drop_other_slots(int server, const std::map<std::uint32_t, std::string>& tables,
                             const SlotMap& map) {
  for (int first = 0, last = 0; first < kSlots; first = last) {
    const bool own = map.owner(first) == server;
    while (last < kSlots && (map.owner(last) == server) == own) ++last;
    if (own) continue;
    for (const auto& [table, declaration] : tables) drop_slots(server, table, {first, last});
  }
}

void Mover::drop_other_blocks(int server, const Blocks& there, const Blocks& own) {
  for (const auto& [parameter, numbers] : there) {
    const auto found = own.find(parameter);
    const std::set<std::uint32_t> kept = found == own.end()
                                             ? std::set<std::uint32_t>()
                                             : std::set(found->second.begin(), found->second.end());
    for (const std::uint32_t block : numbers) {
      if (kept.contains(block)) continue;
      Frame drop = table_order(Op::dense_drop, parameter);
      drop.header.count = block;
      ask(server, std::move(drop));
    }
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
