#pragma once

// A call of a client to many servers: cut into parts by the slot map, sent to all at once, and
// repeated until every part has an answer. A request is not repeated while its stream lives: on a
// slow link, repeated requests would make the server send answers that the client drops. For the
// files of the client.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "distributed/server/client.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {

// Shared by the calls of one client. For one thread.
class Servers {
 public:
  Servers(Network& network, const ClientOptions& options);

  const ClientOptions& options() const { return options_; }
  // Read at its first use. Errors: as options().view.
  const ServerView& view() const;
  // Reads the map again. No change if that fails.
  void refresh();
  std::shared_ptr<Connection> connection(int server);
  // Sends all declarations of tables to a server.
  void declare_tables(int server, Deadline deadline);

  std::map<std::uint32_t, std::string> tables;  // declarations
  ClientStatistics statistics;

 private:
  Network& network_;
  const ClientOptions options_;
  mutable std::optional<ServerView> view_;
  std::map<std::string, std::shared_ptr<Connection>> connections_;
};

class Call {
 public:
  // The work of a call: units, such as ids, in an order that allows cutting those of a server into
  // parts.
  struct Work {
    const char* what = "";
    std::size_t units = 0;
    // Returns the server of each unit.
    std::function<std::vector<int>(const ServerView&)> places;
    // Whether a part may begin with this unit if the previous unit is on the same server.
    std::function<bool(std::size_t unit)> may_begin = [](std::size_t) { return true; };
    std::size_t unit_bytes = 0;  // in a frame
    // Makes the request for these units; `part` numbers the parts of the call.
    std::function<Frame(std::span<const std::uint32_t> units, std::uint32_t part)> build;
    std::function<void(std::span<const std::uint32_t> units, const Frame& answer)> take =
        [](std::span<const std::uint32_t>, const Frame&) {};
    // A part goes to one server or to none; the caller handles a change of the map
    // (StaleGeneration).
    bool fixed = false;
  };

  // Sends all parts. Throws nothing; wait() reports errors.
  Call(Servers& servers, Work work);
  // Waits for the answers of all parts. Errors: Unavailable at the deadline, then it may be called
  // again; StaleGeneration; usage, data, io from servers.
  void wait(Deadline deadline);
  bool done() const { return parts_.empty(); }

 private:
  struct Part {
    int server = -1;
    std::vector<std::uint32_t> units;
    Frame frame;
    Pending pending;
    std::string address = {};  // that it was sent to
    bool misplaced = false;    // by the answer of the server
  };
  void cut(std::span<const std::uint32_t> units);
  void send(Part& part, Deadline deadline);
  // Waits until `patience` at most. Returns whether the part is complete.
  bool collect(Part& part, Deadline patience, Deadline deadline);
  void forget_moved();
  void cut_again();

  Servers& servers_;
  const Work work_;
  std::vector<Part> parts_;    // without an answer
  std::uint32_t count_ = 0;    // of all parts so far
  std::uint32_t version_ = 0;  // of the map that they were cut by
  std::string last_error_;
};

}  // namespace trireme::distributed
