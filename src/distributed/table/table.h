#pragma once

// A sparse table: rows of floats by 64-bit ids, which are created at their first use, with their
// optimizer. One shard in one process; it uses no network.
//
// Thread-safe. The slots share 64 locks. A call sorts its ids by lock, takes each lock once, and
// holds it while it works on the rows of that lock. So each row is read and changed atomically, but
// the rows of one call are not a snapshot. Concurrent calls begin with different locks.
//
// A full disk is NoSpace, an Error of kind io.
//
// A call that fails has no effect, with three exceptions that change only some rows: evict(),
// remove() and drop() with an error of the disk; a lack of memory; a disk that cannot be read while
// other calls evict rows that this call had found in memory.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "distributed/table/options.h"
#include "distributed/table/rules.h"
#include "distributed/table/slots.h"

namespace trireme::distributed {

enum class Create : std::uint8_t { no, yes };

// Rows of one slot, sorted by id. The record of each row has row_bytes() of the table:
// docs/reference/formats/table.md. Equal content gives equal bytes.
struct RowBlock {
  int slot = 0;
  std::vector<Id> ids;
  std::string records;
};

// Returns the contribution of these rows to SparseTable::digest().
std::uint64_t digest_of(const RowBlock& block);

// Each consumer of changes, such as incremental checkpoints and deltas for serving, has a mark.
inline constexpr int kMarks = 4;

struct ReadOptions {
  std::optional<int> changed =
      {};  // only rows that changed since this mark was last cleared for them
  std::optional<int> clear = {};        // clear this mark for the rows that are read
  std::size_t rows = 1024;              // maximum rows in a block
  std::optional<Id> after = {};         // in the first slot, only rows with higher ids
  std::uint64_t max_rows = UINT64_MAX;  // maximum rows in total
};

// Which rows to evict. A row is evicted if either condition holds.
struct Eviction {
  double show_weight = 0, click_weight = 0;  // score = show_weight * shows + click_weight * clicks
  double below = 0;                          // rows with a lower score
  int unused_for = 0;  // rows not used for this many ticks, at most 65,534; 0: ages do not matter
};

struct TableStatistics {
  std::uint64_t rows = 0;          // in memory and on disk
  std::uint64_t on_disk = 0;       // of these
  std::uint64_t not_admitted = 0;  // ids with too few lookups
  std::uint64_t dropped = 0;       // updates of ids without a row
  std::uint64_t evicted = 0;       // rows removed by evict()
  std::uint64_t memory = 0;        // bytes of rows and index, which memory_limit limits
  bool disk_full = false;          // at the last write of rows to disk
};

class SparseTable {
 public:
  // Errors: usage for invalid options; not_found and io for the folder of cold rows.
  explicit SparseTable(const TableOptions& options);
  ~SparseTable();

  const TableOptions& options() const;
  // The bytes of the record of a row.
  std::size_t row_bytes() const;

  // Writes the rows' weights to rows[ids.size()][width]. An id without a row gets its initial
  // value; with Create::yes it was seen once more for every time that it is named, and has a row
  // from the admission on. Errors: io.
  void lookup(std::span<const Id> ids, float* rows, Create create = Create::yes);
  // Runs one step of the optimizer with gradients[ids.size()][width]. Gradients of one id are
  // summed first, in their order. An id without a row gets one, unless admission is above 1: then
  // its gradients are dropped and counted. Errors: usage for a learning rate that is not positive,
  // or a step below 1; io.
  void update(std::span<const Id> ids, const float* gradients, const UpdateStep& step);
  // Adds deltas[ids.size()][width] to the weights (geo mode), without the optimizer. Otherwise like
  // update().
  void add_deltas(std::span<const Id> ids, const float* deltas);
  // Sets rows to these weights, and to the state and statistics of new rows. Creates missing rows,
  // regardless of admission. Of several rows for one id the last one counts. Errors: io.
  void assign(std::span<const Id> ids, const float* rows);

  // Adds counts[ids.size()][2], shows and clicks, to the statistics of existing rows. Clicks do not
  // count as shows.
  void count(std::span<const Id> ids, const float* counts);
  // Advances the clock of the table: ages are in ticks, and statistics decay by one factor per
  // tick. Takes constant time.
  void tick();
  // Ticks so far, modulo 2^16. Ages in records are relative to the clock of the table that wrote
  // them. A table that gets all its rows from there continues with that clock.
  std::uint16_t clock() const;
  void set_clock(std::uint16_t clock);
  // Returns the number of removed rows. Also removes ids that are not admitted, by age. Errors:
  // usage, io.
  std::uint64_t evict(const Eviction& eviction);

  TableStatistics statistics() const;
  // Returns statistics().disk_full without taking locks.
  bool is_disk_full() const;

  // Reads the rows of slots [first, last), slot by slot. Other calls run meanwhile: each row is
  // consistent, rows that are created meanwhile may be missing, and a lock is held for one block at
  // a time. `take` may call the table. Returns false if it stopped at options.max_rows and there
  // are more rows.
  bool read(int first, int last, const ReadOptions& options,
            const std::function<void(RowBlock)>& take);
  // Clears the mark on all rows of slots [first, last) without reading them.
  void clear(int mark, int first, int last);
  // Returns for each id whether it has a row.
  std::vector<bool> contains(std::span<const Id> ids) const;
  // Returns the ids in the slots whose rows were removed since the last call for this mark, sorted.
  // Does not include removals before the mark was first cleared. If a row has been created again,
  // it counts as changed: the consumer removes first and then inserts.
  std::vector<Id> take_removed(int mark, int first, int last);
  // Inserts rows and replaces existing ones. Errors: data for a block of another layout, or with
  // ids of another slot; io.
  void insert(const RowBlock& block);
  // Removes ids; ignores those without a row. take_removed() returns them.
  void remove(std::span<const Id> ids);
  // Removes all rows of slots [first, last), for instance after they moved to another server.
  // take_removed() does not return them. Errors: io.
  void drop(int first, int last);
  // A digest of ids, weights, state and statistics, without ages: the sum of hash64(id, record
  // without its last 4 bytes) over all rows of the slots. It does not depend on their order or
  // position.
  std::uint64_t digest(int first = 0, int last = kSlots);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
