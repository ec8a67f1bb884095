#pragma once

// The connections of the leader to all servers of a job.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/control/checkpoint_coordinator.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {

// For one thread.
class ServerClients {
 public:
  // Whether the server of this place at this address is known to have failed. Called while waiting
  // for an answer.
  using Gone = std::function<bool(std::size_t server, const std::string& address)>;
  // The network outlives the server_clients.
  ServerClients(Network& network, Security security, Gone gone)
      : network_(network), security_(std::move(security)), gone_(std::move(gone)) {}

  // Sets the servers by place; existing connections are kept. Orders carry the epoch.
  void aim(const std::vector<std::string>& addresses, std::uint64_t epoch);
  std::size_t size() const { return servers_.size(); }

  // Sends requests to all servers and returns the answers by place. Errors: Unavailable; Deposed;
  // io from a server.
  std::vector<Frame> ask_all(const std::function<Frame(std::size_t server)>& request,
                             Milliseconds timeout);
  Frame ask(std::size_t server, Frame request, Milliseconds timeout);

  void set_map(const SlotMap& map);
  void set_map(std::size_t server, const SlotMap& map);
  void set_members(std::uint32_t generation, std::size_t members);
  // The synchronous steps that the first `servers` servers have all applied.
  struct Progress {
    std::uint64_t step = 0, updates = 0;
  };
  Progress progress(int servers);
  // A new server continues from there.
  void begin_at(int server, std::uint32_t generation, std::size_t members,
                const Progress& progress);
  // The highest generation of members that a server knows.
  std::uint32_t generation();
  int servers() const { return static_cast<int>(servers_.size()); }
  std::uint64_t rows();  // of all tables on all servers

 private:
  Frame answer(std::size_t server, Pending& pending) const;

  Network& network_;
  const Security security_;
  const Gone gone_;
  std::uint64_t epoch_ = 0;
  std::vector<std::shared_ptr<Connection>> servers_;
};

Frame order(Op op, std::string payload = "");
// The sum of the numbers after a word in the statistics of a server: "step 12", "memory 4096".
// Errors: data if there are none.
std::uint64_t number_of(const std::string& statistics, const std::string& word);

}  // namespace trireme::distributed
