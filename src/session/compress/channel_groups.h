#pragma once

// Which axes of the values of a Program are the same channels.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace trireme::compression {

// Axes of values are joined where ops keep channels apart: by elementwise ops, batch norms, pooling
// and sums of residual blocks, and through convolutions and products. A flattened axis has several
// elements for each channel.
class ChannelGroups {
 public:
  explicit ChannelGroups(const ir::Program& program);

  struct Place {
    int group;           // compare it only with others of one object
    std::int64_t inner;  // adjacent elements of one channel
  };
  Place place(const ir::Value* value, std::size_t axis) const;
  // Whether channels can be removed: no input and no output of the Program has them, and all ops
  // that read them are known.
  bool is_free(int group) const { return !nodes_[static_cast<std::size_t>(group)].fixed; }

 private:
  struct Node {
    int parent;
    std::int64_t inner = 1;  // elements for each one of the parent
    bool fixed = false;      // of roots
  };

  void add(const ir::Value* value);
  void add(const ir::Block& block);
  void visit(const ir::Op& op);
  void visit_same_shapes(const ir::Op& op);
  void visit_reduction(const ir::Op& op);
  void visit_reshape(const ir::Op& op);
  void visit_known(const ir::Op& op);
  void fix_all(const ir::Op& op);
  int node(const ir::Value* value, std::size_t axis) const;
  void fix(int node);
  void fix(const ir::Value* value, std::size_t axis) { fix(node(value, axis)); }
  // Element i of axis a is the elements i * inner ... of axis b.
  void join(int a, int b, std::int64_t inner = 1);
  void join(const ir::Value* a, std::size_t axis_a, const ir::Value* b, std::size_t axis_b) {
    join(node(a, axis_a), node(b, axis_b));
  }
  Place root(int node) const;

  std::vector<Node> nodes_;
  std::unordered_map<const ir::Value*, int> first_;  // node of axis 0
};

}  // namespace trireme::compression
