#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/lower.h"

namespace trireme::compiler {

// The passes over the reduced dimensions that a group's reductions and outputs need: a reduction
// whose summand needs another reduction's result runs a pass later.
class Stages {
 public:
  Stages(const Group& group, const std::vector<Output>& outputs);

  int count() const { return count_; }
  // Reductions whose summands are added in this pass.
  const std::vector<const ir::Op*>& reductions(int stage) const;
  // Costly full values first computed in this pass and needed in a later one.
  const std::vector<const ir::Value*>& kept(int stage) const;
  // The first pass in which a value of the group can be computed; 0 for values from outside.
  int stage_of(const ir::Value* value) const;

 private:
  void find_kept(const Group& group, const std::vector<Output>& outputs);
  void visit(const ir::Value* value, int pass);

  std::unordered_map<const ir::Value*, int> stage_;
  std::unordered_map<const ir::Op*, int> pass_;  // of reductions
  std::vector<std::vector<const ir::Op*>> reductions_;
  std::vector<std::vector<const ir::Value*>> kept_;
  std::unordered_map<const ir::Value*, int> last_use_;
  const Group& group_;
  int count_ = 1;
};

}  // namespace trireme::compiler
