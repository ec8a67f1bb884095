#pragma once

// Which pushes were applied, so that repeating one has no effect.
//
// For each source it is known which of its last 64 pushes were applied, and in which slots. A
// source that starts a push has the answers to all but the last few before it, so all older pushes
// count as applied. Completed tasks are removed and kept as ranges.

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "distributed/table/slots.h"

namespace trireme::distributed {

// The numbering that a push belongs to: that of a sender, which counts its pushes; or that of a
// task, whose owners push its batches in the same order. Counts of a batch have separate marks.
struct Source {
  enum class Kind : std::uint8_t { sender, task, count_of_sender, count_of_task };
  static constexpr std::uint8_t kKinds = 4;
  Kind kind = Kind::sender;
  std::uint32_t number = 0;
  bool is_task() const { return kind == Kind::task || kind == Kind::count_of_task; }
  auto operator<=>(const Source&) const = default;
};

// The number of a batch of a task, both from 0, in a pass over all tasks; and the pass of a number.
inline std::uint64_t number_of_batch(std::uint32_t epoch, std::uint32_t batch) {
  return (std::uint64_t{epoch} << 32 | batch) + 1;
}
inline std::uint32_t epoch_of(std::uint64_t number) {
  return static_cast<std::uint32_t>((number - 1) >> 32);
}

// Completed tasks: only a trainer that does not know yet still pushes for them.
struct TasksOver {
  std::uint32_t epoch = 0;  // all tasks of earlier epochs, and of this one
  // ascending, separate ranges [first, last) of tasks.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges = {};

  bool has(const Source& source, std::uint64_t number) const;
  std::uint64_t tasks() const;  // of ranges
  bool operator==(const TasksOver&) const = default;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("epoch", epoch);
    visit("tasks", ranges);
  }
};

// A task of an epoch.
struct TaskOf {
  std::uint32_t epoch = 0, task = 0;
  auto operator<=>(const TaskOf&) const = default;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("epoch", epoch);
    visit("task", task);
  }
};

// A set of numbers: the last 64 are known exactly, all earlier ones count as seen.
class DedupWindow {
 public:
  static constexpr std::uint64_t kWindow = 64;
  bool has(std::uint64_t number) const {
    if (number > high_) return false;
    return high_ - number >= kWindow || (seen_ >> (high_ - number) & 1) != 0;
  }
  void add(std::uint64_t number);
  bool operator==(const DedupWindow&) const = default;

  std::uint64_t high() const { return high_; }
  std::uint64_t seen() const { return seen_; }
  static DedupWindow of(std::uint64_t high, std::uint64_t seen) { return DedupWindow(high, seen); }
  DedupWindow() = default;

 private:
  DedupWindow(std::uint64_t high, std::uint64_t seen) : high_(high), seen_(seen) {}
  std::uint64_t high_ = 0, seen_ = ~std::uint64_t{0};  // numbers count from 1
};

// Slots: few as a list, many as bits.
class SlotSet {
 public:
  bool has(int slot) const;
  void add(int slot);
  void drop(int first, int last);
  bool empty() const { return list_.empty() && bits_.empty(); }
  std::size_t bytes() const { return 2 * list_.capacity() + 8 * bits_.capacity(); }

 private:
  std::vector<std::uint16_t> list_;  // ascending
  std::vector<std::uint64_t> bits_;  // of all slots, or empty
};

// A mark as it moves with its slots.
struct DedupEntry {
  static constexpr std::uint16_t kNoSlot = UINT16_MAX;
  std::uint32_t number;
  std::uint16_t slot;  // kNoSlot: for all slots; the source has reached `high`
  std::uint8_t kind, zero;
  std::uint64_t high, seen;  // as of a Mark of that slot
};

