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

Value Step::state(const StateOptions& options, SourceLocation where) {
  return builder_->state(options, where);
}

void Step::update(const Value& state, const Value& next, SourceLocation where) {
  const LocationScope at(state, "Step::update", where);
  builder_->update(state, next);
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

Value initial_state(const StateOptions& options, const Dim& rows, ir::Block& block,
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
    fail_layer("Step::state",
               "the initial value does not have a row for each of the " + rows.str() + " sequences",
               "init must be [n, ...]", init);
  }
  return init;
}

void update_state(std::vector<StepState>& states, const Value& state, const Value& next) {
  const auto found = std::find_if(states.begin(), states.end(),
                                  [&](const auto& m) { return m.inside == state.get(); });
  if (found == states.end()) {
    fail_layer("Step::update", "this is not a state of the step", "memory() creates states", state);
  }
  if (found->next != nullptr) fail_layer("Step::update", "the state is updated twice", "", state);
  if (!next || next.get()->type != state.get()->type) {
    fail_layer("Step::update",
               "the state changes its shape: " + state.str() + " becomes " +
                   (next ? next.str() : "an empty Value"),
               "the new value of a state must have the state's dtype and shape", state);
  }
  found->next = next.get();
}

void require_updated(const char* what, const std::vector<StepState>& states) {
  for (const StepState& state : states) {
    if (state.next != nullptr) continue;
    fail_layer(what, "a state is never updated", "call Step::update() once for each memory",
               Value(state.inside));
  }
}

}  // namespace trireme::nn
