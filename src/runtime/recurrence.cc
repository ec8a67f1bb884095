#include "runtime/recurrence.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "base/philox.h"
#include "runtime/block.h"

namespace trireme::runtime {

namespace {

// Where a size's rows lie among all of its kind.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};

class Recurrence : public Control {
 public:
  Recurrence(const plan::Plan& plan, const plan::Step& step, device::Device& device,
             const ExecutorOptions& options)
      : buffers_(plan, step),
        control_(step.control),
        body_(plan, step.control.blocks[0], device, options) {
    for (int i = 0; i < control_.carried; ++i)
      memories_.push_back({Memory(device), Memory(device)});
    for (std::size_t i = 0; i < buffers_.arguments; ++i) splits_.emplace_back(device);
    for (const plan::Control::Size& size : control_.sizes) {
      const auto& symbols = body_.plan().symbols;
      const auto found = std::find(symbols.begin(), symbols.end(), size.symbol);
      symbol_of_.push_back(found == symbols.end() ? -1 : static_cast<int>(found - symbols.begin()));
    }
    is_splits_.resize(buffers_.arguments);
    for (const plan::Control::Size& size : control_.sizes) {
      if (size.splits >= 0) is_splits_[static_cast<std::size_t>(size.splits)] = true;
    }
    ranges_.resize(control_.sizes.size());
  }

  void run(const BoundPlan& outer, void* const* arguments, std::uint64_t seed) override {
    outer_ = &outer;
    arguments_ = arguments;
    find_extents();
    find_steps();
    sizes_ = body_.sizes_from(outer);
    reserve();
    begin_memories();
    const auto steps = static_cast<std::int64_t>(offsets_.size()) - 1;
    for (std::int64_t k = 0; k < steps; ++k) {
      const std::int64_t t = control_.reverse ? steps - 1 - k : k;
      find_ranges(t);
      enter_memories(k == 0);
      set_arguments();
      set_results();
      body_.frame().resize(sizes_);
      body_.frame().run(seed_of_run(seed, static_cast<std::uint64_t>(t)));
      for (MemoryState& memory : memories_) std::swap(memory.now, memory.next);
      if (!control_.reverse && k + 1 < steps) {
        find_ranges(t + 1);
        leave_memories();
      }
    }
    end_memories();
  }

 private:
  struct MemoryState {
    Memory one, other;
    char* now = nullptr;    // what the step reads, after enter_memories()
    char* next = nullptr;   // what it writes
    std::int64_t rows = 0;  // of `now` that hold something
  };

  char* argument(std::size_t i) const { return static_cast<char*>(arguments_[buffers_.extra + i]); }
  char* result(std::size_t i) const {
    return static_cast<char*>(arguments_[buffers_.extra + buffers_.arguments + i]);
  }
  std::int64_t bytes(int buffer) const { return outer_->bytes[static_cast<std::size_t>(buffer)]; }
  bool is_sequence(std::size_t i) const {
    return i >= memories_.size() &&
           i < memories_.size() + static_cast<std::size_t>(control_.sequences);
  }

  // The rows of each argument and result. A program may compute any counts and splits, so each step
  // is checked against these.
  void find_extents() {
    extents_.clear();
    for (std::size_t i = 0; i < buffers_.arguments; ++i) {
      extents_.push_back(rows_in(buffers_.argument(i)));
    }
    result_extents_.clear();
    for (std::size_t i = 0; i < buffers_.results; ++i) {
      result_extents_.push_back(rows_in(buffers_.result(i)));
    }
  }
  std::int64_t rows_in(int buffer) const {
    const plan::Buffer& b = buffers_.plan.buffers[static_cast<std::size_t>(buffer)];
    if (b.shape.empty()) return 1;
    return FlatDim(b.shape[0], buffers_.plan.symbols).evaluate(outer_->current);
  }
  static void require_inside(const Range& range, std::int64_t extent) {
    if (range.begin >= 0 && range.begin <= range.end && range.end <= extent) return;
    fail_data(fmt::format("sequences do not fit their rows: a step uses rows {} to {} of {}",
                          range.begin, range.end, extent));
  }

