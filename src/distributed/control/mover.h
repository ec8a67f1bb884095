#pragma once

// Moves slots of tables and blocks of dense parameters between servers while training continues.
// Slots in transit are refused, and trainers repeat the requests; moves are small to keep this
// short.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "distributed/control/server_clients.h"

namespace trireme::distributed {

// Moves slots [first, last) of one server to another one.
struct SlotMove {
  int first = 0, last = 0, from = 0, to = 0;
  bool operator==(const SlotMove&) const = default;
};
std::string text_of(const SlotMove& move);
SlotMove slot_move_of(const std::string& text);  // Errors: data

// The map after an unfinished change: the text of a SlotMove, or "servers 3" for another number of
// servers. Errors: data.
SlotMap map_after(const SlotMap& map, const std::string& change);
std::string text_of_servers(int servers);
// The number of servers of such a change; nothing for a SlotMove.
std::optional<int> servers_of(const std::string& change);

// Whether all slots are in place for this number of servers.
bool is_balanced(const SlotMap& map, int servers);

// The size of the next move after a move of about `bytes` refused its slots for `seconds`: the size
// that takes 25 ms by that, because a slow machine or link makes the same move long; at most
// `max`, at least a 64th of it, and at most twice the last size.
std::uint64_t next_bytes(std::uint64_t bytes, double seconds, std::uint64_t max);

// The declarations of all servers together.
struct Declared : Declarations {
  // All servers have all tables, and all blocks of dense parameters exist: not while trainers still
  // declare them.
  bool whole = true;
};
Declared together(std::vector<Declarations> of_each_server);

class Mover {
 public:
  // The fleet outlives the mover.
  explicit Mover(ServerClients& server_clients) : server_clients_(server_clients) {}

  Declared declarations();
  // The next move towards a number of servers: slots of about `bytes`, at most `max_slots`; nothing
  // if all slots are in place.
  std::optional<SlotMove> next(const SlotMap& map, int servers, std::uint64_t bytes, int max_slots);

  // The steps of a move, in this order. Any may be repeated; the next leader repeats all of them.
  // First it removes the rest of an unfinished move.
  void prepare(const SlotMove& move);
  // The source learns the new map: from then on no request changes these slots. The rows are copied
  // with their marks. Returns their number.
  std::uint64_t copy(const SlotMove& move, const SlotMap& next);
  // Whether all that is done: the destination knows the map, which it gets after the rows.
  bool has_arrived(const SlotMove& move, const SlotMap& next);
  // When all servers know the map: removes the rows from the source.
  void drop(const SlotMove& move);

  // Copies blocks of dense parameters from their places on `before` servers to those of the map,
  // which all servers get first.
  void move_dense(int before, const SlotMap& next);
  // When all processes, also the clients of the servers, use the new number: removes them from the
  // old servers.
  void drop_dense(int before, int servers);

  // Removes slots and blocks that are not theirs by the map from all servers, which know the map.
  void drop_leftovers(const SlotMap& map);

 private:
  using MovedBlock = std::function<void(const std::function<Frame(Op)>& request, int from, int to)>;
  void for_moved_blocks(int before, int servers, const MovedBlock& each);
  Frame ask(int server, Frame request);
  void make_room(const SlotMove& move, std::uint32_t table, const std::string& declaration);
  std::uint64_t copy_table(const SlotMove& move, std::uint32_t table);
  void drop_slots(int server, std::uint32_t table, const SlotRange& slots);
  void drop_other_slots(int server, const std::map<std::uint32_t, std::string>& tables,
                        const SlotMap& map);
  void drop_other_blocks(int server, const Blocks& there, const Blocks& own);

  ServerClients& server_clients_;
  std::set<std::uint32_t> prepared_;  // tables
};

}  // namespace trireme::distributed
