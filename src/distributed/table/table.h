#pragma once

// A sparse table: rows of floats by 64-bit ids, created when they are first asked for, with the
// optimizer that works on them. One shard in one process; knows no network.
//
// Any number of threads may call at once. The slots share 64 locks; a call brings its ids into the
// order of these, takes each of them once, and has it while it works on the rows below it. So each
// row is read and changed as a whole, while the rows of one call are not one moment's. Calls that
// run at the same time begin with different locks.
//
// A disk that is full is NoSpace, an Error of kind io.
//
// A call that fails has had no effect, with three exceptions that leave some rows changed and
// others not: evict(), remove() and drop() whose disk refuses; memory that the system refuses; a
// disk that cannot be read while other threads' calls drive rows out that this one had found in
// memory.

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

// Rows of one slot in order of their ids. Each row's record has row_bytes() of the table:
// docs/reference/formats/table.md. Equal content gives equal bytes.
struct RowBlock {
  int slot = 0;
  std::vector<Id> ids;
  std::string records;
};

// What these rows add to SparseTable::digest().
std::uint64_t digest_of(const RowBlock& block);

// Consumers of changes, such as incremental checkpoints and deltas for serving, have a mark each.
inline constexpr int kMarks = 4;

struct ReadOptions {
  std::optional<int> changed = {};  // only rows changed since this mark was last cleared on them
  std::optional<int> clear = {};    // clear this mark on what is read
  std::size_t rows = 1024;          // at most, in a block
  std::optional<Id> after = {};     // of the first slot only rows with higher ids
  std::uint64_t most = UINT64_MAX;  // rows in all
};

// What is not worth its place. A row goes if either holds.
struct Eviction {
  double show_weight = 0, click_weight = 0;  // score = show_weight * shows + click_weight * clicks
  double below = 0;                          // rows with a lower score
  int unused_for =
      0;  // rows not used in so many ticks or more, at most 65,534; 0: whatever their age
};

struct TableStatistics {
  std::uint64_t rows = 0;          // in memory and on disk
  std::uint64_t on_disk = 0;       // of these
  std::uint64_t not_admitted = 0;  // ids seen, but not often enough
  std::uint64_t dropped = 0;       // updates of ids that had no row yet
  std::uint64_t evicted = 0;       // rows that have gone by evict()
  std::uint64_t memory = 0;        // bytes of rows and index, the figure that memory_limit bounds
  bool disk_full = false;          // as of the last rows that were to go to disk
};

class SparseTable {
 public:
  // Errors: usage, for options that make no sense; not_found and io, for the folder of cold rows.
  explicit SparseTable(const TableOptions& options);
  ~SparseTable();

  const TableOptions& options() const;
  // The bytes of a row's record.
  std::size_t row_bytes() const;

  // Writes the rows' weights to rows[ids.size()][width]. An id without a row gets its initial
  // value; with Create::yes it was seen once more for every time that it is named, and has a row
  // from the admission on. Errors: io.
  void lookup(std::span<const Id> ids, float* rows, Create create = Create::yes);
  // One step of the optimizer with gradients[ids.size()][width]; those of one id are added up
  // first, in their order. An id without a row gets one, unless admission is above 1: then its
  // gradients are dropped and counted. Errors: usage, for a rate that is not positive or a step
  // below 1; io.
  void update(std::span<const Id> ids, const float* gradients, const UpdateStep& step);
  // Adds deltas[ids.size()][width] to the weights (geo mode), whatever the optimizer; otherwise as
  // update().
  void add_deltas(std::span<const Id> ids, const float* deltas);
  // Gives rows these weights and the state and statistics of new ones, whether or not they were
  // there; admission does not count. Of several rows for one id the last stays. Errors: io.
  void assign(std::span<const Id> ids, const float* rows);

  // Adds counts[ids.size()][2], shows and clicks, to the statistics of rows that are there. Clicks
  // are not counted as shows.
  void count(std::span<const Id> ids, const float* counts);
  // Moves the table's clock: ages are in ticks, and statistics decay by one more factor. Costs
  // nothing.
  void tick();
  // Ticks so far, modulo 2^16. Records tell their age by the clock of the table that wrote them:
  // one that takes all its rows from there goes on with that clock.
  std::uint16_t clock() const;
  void set_clock(std::uint16_t clock);
  // Returns how many rows went. Ids not admitted go by age, too. Errors: usage, io.
  std::uint64_t evict(const Eviction& eviction);

  TableStatistics statistics() const;
  // The last of these alone, which takes no locks.
  bool is_disk_full() const;

  // The rows of slots [first, last), slot by slot. Other calls go on meanwhile: each row is as of
  // one moment, rows made meanwhile may be missing, and a lock is held for one block at a time.
  // `take` may call the table. False if there are more than the most that were asked for, of which
  // these are the first.
  bool read(int first, int last, const ReadOptions& options,
            const std::function<void(RowBlock)>& take);
  // Clears the mark on all rows of slots [first, last) without reading them.
  void clear(int mark, int first, int last);
  // Which of the ids have a row.
  std::vector<bool> contains(std::span<const Id> ids) const;
  // Ids in the slots whose rows were evicted, sorted, since the mark's last call; evictions before
  // the mark was first cleared are not told. A row may have come back since, and is then changed:
  // first remove, then insert.
  std::vector<Id> take_removed(int mark, int first, int last);
  // Puts rows in, in place of those there are with their ids. Errors: data, for a block that is not
  // of this table's layout, or has ids of another slot; io.
  void insert(const RowBlock& block);
  // Removes ids; those without a row are passed over. take_removed() tells of them.
  void remove(std::span<const Id> ids);
  // Removes all rows of slots [first, last), such as those that moved to another server;
  // take_removed() does not tell of them. Errors: io.
  void drop(int first, int last);
  // Of ids, weights, state and statistics, not of ages: the sum of hash64(id, record without its
  // last 4 bytes) over all rows of the slots, which does not depend on their order or place.
  std::uint64_t digest(int first = 0, int last = kSlots);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
