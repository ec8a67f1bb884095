#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/lower.h"

namespace trireme::compiler {

// The passes over the reduced dimensions that a group's reductions and outputs need. A reduction
// whose summand depends on the result of another reduction runs in a later pass.
class Stages {
 public:
  Stages(const Group& group, const std::vector<Output>& outputs);

  int count() const { return count_; }
  // Returns the reductions whose summands are added in this pass.
  const std::vector<const ir::Op*>& reductions(int stage) const;
  // Returns expensive full values that are first computed in this pass and needed in a later one.
  const std::vector<const ir::Value*>& kept(int stage) const;
  // Returns the first pass in which a value of the group can be computed; 0 for outer values.
  int stage_of(const ir::Value* value) const;

 private:
  void find_kept(const Group& group, const std::vector<Output>& outputs);
  void record_use(const ir::Value* value, int pass);

  std::unordered_map<const ir::Value*, int> stage_;
  std::unordered_map<const ir::Op*, int> pass_;  // the passes of reductions
  std::vector<std::vector<const ir::Op*>> reductions_;
  std::vector<std::vector<const ir::Value*>> kept_;
  std::unordered_map<const ir::Value*, int> last_use_;
  const Group& group_;
  int count_ = 1;
};

}  // namespace trireme::compiler
