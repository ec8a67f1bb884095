#pragma once

// The state and the operations of one parameter server without the network: tables, blocks of dense
// parameters, the slot map, the members of the generation.

#include <atomic>
#include <bitset>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "distributed/server/dedup_table.h"
#include "distributed/server/dense.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/server/steps.h"
#include "distributed/table/table.h"
#include "trireme/error.h"

namespace trireme::distributed {

struct ShardOptions {
  int place = 0;            // its number among the servers of the slot map
  std::string folder = {};  // for rows that do not fit into memory; empty: no disk
  std::uint64_t write_buffer = DiskOptions().write_buffer;  // of each table, as in DiskOptions
  // Of gradients that wait for members of lower ranks. Beyond it, later members must send theirs
  // again; the first member that has not finished the step need not.
  std::uint64_t held_bytes = std::uint64_t{1} << 30;
  std::size_t sources = 4096;  // whose pushes each table remembers
};

struct ShardStatistics {
  std::uint64_t lookups = 0, pushes = 0;  // requests
  std::uint64_t rows_read = 0, rows_pushed = 0;
  std::uint64_t duplicates = 0;            // rows that were not applied again
  std::uint64_t wrong_map = 0, stale = 0;  // requests
  std::uint64_t steps = 0;                 // applied synchronous steps
  std::uint64_t held = 0;                  // bytes of gradients of unfinished steps
  std::uint64_t forgotten = 0;             // sources beyond the limit
  std::uint64_t dedup_bytes = 0;           // bytes of marks of pushes
};

// The number of requests of an operation with an answer code.
struct RequestCount {
  Op op = Op::lookup;
  Code code = Code::ok;
  std::uint64_t requests = 0;
};

struct TableReport {
  std::uint32_t number = 0;
  std::string name;
  TableStatistics statistics;
  std::uint64_t dedup_bytes = 0;  // bytes
};

class Shard {
 public:
  explicit Shard(const ShardOptions& options);
  ~Shard();

  // Handles a frame: a Handler. Errors: usage and data for invalid requests; io.
  void handle(const Peer& peer, Frame request, Answer& answer);

  // Throws the error that prevented a step from being applied. Some of its rows were applied and
  // others not, so the shard then answers only `busy`: its process must end, and the job must
  // return to a checkpoint.
  void check() const;
  bool is_broken() const { return broken_; }
  // Why requests are answered by `no_space`; nothing if there is space.
  std::optional<std::string> disk_full() const;

  // Order of the leader with the epoch of its leadership. Returns false for a lower epoch than an
  // earlier one, and for an older map or generation. After a change of the map, no request of the
  // old one is in progress, and waiting gradients are dropped: their members must repeat the step.
  bool set_map(const SlotMap& map, std::uint64_t epoch);
  bool set_members(std::uint32_t generation, int members, std::uint64_t epoch);
  SlotMap map() const;
  struct Members {
    std::uint32_t generation = 0;
    int count = 0;
  };
  Members members() const;  // as set last
  // Order of the leader for the current generation: these tasks are over, besides those set before.
  // Their later pushes are duplicates.
  bool set_tasks_over(const TasksOver& over, std::uint32_t generation, std::uint64_t epoch);

  // Tasks of which something was applied here, without these.
  std::set<TaskOf> begun_tasks(const TasksOver& over) const;

  // Returns null if it was not declared. Valid until replace(): for the thread that calls it.
  SparseTable* table(std::uint32_t number);
  // Returns nothing if it was not declared. For all threads.
  std::optional<std::string> table_name(std::uint32_t number) const;
  ShardStatistics statistics() const;
  std::vector<RequestCount> requests() const;  // without zeros
  std::vector<TableReport> tables() const;

  Declarations declarations() const;
  // Replaces everything: empty tables and parameters of these declarations; then insert the blocks.
  // Marks of pushes are removed. Steps continue after step 0, and the clocks of tables from this
  // tick. Invalidates pointers of table(). Errors: data, usage.
  void replace(const Declarations& declared, std::uint16_t clock = 0);
  // Advances the clocks of tables to this tick; tables declared later start with it.
  void set_clock(std::uint16_t clock);
  // The slots of this server in its map, as ranges [first, last).
  std::vector<std::pair<int, int>> slots() const;
  void set_updates(std::uint64_t updates);
  // For a new server after this number of steps of the others: it continues there.
  void begin_at(std::uint64_t step, std::uint64_t updates);
  // A block as DenseBlock::content(), empty if it is not here; and the inverse. Errors: data.
  std::string block(std::uint32_t number, std::uint32_t block) const;
  void put_block(std::uint32_t number, std::uint32_t block, std::string_view content);
  // Whether orders of this leadership are valid: not after one of a later leadership.
  bool obeys(std::uint64_t epoch);

