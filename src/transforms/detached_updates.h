#pragma once

#include <memory>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// While it lives, the ops of updates, and ops that use their results, are not in the main block.
// Then they are its last ops. So gradients that are appended meanwhile read the parameters as they
// are before all updates.
class DetachedUpdates {
 public:
  explicit DetachedUpdates(ir::Program& program);
  ~DetachedUpdates();
  DetachedUpdates(const DetachedUpdates&) = delete;
  DetachedUpdates& operator=(const DetachedUpdates&) = delete;

  // Whether the value is a result of a detached op.
  bool contains(const ir::Value& value) const;

 private:
  ir::Program& program_;
  std::vector<std::unique_ptr<ir::Op>> ops_;
};

}  // namespace trireme::transforms