  // The steps: where each one's rows begin, and at the end where the last one's end.
  void find_steps() {
    const auto* counts = static_cast<const std::int64_t*>(arguments_[0]);
    const std::int64_t rows = bytes(buffers_.step.buffers[0]) / 8;
    offsets_.assign(1, 0);
    for (std::int64_t t = 0; t < rows && counts[t] > 0; ++t) {
      if (t > 0 && counts[t] > counts[t - 1]) {
        fail_data(fmt::format("step {} has {} sequences and step {} has {}: the number grows",
                              t - 1, counts[t - 1], t, counts[t]));
      }
      const Checked end = Checked(offsets_.back()) + counts[t];
      if (!end.valid())
        fail_data(fmt::format("{} sequences in step {} are too many", counts[t], t));
      offsets_.push_back(end.value());
    }
    check_steps();
  }
  // Before anything is read or written.
  void check_steps() {
    const auto steps = static_cast<std::int64_t>(offsets_.size()) - 1;
    for (std::int64_t t = 0; t < steps; ++t) {
      for (std::size_t i = 0; i < buffers_.arguments; ++i) check_argument(i, t);
      for (std::size_t i = memories_.size(); i < buffers_.results; ++i) {
        const int rows = control_.result_rows[i];
        if (rows >= 0) require_inside(range(static_cast<std::size_t>(rows), t), result_extents_[i]);
      }
    }
  }
  void check_argument(std::size_t i, std::int64_t t) const {
    const int rows = control_.argument_rows[i];
    if (rows < 0) return;
    Range used = range(static_cast<std::size_t>(rows), t);
    if (!is_sequence(i)) used = {0, used.count()};
    if (is_splits_[i]) ++used.end;  // splits have one row more
    require_inside(used, extents_[i]);
  }

  std::int64_t active(std::int64_t t) const {
    return offsets_[static_cast<std::size_t>(t) + 1] - offsets_[static_cast<std::size_t>(t)];
  }

  // Of size `s` at step t, all its rows before and at it.
  Range range(std::size_t s, std::int64_t t) const {
    const plan::Control::Size& size = control_.sizes[s];
    const std::int64_t begin = offsets_[static_cast<std::size_t>(t)];
    if (size.splits < 0) return {begin, begin + active(t)};
    const auto* splits =
        reinterpret_cast<const std::int64_t*>(argument(static_cast<std::size_t>(size.splits)));
    Range split = range(static_cast<std::size_t>(size.of), t);
    if (!size.by_row) split = {0, split.count()};  // of the first sequences
    require_inside({split.begin, split.end + 1}, extents_[static_cast<std::size_t>(size.splits)]);
    return {splits[split.begin], splits[split.end]};
  }

  void find_ranges(std::int64_t t) {
    for (std::size_t s = 0; s < ranges_.size(); ++s) {
      ranges_[s] = range(s, t);
      if (symbol_of_[s] >= 0) sizes_[static_cast<std::size_t>(symbol_of_[s])] = ranges_[s].count();
    }
  }

  void reserve() {
    Sizes largest = sizes_;
    const auto steps = static_cast<std::int64_t>(offsets_.size()) - 1;
    for (std::size_t s = 0; s < ranges_.size(); ++s) {
      if (symbol_of_[s] < 0) continue;
      std::int64_t& max_count = largest[static_cast<std::size_t>(symbol_of_[s])];
      const bool shrinks = control_.sizes[s].splits < 0 || !control_.sizes[s].by_row;
      for (std::int64_t t = 0; t < (shrinks ? std::min<std::int64_t>(1, steps) : steps); ++t) {
        max_count = std::max(max_count, range(s, t).count());
      }
    }
    body_.frame().reserve(largest);
  }

  // --- Memories

  // Rows of memory i, from the first one, at the current step; of one without rows, one.
  std::int64_t rows_of(std::size_t i) const {
    const int rows = control_.argument_rows[i];
    return rows < 0 ? 1 : ranges_[static_cast<std::size_t>(rows)].count();
  }
  std::int64_t all_rows(std::size_t i) const {
    return control_.argument_rows[i] < 0 ? 1 : extents_[i];
  }
  std::int64_t row_bytes(std::size_t i) const {
    const std::int64_t rows = all_rows(i);
    return rows == 0 ? 0 : bytes(buffers_.argument(i)) / rows;
  }

