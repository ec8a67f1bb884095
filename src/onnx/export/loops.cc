// Ops with blocks, except steps along sequences.

#include "onnx/export/attributes.h"
#include "onnx/export/exporter.h"

namespace trireme::onnx {
namespace {

void bind_arguments(Exporter& e, const ir::Block& block, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < block.arguments.size(); ++i)
    e.bind(block.arguments[i].get(), names[i]);
}

void write_cond(Exporter& e, const ir::Op& op) {
  std::vector<std::string> values;
  for (std::size_t i = 1; i < op.operands.size(); ++i) values.push_back(e.operand(op, i));
  std::vector<GraphBytes> graphs;
  for (const auto& block : op.blocks) {
    e.begin_graph();
    bind_arguments(e, *block, values);
    const std::vector<std::string> results = e.block(*block);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ir::Type& type = block->results[i]->type;
      e.graph_output(results[i], type.dtype, type.shape);
    }
    graphs.push_back(e.end_graph());
  }
  const auto results = e.node_with(op.results.size(), "If", {e.operand(op, 0)},
                                   {{"then_branch", graphs[0]}, {"else_branch", graphs[1]}});
  for (std::size_t i = 0; i < results.size(); ++i) e.set(op, results[i], i);
}

// The carried values have the number of steps after them. The condition of the first step is
// computed before the loop, and that of each next step at the end of a step.
void write_while_loop(Exporter& e, const ir::Op& op) {
  const auto carried = static_cast<std::size_t>(integer_of(op, "carried"));
  const ir::Block &condition = *op.blocks[0], &body = *op.blocks[1];
  std::vector<std::string> values;
  for (std::size_t i = 0; i < op.operands.size(); ++i) values.push_back(e.operand(op, i));
  bind_arguments(e, condition, values);
  std::vector<std::string> inputs = {e.constant(Tensor::scalar(integer_of(op, "limit"))),
                                     e.block(condition)[0]};
  inputs.insert(inputs.end(), values.begin(),
                values.begin() + static_cast<std::ptrdiff_t>(carried));
  inputs.push_back(e.scalar(0, DType::i64));
  e.begin_graph();
  const std::string step = e.graph_input(DType::i64, {});
  e.graph_input(DType::boolean, {});
  for (std::size_t i = 0; i < carried; ++i)
    values[i] = e.graph_input(type_of(op, i).dtype, type_of(op, i).shape);
  e.graph_input(DType::i64, {});
  bind_arguments(e, body, values);
  const std::vector<std::string> next = e.block(body);
  std::copy(next.begin(), next.end(), values.begin());
  bind_arguments(e, condition, values);
  e.graph_output(e.block(condition)[0], DType::boolean, {});
  for (std::size_t i = 0; i < carried; ++i)
    e.graph_output(next[i], type_of(op, i).dtype, type_of(op, i).shape);
  e.graph_output(e.node("Add", {step, e.scalar(1, DType::i64)}), DType::i64, {});
  const auto results = e.node_with(op.results.size(), "Loop", inputs, {{"body", e.end_graph()}});
  for (std::size_t i = 0; i < results.size(); ++i) e.set(op, results[i], i);
}

// Scan needs a sequence: the numbers of the steps are one.
void write_scan(Exporter& e, const ir::Op& op) {
  const auto carried = static_cast<std::size_t>(integer_of(op, "carried"));
  const auto sequences = static_cast<std::size_t>(integer_of(op, "sequences"));
  const ir::Block& body = *op.blocks[0];
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < carried + sequences; ++i) inputs.push_back(e.operand(op, i));
  inputs.push_back(e.range(e.size(get_attribute<Shape>(op.attributes, "length")[0])));
  e.begin_graph();
  std::vector<std::string> values;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ir::Type& type = body.arguments[i]->type;
    values.push_back(i < carried + sequences ? e.graph_input(type.dtype, type.shape)
                                             : e.operand(op, i));
  }
  e.graph_input(DType::i64, {});
  bind_arguments(e, body, values);
  const std::vector<std::string> next = e.block(body);
  for (std::size_t i = 0; i < next.size(); ++i) {
    const ir::Type& type = body.results[i]->type;
    e.graph_output(next[i], type.dtype, type.shape);
  }
  const std::int64_t backwards = flag(op, "reverse") ? 1 : 0;
  const auto results =
      e.node_with(op.results.size(), "Scan", inputs,
                  {{"body", e.end_graph()},
                   {"num_scan_inputs", static_cast<std::int64_t>(sequences + 1)},
                   {"scan_input_directions", Integers(sequences + 1, backwards)},
                   {"scan_output_directions", Integers(op.results.size() - carried, backwards)}});
  for (std::size_t i = 0; i < results.size(); ++i) e.set(op, results[i], i);
}

constexpr ExportedOp kLoops[] = {
    {"cond", write_cond},
    {"scan", write_scan},
    {"while_loop", write_while_loop},
};

}  // namespace

std::span<const ExportedOp> exported_loops() { return kLoops; }

}  // namespace trireme::onnx
