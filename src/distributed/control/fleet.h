#pragma once

// The leader's end of the connections to all servers of a job.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/control/cuts.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {

// Used by one thread.
class Fleet {
 public:
  // Whether the server of this place, at this address, is known to be gone. Asked while an answer
  // is waited for.
  using Gone = std::function<bool(std::size_t server, const std::string& address)>;
  // The network outlives the fleet.
  Fleet(Network& network, Security security, Gone gone)
      : network_(network), security_(std::move(security)), gone_(std::move(gone)) {}

  // The servers by place; connections to those that were there stay. Orders carry the epoch.
  void aim(const std::vector<std::string>& addresses, std::uint64_t epoch);
  std::size_t size() const { return servers_.size(); }

  // Asks all at once; the answers by place. Errors: Unavailable; Deposed; io, what a server says.
  std::vector<Frame> ask_all(const std::function<Frame(std::size_t server)>& request,
                             Milliseconds most);
  Frame ask(std::size_t server, Frame request, Milliseconds most);

  void set_map(const SlotMap& map);
  void set_map(std::size_t server, const SlotMap& map);
  void set_members(std::uint32_t generation, std::size_t members);
  // How far synchronous steps are: those that all of the first so many servers have applied.
  struct Progress {
    std::uint64_t step = 0, updates = 0;
  };
  Progress progress(int servers);
  // A server that is new goes on from there.
  void begin_at(int server, std::uint32_t generation, std::size_t members,
                const Progress& progress);
  int servers() const { return static_cast<int>(servers_.size()); }
  std::uint64_t rows();  // of all tables, that all servers have

 private:
  Frame answer(std::size_t server, Pending& pending) const;

  Network& network_;
  const Security security_;
  const Gone gone_;
  std::uint64_t epoch_ = 0;
  std::vector<std::shared_ptr<Connection>> servers_;
};

Frame order(Op op, std::string payload = "");
// The numbers behind a word of what a server tells of itself, added up: "step 12", "memory 4096".
// Errors: data, without any.
std::uint64_t number_of(const std::string& statistics, const std::string& word);

}  // namespace trireme::distributed
