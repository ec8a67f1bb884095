#pragma once

// Fusion: selects the ops that become one kernel.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace trireme::compiler {

// The index space that a group's kernel loops over. `shape` is the shape of its largest values.
// `reduced` marks the dimensions that its reductions sum over; all reductions of a group have the
// same ones. If blocks of elements are summed (block_sum), all dimensions count as reduced, and
// there is one row per block. The result of a contraction is full, and the other ops work on it
// element by element. A value of the group is "full" (one element per point of `shape`) or, if the
// group has reductions, "row" (one element per point of the dimensions that are not reduced).
struct Domain {
  Shape shape;
  std::vector<bool> reduced;
  bool has_reduction = false;
  std::int64_t block = 0;               // elements of a block, if blocks are summed
  const ir::Op* contraction = nullptr;  // the group's contraction, or null

  Shape row_shape() const;       // without the reduced dimensions, or the number of blocks
  Shape kept_row_shape() const;  // with the reduced dimensions as 1
  bool is_full(const Shape& other) const { return other == shape; }
  bool is_row(const Shape& other) const;
};

struct Group {
  std::vector<const ir::Op*> ops;  // in Program order
  bool library = false;            // one library op and the ops of its epilogue
  Domain domain;                   // not for library groups
};

// The order in which ops must run: producers before users; reads and assigns of a parameter in
// Program order.
class Dependencies {
 public:
  explicit Dependencies(const ir::Program& program);
  int count() const { return static_cast<int>(ops_.size()); }
  const ir::Op* op(int i) const { return ops_[static_cast<std::size_t>(i)]; }
  int index_of(const ir::Op* op) const { return index_.at(op); }
  const std::vector<int>& before(int i) const { return before_[static_cast<std::size_t>(i)]; }
  // Returns the ops that read `value`, in order.
  const std::vector<const ir::Op*>& users(const ir::Value* value) const;

 private:
  std::vector<const ir::Op*> ops_;
  std::unordered_map<const ir::Op*, int> index_;
  std::vector<std::vector<int>> before_;
  std::unordered_map<const ir::Value*, std::vector<const ir::Op*>> users_;
  std::vector<const ir::Op*> none_;
};

// Returns the domain in which all `ops` can be one kernel, or nullopt. Uses only traits of the ops.
std::optional<Domain> common_domain(const std::vector<const ir::Op*>& ops);

// Returns the groups in an order in which they can run. If `fuse` is false, every op is its own
// group.
std::vector<Group> make_groups(const ir::Program& program, const Dependencies& dependencies,
                               bool fuse);

}  // namespace trireme::compiler