  void begin_memories() {
    row_bytes_.clear();
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      MemoryState& memory = memories_[i];
      const std::int64_t size = bytes(buffers_.argument(i));
      memory.one.ensure(size);
      memory.other.ensure(size);
      memory.now = memory.one.get();
      memory.next = memory.other.get();
      memory.rows = 0;
      row_bytes_.push_back(row_bytes(i));
      // Sequences without a row, and all if there are no steps, keep what they began with.
      if (size > 0) std::memcpy(result(i), argument(i), static_cast<std::size_t>(size));
    }
  }

  // Sequences that begin at this step begin with what they are given.
  void enter_memories(bool first) {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      MemoryState& memory = memories_[i];
      const std::int64_t rows = rows_of(i);
      if (rows > memory.rows && (first || control_.argument_rows[i] >= 0)) {
        copy(memory.now, argument(i), i, memory.rows, rows);
      }
      memory.rows = rows;
    }
  }

  // Those that have ended before this step leave what they hold.
  void leave_memories() {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      copy(result(i), memories_[i].now, i, rows_of(i), memories_[i].rows);
    }
  }

  void end_memories() {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      copy(result(i), memories_[i].now, i, 0, memories_[i].rows);
    }
  }

  void copy(char* to, const char* from, std::size_t i, std::int64_t begin, std::int64_t end) const {
    if (end <= begin || row_bytes_[i] == 0) return;
    std::memcpy(to + begin * row_bytes_[i], from + begin * row_bytes_[i],
                static_cast<std::size_t>((end - begin) * row_bytes_[i]));
  }

  // --- What the step reads and writes

  void set_arguments() {
    for (std::size_t i = 0; i < buffers_.arguments; ++i) {
      if (i < memories_.size()) {
        body_.set_argument(i, memories_[i].now);
      } else {
        body_.set_argument(i, part(i));
      }
    }
  }

  const void* part(std::size_t i) {
    const int rows = control_.argument_rows[i];
    if (rows < 0) return argument(i);
    if (!is_sequence(i)) return argument(i);  // the first rows, and of splits too
    const Range& range = ranges_[static_cast<std::size_t>(rows)];
    if (is_splits_[i]) return rebased(i, range);
    return argument(i) + range.begin * row_size(buffers_.argument(i));
  }

  // The splits of this step's sequences, from 0.
  const void* rebased(std::size_t i, const Range& range) {
    const auto* splits = reinterpret_cast<const std::int64_t*>(argument(i)) + range.begin;
    splits_[i].ensure((range.count() + 1) * 8);
    auto* own = reinterpret_cast<std::int64_t*>(splits_[i].get());
    for (std::int64_t k = 0; k <= range.count(); ++k) own[k] = splits[k] - splits[0];
    return own;
  }

  std::int64_t row_size(int buffer) const {
    const plan::Buffer& b = buffers_.plan.buffers[static_cast<std::size_t>(buffer)];
    Shape row(b.shape.begin() + 1, b.shape.end());
    return FlatDim(product(row), buffers_.plan.symbols).evaluate(outer_->current) *
           static_cast<std::int64_t>(size_of(b.dtype));
  }

  void set_results() {
    for (std::size_t i = 0; i < memories_.size(); ++i) body_.set_result(i, memories_[i].next);
    for (std::size_t i = memories_.size(); i < buffers_.results; ++i) {
      const Range& range = ranges_[static_cast<std::size_t>(control_.result_rows[i])];
      body_.set_result(i, result(i) + range.begin * row_size(buffers_.result(i)));
    }
  }

  StepBuffers buffers_;
  const plan::Control& control_;
  Block body_;
  std::vector<MemoryState> memories_;
  std::vector<Memory> splits_;  // of the sequences of each step, by argument
  std::vector<int> symbol_of_;  // by size: among the block's symbols, or -1
  std::vector<Range> ranges_;   // by size, at the current step
  std::vector<std::int64_t> offsets_, row_bytes_;
  std::vector<bool> is_splits_;                         // by argument
  std::vector<std::int64_t> extents_, result_extents_;  // rows of the arguments and results
  Sizes sizes_;
  const BoundPlan* outer_ = nullptr;
  void* const* arguments_ = nullptr;
};

}  // namespace

std::unique_ptr<Control> make_recurrence(const plan::Plan& plan, const plan::Step& step,
                                         device::Device& device, const ExecutorOptions& options) {
  return std::make_unique<Recurrence>(plan, step, device, options);
}

}  // namespace trireme::runtime
