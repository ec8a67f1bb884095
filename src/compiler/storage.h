#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/groups.h"

namespace trireme::compiler {

// How the values of a Plan may be stored.
struct StorageOptions {
  DType type = DType::f32;    // of large values of f32 between generated kernels
  bool fixed_shapes = false;  // values whose shape knows no symbol too: nothing is trained
  std::set<std::string> prepared = {};  // parameters that are made for this Plan alone
  std::vector<DType> fetches = {};      // not empty: what each fetch is stored as
};

// A reshape that is not fused moves nothing: its result is the same storage under another shape.
bool is_alias(const ir::Program& program, const Group& group);

// Decides which values of f32 are stored as another type. Large ones are that generated kernels alone
// write; a library that reads one long after it was made gets a wide copy. Sums, counts and what has few
// elements for each example keep f32, and so does what the caller sees or a library makes or reads soon.
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

// Whether a parameter is a weight that generated kernels alone read, so that a copy of it in 16 bits
// can take its place.
std::function<bool(const ir::Value*)> narrow_weights(const ir::Program& program);

}  // namespace trireme::compiler
