#pragma once

// What stands beneath nn::Step: rnn() builds one kind of block of it, generation another.

#include <vector>

#include "ir/program.h"
#include "trireme/rnn.h"

namespace trireme::nn {

// Steps' functions, with At already open.
class StepBuilder {
 public:
  virtual ~StepBuilder() = default;
  virtual Value input(const Value& x) = 0;
  virtual Value static_input(const Value& x) = 0;
  virtual Value memory(const MemoryOptions& options, const SourceLocation& where) = 0;
  virtual void update(const Value& memory, const Value& next) = 0;
  virtual void output(const Value& value) = 0;
  virtual void attention(const Value& weights) = 0;
};

// What `options` say that a memory begins with: a row for each of `rows`, made in `block`.
Value initial_memory(const MemoryOptions& options, const Dim& rows, ir::Block& block,
                     const SourceLocation& where);

// A memory inside of the block of a step, and what it becomes.
struct StepMemory {
  ir::Value* inside;
  ir::Value* outside;
  ir::Value* next = nullptr;
};
// Errors: usage, as Step::update() says.
void update_memory(std::vector<StepMemory>& memories, const Value& memory, const Value& next);
// Error(usage) naming `what` unless all are updated.
void require_updated(const char* what, const std::vector<StepMemory>& memories);

}  // namespace trireme::nn
