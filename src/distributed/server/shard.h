#pragma once

// What one parameter server holds and does, without the network: tables, blocks of dense
// parameters, the slot map, the members of the generation.

#include <atomic>
#include <bitset>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "distributed/server/dense.h"
#include "distributed/server/marks.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/server/steps.h"
#include "distributed/table/table.h"
#include "trireme/error.h"

namespace trireme::distributed {

struct ShardOptions {
  int place = 0;            // which of the slot map's servers it is
  std::string folder = {};  // for rows that do not fit into memory; empty: no disk
  std::uint64_t write_buffer = DiskOptions().write_buffer;  // of each table, as there
  std::uint64_t held_bytes = std::uint64_t{1}
                             << 30;  // of gradients that wait for the others of their step
  std::size_t sources = 4096;        // whose pushes it remembers, of each table
};

struct ShardStatistics {
  std::uint64_t lookups = 0, pushes = 0;  // requests
  std::uint64_t rows_read = 0, rows_pushed = 0;
  std::uint64_t duplicates = 0;            // rows that were not applied a second time
  std::uint64_t wrong_map = 0, stale = 0;  // requests
  std::uint64_t steps = 0;                 // synchronous ones that were applied
  std::uint64_t held = 0;                  // bytes of gradients that wait
  std::uint64_t forgotten = 0;             // sources, beyond those that are remembered
  std::uint64_t marks = 0;                 // bytes of what is remembered of pushes
};

// How many requests of an operation were answered by a code.
struct RequestCount {
  Op op = Op::lookup;
  Code code = Code::ok;
  std::uint64_t requests = 0;
};

struct TableReport {
  std::uint32_t number = 0;
  std::string name;
  TableStatistics statistics;
  std::uint64_t marks = 0;  // bytes
};

class Shard {
 public:
  explicit Shard(const ShardOptions& options);
  ~Shard();

  // Does what a frame asks for: a Handler. Errors: usage and data, for what cannot be; io.
  void handle(const Peer& peer, Frame request, Answer& answer);

  // Errors: what a step could not be applied for. Some of its rows have been and others not, so the
  // shard answers nothing but `busy` from then on: its process is to end, and the job to go back to
  // a checkpoint.
  void check() const;
  bool is_broken() const { return broken_; }
  // Why requests are answered by `no_space`; nothing, if there is room.
  std::optional<std::string> disk_full() const;

  // By whoever leads, with the epoch of its leadership: a lower one than was seen is not obeyed
  // (false), nor is an older map or generation. When the map has changed, nothing of the old one is
  // under way any more, and gradients that waited for others are dropped: their members are told to
  // begin the step again.
  bool set_map(const SlotMap& map, std::uint64_t epoch);
  bool set_members(std::uint32_t generation, int members, std::uint64_t epoch);
  SlotMap map() const;
  // By the same, of a generation that it must be: these tasks are over, besides those that were
  // told before. What comes of them is a duplicate from then on.
  bool set_tasks_over(const TasksOver& over, std::uint32_t generation, std::uint64_t epoch);

  // Tasks of which something was applied here, and that are not among these.
  std::set<TaskOf> begun_tasks(const TasksOver& over) const;

  // nullptr if nobody has declared it. Lives as long as the shard.
  SparseTable* table(std::uint32_t number);
  ShardStatistics statistics() const;
  std::vector<RequestCount> requests() const;  // those that there were
  std::vector<TableReport> tables() const;

  Declarations declarations() const;
  // Takes the place of all that was there: tables and parameters of these declarations, empty;
  // blocks are to be put in. Whose pushes were applied is forgotten; steps go on after step 0, and
  // tables' clocks from this tick. No pointer of table() is used any more. Errors: data, usage.
  void replace(const Declarations& declared, std::uint16_t clock = 0);
  // Tables' clocks go on to this tick, if it is ahead of them; those of tables that are declared
  // later begin with it.
  void set_clock(std::uint16_t clock);
  // The slots that are this server's by its map, as ranges [first, last).
  std::vector<std::pair<int, int>> slots() const;
  void set_updates(std::uint64_t updates);
  // Of a server that is new where others have applied so many steps: it goes on from there.
  void begin_at(std::uint64_t step, std::uint64_t updates);
  // A block as DenseBlock::content(), empty if it is not here; and in place of what is there.
  // Errors: data.
  std::string block(std::uint32_t number, std::uint32_t block) const;
  void put_block(std::uint32_t number, std::uint32_t block, std::string_view content);
  // Whether orders of this leadership are to be obeyed: not if a later one has been seen.
  bool obeys(std::uint64_t epoch);

 private:
  struct Table;
  struct Dense;
  struct Held;
  struct Rows;
  struct Once;
  struct SlotsPage;
  struct Counters;

  // All hold mutex_, shared or alone.
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

  // Shared by whatever serves a request, alone for what changes tables or the map. The gate lets
  // whoever wants it alone have it in the end.
  std::shared_lock<std::shared_mutex> shared() const;
  std::unique_lock<std::shared_mutex> alone() const;

  const ShardOptions options_;
  const std::unique_ptr<Counters> counters_;
  mutable std::mutex gate_;
  std::mutex moves_mutex_;  // before `mutex_`
  mutable std::shared_mutex mutex_;
  std::map<std::uint32_t, std::unique_ptr<Table>> tables_;
  std::map<std::uint32_t, std::unique_ptr<Dense>> dense_;
  SlotMap map_;
  std::bitset<kSlots> owned_;
  std::uint64_t epoch_ = 0;
  mutable std::mutex full_mutex_;
  std::string full_;  // what the last request without room was told
  mutable std::mutex over_mutex_;
  std::shared_ptr<const TasksOver> over_ = std::make_shared<const TasksOver>();
  std::uint16_t clock_ = 0;  // of new tables

  // Synchronous steps, below mutex_.
  mutable std::mutex steps_mutex_;
  Steps steps_;
  std::uint64_t applied_ = 0, updates_ = 0;  // the last step, and how many had examples
  std::vector<std::uint64_t> slot_steps_;    // what was applied to each slot last
  std::map<std::uint64_t, Held> held_;       // by step
  std::uint64_t held_bytes_ = 0;
  bool half_applied_ = false;     // the step that is being applied: some of its tables
  std::optional<Error> failure_;  // as of check()
  std::atomic<bool> broken_ = false;
};

}  // namespace trireme::distributed
