#pragma once

// Exports of everything that parameter servers hold, for serving: docs/reference/formats/export.md
// has the files. The leader makes them while servers do not change, from the state that a
// checkpoint has just saved.
//
// - FOLDER/TABLE/export.json ...: of each table; servers write the rows
// - FOLDER/dense.safetensors: all dense parameters, which the leader reads from the servers

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "distributed/control/server_clients.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {

struct PublisherOptions {
  std::string folder = {};   // of exports, on a shared file system; empty: there are none
  double every = 0;          // least seconds between exports
  std::int64_t deltas = 24;  // of a table between two bases
};

// The result of an export.
struct Published {
  std::int64_t number = 0;  // the highest of the exports of tables; 0 without tables
  bool base = true;         // all rows, not only changed ones
  std::size_t tables = 0;
  std::uint64_t rows = 0;   // written and removed
  std::uint64_t bytes = 0;  // with dense parameters
};
// "export 3: 2 tables, 12345 rows changed, 1.2 MB in 0.05 s"
std::string line_of(const Published& what, double seconds);

// The name of a table as the name of a folder: characters other than letters, digits, -, _ and dots
// after these become % and two hexadecimal digits. Long names are cut and end with a hash.
std::string folder_name(const std::string& table);

// For one thread.
class Publisher {
 public:
  // The fleet outlives the publisher.
  Publisher(ServerClients& server_clients, PublisherOptions options)
      : server_clients_(server_clients), options_(std::move(options)) {}

  // A leadership begins: the next export is due after its interval from now.
  void begin();
  // Servers loaded a checkpoint and know of no changes: the next export is a base.
  void start_anew() { anew_ = true; }
  // Whether one is due with the present checkpoint; with the last one of a job always.
  bool due(bool last) const;

  // Exports everything that servers hold; it must not change meanwhile. `note` describes it.
  // `check` throws if another master leads; it is called before anything is published. The next
  // export repeats a failed one. Errors: Unavailable; io; as `check`; usage, data.
  Published publish(const Declarations& declared, const SlotMap& map, const std::string& note,
                    const std::function<void()>& check);

 private:
  using Clock = std::chrono::steady_clock;
  void publish_table(std::uint32_t number, const TableOptions& table, const std::string& note,
                     const std::function<void()>& check, Published& all);
  void publish_dense(const Declarations& declared, const SlotMap& map, const std::string& note,
                     const std::function<void()>& check, Published& all);
  void read_dense(const DenseBlockPlace& block, int server, const SlotMap& map, float* to);

  ServerClients& server_clients_;
  const PublisherOptions options_;
  bool anew_ = false;
  Clock::time_point next_ = {};
};

}  // namespace trireme::distributed
