#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/groups.h"

namespace trireme::compiler {

// Options for the storage of a Plan's values.
struct StorageOptions {
  DType type = DType::f32;    // type of large f32 values between generated kernels
  bool fixed_shapes = false;  // also narrow values without symbols in their shape; not for training
  std::set<std::string> prepared = {};  // parameters that exist only for this Plan
  std::vector<DType> fetches = {};      // if not empty: storage type of each fetch
};

// Whether the group is an unfused reshape: its result shares the storage of its operand.
bool is_alias(const ir::Program& program, const Group& group);

// Selects the f32 values that are stored as another type: large ones that only generated kernels
// write. A library that reads such a value long after it was computed gets an f32 copy. Sums,
// counts and values with few elements per example keep f32, and so do fetches and values that a
// library writes, or reads soon.
class NarrowStorage {
 public:
  NarrowStorage(const ir::Program& program, const std::vector<Group>& groups,
                StorageOptions options);

  DType type(const ir::Value* value) const;

 private:
  const ir::Value* root(const ir::Value* value) const;
  bool is_large(const ir::Value* value) const;

  StorageOptions options_;
  std::unordered_map<const ir::Value*, const ir::Value*> alias_of_;
  std::unordered_set<const ir::Value*> wide_;  // roots that keep f32
};

// Returns a predicate: whether a parameter is a weight that only generated kernels read, so that a
// 16-bit copy can replace it.
std::function<bool(const ir::Value*)> narrow_weights(const ir::Program& program);

}  // namespace trireme::compiler
