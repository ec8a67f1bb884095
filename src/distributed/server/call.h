#pragma once

// One call of a client to many servers: cut into parts by the slot map, sent to all at once, asked
// again until every part has an answer. For the files of the client.

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

// What calls of one client share. Used by one thread.
class Servers {
 public:
  Servers(Network& network, const ClientOptions& options);

  const ClientOptions& options() const { return options_; }
  // Read when it is first asked for. Errors: as of options().view.
  const ServerView& view() const;
  // Reads the map again. Nothing changes if that fails.
  void refresh();
  std::shared_ptr<Connection> connection(int server);
  // Tells a server of all tables that were declared.
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
  // What a call is about: units, such as ids, in an order in which those of a server may be cut
  // into parts.
  struct Work {
    const char* what = "";
    std::size_t units = 0;
    // The server of each unit.
    std::function<std::vector<int>(const ServerView&)> places;
    // Whether a part may begin with this unit, where the one before it is the same server's.
    std::function<bool(std::size_t unit)> may_begin = [](std::size_t) { return true; };
    std::size_t unit_bytes = 0;  // in a frame
    // The request for these units; `part` counts the parts of the call.
    std::function<Frame(std::span<const std::uint32_t> units, std::uint32_t part)> build;
    std::function<void(std::span<const std::uint32_t> units, const Frame& answer)> take =
        [](std::span<const std::uint32_t>, const Frame&) {};
    // A part goes to one server or to none: what another map says is for the caller to decide
    // (StaleGeneration).
    bool fixed = false;
  };

  // Sends all parts. Errors: none; what is wrong shows in wait().
  Call(Servers& servers, Work work);
  // Until every part has its answer. Errors: Unavailable, at the deadline, after which it may be
  // called again; StaleGeneration; usage, data, io: what a server says.
  void wait(Deadline deadline);
  bool done() const { return parts_.empty(); }

 private:
  struct Part {
    int server = -1;
    std::vector<std::uint32_t> units;
    Frame frame;
    Pending pending;
    bool misplaced = false;  // the server says so
  };
  void cut(std::span<const std::uint32_t> units);
  void send(Part& part, Deadline deadline);
  // Whether the part is done.
  bool collect(Part& part, Deadline deadline);
  void cut_again();

  Servers& servers_;
  const Work work_;
  std::vector<Part> parts_;    // that have no answer
  std::uint32_t count_ = 0;    // of all parts there were
  std::uint32_t version_ = 0;  // of the map that they were cut by
  std::string last_error_;
};

}  // namespace trireme::distributed
