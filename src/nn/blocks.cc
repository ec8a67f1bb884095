#include "nn/blocks.h"

namespace trireme::nn {

Values results_of(const ir::Op& op) {
  Values results;
  for (const auto& result : op.results) results.emplace_back(result.get());
  return results;
}

std::vector<ir::Value*> close_both(ir::Block& a, ir::Block& b) {
  std::vector<ir::Value*> outside = ir::close(a);
  const std::size_t own = outside.size();
  const std::vector<ir::Value*> all = ir::close(b, outside);
  // Adds unused arguments to `a` for the values that only `b` captures.
  for (std::size_t i = own; i < all.size(); ++i) {
    outside.push_back(all[i]);
    a.program->add_argument(a, a.program->unique_argument("unused"), all[i]->type);
  }
  return outside;
}

const ir::Op& append_blocks(ir::Program& program, const char* name,
                            std::vector<ir::Value*> operands, Attributes attributes, Body& first,
                            Body* second) {
  std::vector<std::unique_ptr<ir::Block>> blocks;
  blocks.push_back(first.take());
  if (second != nullptr) blocks.push_back(second->take());
  return *program.builder().append(name, std::move(operands), std::move(attributes),
                                   std::move(blocks));
}

Values append_while(ir::Program& program, const Values& initial, Body& condition, Body& body,
                    std::int64_t limit) {
  std::vector<ir::Value*> operands;
  for (const Value& value : initial) operands.push_back(value.get());
  const std::vector<ir::Value*> outside = close_both(condition.block(), body.block());
  operands.insert(operands.end(), outside.begin(), outside.end());
  Values results = results_of(
      append_blocks(program, "while_loop", std::move(operands),
                    {{"carried", static_cast<std::int64_t>(initial.size())}, {"limit", limit}},
                    condition, &body));
  results.pop_back();  // the number of steps
  return results;
}

}  // namespace trireme::nn