// The marks of one table: of every source in every slot, so that they move with the slots. Memory
// is bounded: beyond `max_sources` sources, or a number of bytes, the sources with the oldest
// pushes are removed. A source takes 2 bytes for each slot of a push, at most 2 KiB, for at most 64
// pushes.
class DedupTable {
 public:
  // The marks of one source. Locked while one of its pushes is applied, so that the same push does
  // not run twice at once.
  class PerSource {
   public:
    explicit PerSource(std::shared_ptr<std::atomic<std::uint64_t>> total)
        : total_(std::move(total)) {}
    ~PerSource() { *total_ -= bytes_; }
    PerSource(const PerSource&) = delete;
    PerSource& operator=(const PerSource&) = delete;

    std::mutex mutex;
    // Whether a push of that number was applied in that slot, or must have been.
    bool has(int slot, std::uint64_t number) const;
    // Whether it is known that nothing of the number was applied here.
    bool is_new(std::uint64_t number) const;
    // DedupTable it as applied in these slots, in their order.
    template <class Slots>
    void add(std::uint64_t number, const Slots& for_each_slot) {
      if (SlotSet* const slots = begin(number)) {
        for_each_slot([slots](int slot) { slots->add(slot); });
      }
      settle();
    }

   private:
    friend class DedupTable;
    bool passed(std::uint64_t number) const {
      return number + DedupWindow::kWindow <= high_.load();
    }
    void raise(std::uint64_t high);
    SlotSet* begin(std::uint64_t number);  // null: it counts as applied everywhere
    void settle();
    void read(const Source& source, int first, int last, std::vector<DedupEntry>& to) const;
    void insert(const DedupEntry& entry);
    void drop(int first, int last);

    std::atomic<std::uint64_t> high_ = 0;     // read without the lock
    std::map<std::uint64_t, SlotSet> slots_;  // by number, of applied pushes
    std::uint64_t bytes_ = 0;
    const std::shared_ptr<std::atomic<std::uint64_t>> total_;
  };

  explicit DedupTable(std::size_t max_sources, std::uint64_t max_bytes = std::uint64_t{64} << 20)
      : max_sources_(max_sources), max_bytes_(max_bytes) {}
  std::shared_ptr<PerSource> of(const Source& source);
  // Removes the marks of completed tasks.
  void forget(const TasksOver& over);
  // Adds the tasks that are not over and of which something was applied. Waits for pushes in
  // progress.
  void add_begun(const TasksOver& over, std::set<TaskOf>& to) const;
  // All marks of the slots [first, last); and the inverse, which replaces the marks there.
  std::vector<DedupEntry> read(int first, int last) const;
  void insert(std::span<const DedupEntry> entries);
  void drop(int first, int last);
  std::size_t sources() const;
  std::uint64_t forgotten() const;
  std::uint64_t memory() const { return *bytes_; }

 private:
  std::vector<std::pair<Source, std::shared_ptr<PerSource>>> all() const;

  struct Kept {
    std::shared_ptr<PerSource> of;
    std::list<Source>::iterator place;
  };
  const std::size_t max_sources_;
  const std::uint64_t max_bytes_;
  const std::shared_ptr<std::atomic<std::uint64_t>> bytes_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  mutable std::mutex mutex_;
  std::map<Source, Kept> sources_;
  std::list<Source> recent_;  // the source of the last push first
  std::uint64_t forgotten_ = 0;
};

// The same for an object that is applied as a whole, such as a block of a dense parameter: 32 bytes
// for each source. The caller synchronizes.
class WholeDedupTable {
 public:
  explicit WholeDedupTable(std::size_t max_sources) : max_sources_(max_sources) {}
  bool has(const Source& source, std::uint64_t number) const;
  void add(const Source& source, std::uint64_t number);
  void forget(const TasksOver& over);
  void add_begun(const TasksOver& over, std::set<TaskOf>& to) const;
  std::vector<DedupEntry> read() const;  // of slot 0
  // Replaces all marks.
  void assign(std::span<const DedupEntry> entries);
  std::size_t sources() const { return kept_.size(); }
  std::uint64_t memory() const { return kept_.capacity() * sizeof(Kept); }

 private:
  struct Kept {
    Source source;
    DedupWindow mark;
    std::uint64_t used = 0;
  };
  const std::size_t max_sources_;
  std::vector<Kept> kept_;  // by source
  std::uint64_t uses_ = 0;
};

}  // namespace trireme::distributed
