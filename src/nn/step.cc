#include "nn/step.h"

#include <algorithm>

#include "base/error.h"
#include "nn/layer.h"

namespace trireme::nn {

Value Step::input(const Value& x, SourceLocation where) {
  const LocationScope at(x, "Step::input", where);
  return builder_->input(x);
}

Value Step::static_input(const Value& x, SourceLocation where) {
  const LocationScope at(x, "Step::static_input", where);
  return builder_->static_input(x);
}

Value Step::memory(const MemoryOptions& options, SourceLocation where) {
  return builder_->memory(options, where);
}

void Step::update(const Value& memory, const Value& next, SourceLocation where) {
  const LocationScope at(memory, "Step::update", where);
  builder_->update(memory, next);
}

void Step::output(const Value& value, SourceLocation where) {
  const LocationScope at(value, "Step::output", where);
  builder_->output(value);
}

void Step::attention(const Value& weights, SourceLocation where) {
  const LocationScope at(weights, "Step::attention", where);
  if (weights.rank() != 1 || !is_arithmetic_float(weights.dtype())) {
    fail_layer("Step::attention", "the weights do not have one element for each row",
               "weights must be floats [rows of a ragged static input], such as the result of "
               "sequence::softmax",
               weights);
  }
  builder_->attention(weights);
}

Value initial_memory(const MemoryOptions& options, const Dim& rows, ir::Block& block,
                     const SourceLocation& where) {
  Value init = options.init;
  if (!init) {
    Shape shape = options.row;
    if (options.width > 0) shape.push_back(options.width);
    shape.insert(shape.begin(), rows);
    ir::Builder& builder = block.program->builder();
    const ir::Builder::BlockGuard guard(builder, block);
    const ir::Location location = builder.locate(where);
    const ir::Builder::LocationGuard at(builder, location);
    init = Value(builder.constant({options.dtype, shape, ""}, options.value));
  }
  if (init.rank() == 0 || init.dim(0) != rows) {
    fail_layer("Step::memory",
               "the initial value does not have a row for each of the " + rows.str() + " sequences",
               "init must be [n, ...]", init);
  }
  return init;
}

void update_memory(std::vector<StepMemory>& memories, const Value& memory, const Value& next) {
  const auto found = std::find_if(memories.begin(), memories.end(),
                                  [&](const auto& m) { return m.inside == memory.get(); });
  if (found == memories.end()) {
    fail_layer("Step::update", "this is not a memory of the step", "memory() creates memories",
               memory);
  }
  if (found->next != nullptr) fail_layer("Step::update", "the memory is updated twice", "", memory);
  if (!next || next.get()->type != memory.get()->type) {
    fail_layer("Step::update",
               "the memory changes its shape: " + memory.str() + " becomes " +
                   (next ? next.str() : "an empty Value"),
               "the new value of a memory must have the memory's dtype and shape", memory);
  }
  found->next = next.get();
}

void require_updated(const char* what, const std::vector<StepMemory>& memories) {
  for (const StepMemory& memory : memories) {
    if (memory.next != nullptr) continue;
    fail_layer(what, "a memory is never updated", "call Step::update() once for each memory",
               Value(memory.inside));
  }
}

}  // namespace trireme::nn
