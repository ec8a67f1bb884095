#pragma once

// Exports of all that parameter servers hold, as the leader of a job makes them for serving:
// docs/reference/formats/export.md has the files. They are made while servers stand still, of what
// a checkpoint has just saved.
//
//   FOLDER/TABLE/export.json ...   of each table; servers write the rows
//   FOLDER/dense.safetensors       all dense parameters, which the leader reads from the servers

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "distributed/control/fleet.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {

struct PublisherOptions {
  std::string folder =
      {};            // of exports, on a file system that all servers see; empty: there are none
  double every = 0;  // seconds from one to the next, at least
  std::int64_t deltas = 24;  // of a table between two bases
};

// What was exported.
struct Published {
  std::int64_t number = 0;  // of the tables' exports, the highest; 0 without tables
  bool base = true;         // all rows, not those that changed
  std::size_t tables = 0;
  std::uint64_t rows = 0;   // written, and removed
  std::uint64_t bytes = 0;  // with dense parameters
};
// "export 3: 2 tables, 12345 rows changed, 1.2 MB in 0.05 s"
std::string line_of(const Published& what, double seconds);

// The name of a table as that of a folder: what is not a letter, a digit, - or _, or a dot behind
// one of these, becomes % and two hexadecimal digits. Long names are cut and end with a hash.
std::string folder_name(const std::string& table);

// Used by one thread.
class Publisher {
 public:
  // The fleet outlives the publisher.
  Publisher(Fleet& fleet, PublisherOptions options) : fleet_(fleet), options_(std::move(options)) {}

  // A leadership has begun: the next export is due when its time has passed from now on.
  void begin();
  // Servers have loaded what they hold, and know of no changes: the next export is a base.
  void start_anew() { anew_ = true; }
  // Whether one is to be made with the checkpoint that was made now; with the last one of a job
  // always.
  bool due(bool last) const;

  // Exports what servers have been told of and hold now; nobody may change it meanwhile. `note`
  // says what it is, `check` throws if another leader has followed; it is asked before anything is
  // published. What failed is done again by the next export. Errors: Unavailable; io; as `check`;
  // usage, data.
  Published publish(const Declarations& declared, const SlotMap& map, const std::string& note,
                    const std::function<void()>& check);

 private:
  using Clock = std::chrono::steady_clock;
  void publish_table(std::uint32_t number, const TableOptions& table, const std::string& note,
                     const std::function<void()>& check, Published& all);
  void publish_dense(const Declarations& declared, const SlotMap& map, const std::string& note,
                     const std::function<void()>& check, Published& all);
  void read_dense(const DenseBlockPlace& block, int server, const SlotMap& map, float* to);

  Fleet& fleet_;
  const PublisherOptions options_;
  bool anew_ = false;
  Clock::time_point next_ = {};
};

}  // namespace trireme::distributed