 private:
  struct Table;
  struct Dense;
  struct Held;
  struct Rows;
  struct Once;
  struct SlotsPage;
  struct Counters;

  // The caller holds mutex_, shared or exclusive.
  Frame answer_to(const Frame& request, Code code = Code::ok) const;
  Table& table_of(const Header& header) const;
  bool owns(std::span<const Id> ids) const;
  Frame lookup(const Frame& request);
  Frame push(const Frame& request);
  template <class Apply>
  Frame apply_once(const Frame& request, Table& table, const Once& what, const Apply& apply);
  Frame push_at_once(const Frame& request, Table& table, Rows& rows);
  Frame hold(const Frame& request, Table& table, Rows& rows);
  Frame count(const Frame& request);
  Frame dense_pull(const Frame& request);
  Frame dense_push(const Frame& request);
  Frame hold_dense(const Frame& request, std::span<const float> gradient,
                   const StepNumbers& numbers);
  enum class Turn { now, early, none };
  void sum_up(const std::function<void()>& add);
  Turn turn_of(const Header& header, std::uint64_t bytes) const;
  void advance_to(std::uint64_t step);
  void finish_step(const Frame& request, Answer& answer);
  Code try_to_apply_steps();
  void apply_steps();
  void apply_held(std::uint64_t step);
  void apply_held_rows(Held& held, std::uint32_t number, float scale);
  static std::optional<Id> read_slot(Table& table, int slot, const ReadOptions& options,
                                     SlotsPage& page);
  Frame read_slots(const Frame& request);
  Frame move_slots(const Frame& request);
  Frame insert_slots(const Frame& request);
  Frame drop_slots(const Frame& request);
  void check_not_owned(int first, int last, const char* what) const;
  Frame dense_read(const Frame& request);
  Frame dense_insert(const Frame& request);
  Frame dense_drop(const Frame& request);
  Frame digest(const Frame& request);
  Frame tell(const Frame& request);

  void declare(std::uint32_t number, const TableDeclaration& declaration, std::string bytes);
  Frame declare_table(const Frame& request);
  Frame declare_dense(const Frame& request);
  Frame control(const Frame& request);
  void perform(Frame request, Answer& answer);
  void give(Answer& answer, Frame frame);
  void give_no_space(const Header& request, const std::string& why, Answer& answer);
  Frame serve(const Frame& request);
  bool stale(const Header& header) const;
  bool is_over(const Source& source, std::uint64_t number) const;
  bool outdated(const Header& header) const;
  bool obey(std::uint64_t epoch);
  void drop_held();
  std::shared_ptr<DenseBlock> block_of(const Header& header) const;

  // Shared for requests, exclusive for changes of tables or the map. The gate prevents starvation
  // of exclusive locks.
  std::shared_lock<std::shared_mutex> shared() const;
  std::unique_lock<std::shared_mutex> alone() const;

  const ShardOptions options_;
  const std::unique_ptr<Counters> counters_;
  mutable std::mutex gate_;
  std::mutex moves_mutex_;  // locked before `mutex_`
  mutable std::shared_mutex mutex_;
  std::map<std::uint32_t, std::unique_ptr<Table>> tables_;
  std::map<std::uint32_t, std::unique_ptr<Dense>> dense_;
  SlotMap map_;
  std::bitset<kSlots> owned_;
  std::uint64_t epoch_ = 0;
  mutable std::mutex full_mutex_;
  std::string full_;  // the last reason for `no_space`
  mutable std::mutex over_mutex_;
  std::shared_ptr<const TasksOver> over_ = std::make_shared<const TasksOver>();
  std::uint16_t clock_ = 0;  // of new tables

  // Synchronous steps, locked after mutex_.
  mutable std::mutex steps_mutex_;
  Steps steps_;
  std::uint64_t applied_ = 0, updates_ = 0;  // the last step, and the number of steps with examples
  std::vector<std::uint64_t> slot_steps_;    // the last step of each slot
  std::map<std::uint64_t, Held> held_;       // by step
  bool half_applied_ = false;                // some tables of the current step are applied
  std::optional<Error> failure_;             // as check()
  std::atomic<bool> broken_ = false;
};

}  // namespace trireme::distributed
