#pragma once

// A block of a dense parameter: floats and their optimizer.

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "distributed/server/dedup_table.h"
#include "distributed/server/protocol.h"
#include "distributed/table/rules.h"

namespace trireme::distributed {

// Thread-safe: each call reads or changes the whole block atomically.
class DenseBlock {
 public:
  DenseBlock(const DenseDeclaration& declaration, std::span<const float> weights,
             std::size_t max_sources);

  std::size_t size() const { return layout_.width(); }
  Mode mode() const { return mode_; }
  void pull(float* weights) const;
  // Returns whether it was applied: not if the number of the source was applied before, or is over.
  // `is_over` is called when no mark can be forgotten any more. Number 0 is always applied.
  bool push(const Source& source, std::uint64_t number, const std::function<bool()>& is_over,
            std::span<const float> gradient, const UpdateStep& step, bool delta);
  // As DedupTable.
  void forget(const TasksOver& over);
  void add_begun(const TasksOver& over, std::set<TaskOf>& to) const;
  std::uint64_t dedup_memory() const;
  // Of a synchronous block: the last applied step.
  std::uint64_t step() const;
  void apply_step(std::uint64_t step, std::span<const float> gradient, const UpdateStep& numbers);

  // The whole block as bytes, and back. Errors: data for bytes of another size or optimizer.
  std::string read() const;
  void insert(PayloadReader& reader);
  // Weights and state of the optimizer: content_bytes() for a block of this number of floats.
  // Errors: data for another size.
  std::string content() const;
  void set_content(std::string_view bytes);
  static std::size_t content_bytes(const DenseDeclaration& declaration, std::size_t floats);

 private:
  mutable std::mutex mutex_;
  const RowLayout layout_;
  const RowRule rule_;
  const Mode mode_;
  std::vector<std::byte> row_;
  std::uint64_t step_ = 0;
  WholeDedupTable dedup_;
};

}  // namespace trireme::distributed
