#pragma once

// Moves slots of tables and blocks of dense parameters from one server to another, while trainers
// go on. What is on the way is refused for that time, which is kept short by moving little at once;
// trainers ask again.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "distributed/control/fleet.h"

namespace trireme::distributed {

// Slots [first, last), all of one server, to another one.
struct SlotMove {
  int first = 0, last = 0, from = 0, to = 0;
  bool operator==(const SlotMove&) const = default;
};
std::string text_of(const SlotMove& move);
SlotMove slot_move_of(const std::string& text);  // Errors: data

// How much to move next, after a move of about `bytes` refused its slots for so long: as much as
// takes 25 ms by that, since a slow machine or link makes the same move long; at most `most`, at
// least a 64th of it, and no more than twice the last.
std::uint64_t next_bytes(std::uint64_t bytes, double seconds, std::uint64_t most);

// What all servers have been told of, together.
struct Declared : Declarations {
  // All tables on all servers, and all blocks of dense parameters on one of them: not while
  // trainers still declare them.
  bool whole = true;
};
Declared together(std::vector<Declarations> of_each_server);

class Mover {
 public:
  // The fleet outlives the mover.
  explicit Mover(Fleet& fleet) : fleet_(fleet) {}

  Declared declarations();
  // The next slots on the way to a number of servers, nothing if all are where they should be; as
  // many as have about `bytes`.
  std::optional<SlotMove> next(const SlotMap& map, int servers, std::uint64_t bytes);

  // Steps of a move, in this order; any may be done again, and all are, by the next leader, after
  // one has died. First room is made: remains of a move that was not finished go.
  void prepare(const SlotMove& move);
  // The one that gives learns the new map: from then on nobody changes these slots. The rows go
  // over with all that belongs to them. How many.
  std::uint64_t copy(const SlotMove& move, const SlotMap& next);
  // Whether all that was done: the one that takes knows the map, which it learns when it has the
  // rows.
  bool has_arrived(const SlotMove& move, const SlotMap& next);
  // After all know the map: the rows go where they came from.
  void drop(const SlotMove& move);

  // Blocks of dense parameters from where they are among `before` servers to where they are among
  // the map's, which all servers learn first.
  void move_dense(int before, const SlotMap& next);
  // After all go by the new number, the fleet too: they go where they came from.
  void drop_dense(int before, int servers);

 private:
  using MovedBlock = std::function<void(const std::function<Frame(Op)>& request, int from, int to)>;
  void for_moved_blocks(int before, int servers, const MovedBlock& each);
  Frame ask(int server, Frame request);
  void make_room(const SlotMove& move, std::uint32_t table, const std::string& declaration);
  std::uint64_t copy_table(const SlotMove& move, std::uint32_t table);

  Fleet& fleet_;
  std::set<std::uint32_t> prepared_;  // tables
};

}  // namespace trireme::distributed
