// Rows of sequences: their numbers, sums and maxima, and steps along them.

#include "onnx/export/sequences.h"

#include <limits>
#include <set>

#include "ir/recurrence.h"
#include "onnx/export/attributes.h"

namespace trireme::onnx {

// A 1 at the first row after each sequence, and the sum of these up to each row.
std::string sequence_ids(Exporter& e, const std::string& splits, const Dim& rows) {
  const Shape all = {rows + Dim(1)};
  const std::string ends = e.slice(splits, 0, 1, kFarEnd);
  const std::string ones = e.node("Expand", {e.scalar(1, DType::i64), e.node("Shape", {ends})});
  const std::string marks = e.node("ScatterElements", {e.filled(0, DType::i64, all), ends, ones},
                                   {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
  const std::string ids = e.node("CumSum", {marks, e.scalar(0, DType::i64)});
  return e.slice(ids, 0, 0, -1);
}

namespace {

Dim rows_split_by(const ir::Op& op, std::size_t operand) {
  return *Dim::parse(type_of(op, operand).splits_of);
}

std::string sequence_lengths(Exporter& e, const std::string& splits) {
  return e.node("Sub", {e.slice(splits, 0, 1, kFarEnd), e.slice(splits, 0, 0, -1)});
}

void write_segment_ids(Exporter& e, const ir::Op& op) {
  e.set(op, sequence_ids(e, e.operand(op, 0), rows_split_by(op, 0)));
}

// Defines the number of the rows.
void write_row_splits(Exporter& e, const ir::Op& op) {
  const std::string sums = e.node("CumSum", {e.operand(op, 0), e.scalar(0, DType::i64)});
  const std::string splits = e.node("Concat", {e.integers({0}), sums}, {{"axis", std::int64_t{0}}});
  e.set(op, splits);
  const Dim rows = get_attribute<Shape>(op.attributes, "rows")[0];
  e.define_symbol(*rows.symbol(), e.slice(splits, 0, -1, kFarEnd));
}

void write_segment_sum(Exporter& e, const ir::Op& op) {
  const ir::Type& x = type_of(op, 0);
  const std::string ids = sequence_ids(e, e.operand(op, 1), x.shape[0]);
  e.set(op, scattered_rows(e,
                           {.start = e.filled(0, x.dtype, op.result()->type.shape),
                            .indices = ids,
                            .updates = e.operand(op, 0),
                            .shape = x.shape},
                           "add"));
}

// A boolean [count] beside rows of a rank.
std::string beside_rows(Exporter& e, const std::string& x, const Dim& count, std::size_t rank) {
  Shape single(rank, Dim(1));
  single[0] = count;
  return e.reshape(x, single);
}

// The position is the first row that equals the maximum of its sequence.
void write_segment_max(Exporter& e, const ir::Op& op) {
  const ir::Type& x = type_of(op, 0);
  const Shape& result = op.results[0]->type.shape;
  const std::string& splits = e.operand(op, 1);
  const std::string ids = sequence_ids(e, splits, x.shape[0]);
  const double lowest = is_float(x.dtype) ? -std::numeric_limits<double>::infinity()
                                          : info_of(x.dtype).lowest_integer;
  const std::string largest = scattered_rows(e,
                                             {.start = e.filled(lowest, x.dtype, result),
                                              .indices = ids,
                                              .updates = e.operand(op, 0),
                                              .shape = x.shape},
                                             "max");
  const std::string lengths = sequence_lengths(e, splits);
  const std::string empty =
      beside_rows(e, e.node("Equal", {lengths, e.scalar(0, DType::i64)}), result[0], result.size());
  e.set(op, e.node("Where", {empty, e.scalar(0, x.dtype), largest}));
  if (!e.is_used(op, 1)) return;
  const std::string rows = beside_rows(e, e.range(e.size(x.shape[0])), x.shape[0], result.size());
  const std::string is_largest =
      e.node("Equal", {e.operand(op, 0), e.node("Gather", {largest, ids})});
  const std::string beyond = e.scalar_of(e.size(x.shape[0]));
  const std::string first = scattered_rows(e,
                                           {.start = e.node("Expand", {beyond, e.shape(result)}),
                                            .indices = ids,
                                            .updates = e.node("Where", {is_largest, rows, beyond}),
                                            .shape = x.shape},
                                           "min");
  e.set(op, e.node("Where", {empty, e.scalar(-1, DType::i64), first}), 1);
}

// --- Steps along sequences ---------------------------------------------------------------------

// Looks for ops in a step that combine rows: without them, row r of every value depends on rows r
// alone, and a step may also compute rows of sequences that are over.
class RowByRow {
 public:
  RowByRow(const Exporter& e, const ir::Recurrence& rnn) : e_(e), rnn_(rnn) {}

  // The first op that combines rows, or one that makes such a state without rows; or null.
  const ir::Op* exception() const {
    for (const auto& op : rnn_.body.ops) {
      std::vector<bool> rows;
      for (const ir::Value* operand : op->operands) rows.push_back(has_rows(operand->type));
      const bool any = std::find(rows.begin(), rows.end(), true) != rows.end();
      if (!any || !e_.is_used(*op) || op->has(ir::Trait::elementwise)) continue;
      if (op->has(ir::Trait::sequences) || returns_operand(*op)) continue;
      const bool expands = rows[0] && op->def->expands_sequences && op->def->expands_sequences(*op);
      if (!expands && !(op->def->row_wise && op->def->row_wise(*op, rows))) return op.get();
    }
    for (std::size_t i = 0; i < rnn_.states; ++i) {
      const bool had_rows = has_rows(rnn_.body.arguments[i]->type);
      if (!had_rows && has_rows(rnn_.body.results[i]->type)) return &rnn_.op;
    }
    return nullptr;
  }

  static bool returns_operand(const ir::Op& op) {
    return op.name() == "check_indices" || op.name() == "check_finite" ||
           op.name() == "when_training";
  }

  bool has_rows(const ir::Type& type) const {
    if (type.shape.empty()) return false;
    const Dim first = type.splits_of.empty() ? type.shape[0] : type.shape[0] - Dim(1);
    return rnn_.dims.is_inside(first);
  }

 private:
  const Exporter& e_;
  const ir::Recurrence& rnn_;
};

// The rows of sequences as steps of all sequences, [steps, batch].
struct StepsOfRows {
  std::string row;     // i64: the row of each sequence at each step
  std::string inside;  // boolean: whether the sequence has the step
  std::string place;   // i64[rows]: where each row is among the steps, counted row by row
};

StepsOfRows steps_of_rows(Exporter& e, const ir::Recurrence& rnn, const std::string& splits) {
  const Dim &rows = rnn.dims.rows, &batch = rnn.dims.batch;
  const std::string lengths = sequence_lengths(e, splits);
  // At least one step: ONNX Runtime runs no Scan without.
  const std::string most = e.node(
      "ReduceMax", {e.node("Concat", {lengths, e.integers({1})}, {{"axis", std::int64_t{0}}})},
      {{"keepdims", std::int64_t{1}}});
  const std::string step = e.node("Unsqueeze", {e.range(most), e.integers({1})});
  const std::string begins = e.slice(splits, 0, 0, -1);
  const std::string last = e.node("Sub", {e.slice(splits, 0, 1, kFarEnd), e.integers({1})});
  StepsOfRows steps;
  steps.inside = e.node("Less", {step, lengths});
  steps.row = rnn.reverse ? e.node("Sub", {last, step}) : e.node("Add", {begins, step});
  steps.row = e.node("Where", {steps.inside, steps.row, e.scalar(0, DType::i64)});
  const std::string ids = sequence_ids(e, splits, rows);
  const std::string row = e.range(e.size(rows));
  const std::string at = rnn.reverse ? e.node("Sub", {e.node("Gather", {last, ids}), row})
                                     : e.node("Sub", {row, e.node("Gather", {begins, ids})});
  steps.place = e.node("Add", {e.node("Mul", {at, e.size(batch)}), ids});
  return steps;
}

// The graph of a step: its inputs are the states, which sequences have the step, and their rows.
GraphBytes step_graph(Exporter& e, const ir::Recurrence& rnn, const RowByRow& by_row) {
  const ir::Block& body = rnn.body;
  const std::string batch = e.size(rnn.dims.batch);
  e.begin_graph();
  e.define_symbol(*rnn.dims.active.symbol(), batch);
  for (const auto& [inside, outside] : rnn.dims.of_others)
    e.define_symbol(*inside.symbol(), e.size(outside));
  std::vector<std::string> before;
  for (std::size_t i = 0; i < rnn.states; ++i) {
    const ir::Type& type = body.arguments[i]->type;
    before.push_back(e.graph_input(type.dtype, type.shape));
    e.bind(body.arguments[i].get(), before.back());
  }
  const std::string inside = e.graph_input(DType::boolean, {rnn.dims.active});
  for (std::size_t i = rnn.states; i < rnn.states + rnn.sequences; ++i) {
    const ir::Type& type = body.arguments[i]->type;
    e.bind(body.arguments[i].get(), e.graph_input(type.dtype, type.shape));
  }
  for (std::size_t i = rnn.states + rnn.sequences; i < body.arguments.size(); ++i)
    e.bind(body.arguments[i].get(), e.name(rnn.operand(i)));
  std::vector<std::string> results = e.block(body);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ir::Type& type = body.results[i]->type;
    if (i < rnn.states && by_row.has_rows(type)) {
      const std::string mask = beside_rows(e, inside, rnn.dims.active, type.shape.size());
      results[i] = e.node("Where", {mask, results[i], before[i]});
    }
    e.graph_output(results[i], type.dtype, type.shape);
  }
  return e.end_graph();
}

// The rows [rows, ...] of steps [steps, batch, ...].
std::string rows_of_steps(Exporter& e, const std::string& x, const std::string& place,
                          const Shape& result) {
  const Shape row(result.begin() + 1, result.end());
  const std::string count = e.node("ReduceProd", {e.node("Shape", {x}, {{"end", std::int64_t{2}}})},
                                   {{"keepdims", std::int64_t{1}}});
  const std::string shape =
      row.empty() ? count : e.node("Concat", {count, e.shape(row)}, {{"axis", std::int64_t{0}}});
  return e.node("Gather", {e.reshape_to(x, shape), place}, {{"axis", std::int64_t{0}}});
}

// Steps of sequences that are over read row 0, which must exist.
std::string with_a_row_more(Exporter& e, const ir::Value& x) {
  const std::size_t rank = x.type.shape.size();
  Integers pads(2 * rank, 0);
  pads[rank] = 1;
  return e.node("Pad", {e.name(&x), e.integers(pads), e.scalar(0, x.type.dtype)});
}

void write_rnn(Exporter& e, const ir::Op& op) {
  const ir::Recurrence rnn(op);
  const RowByRow by_row(e, rnn);
  if (!rnn.dims.of_sequences.empty()) throw NotExported{"its steps have sequences of their own"};
  if (const ir::Op* mixing = by_row.exception()) {
    throw NotExported{"its step combines rows of several sequences: " + mixing->location.str() +
                      " (" + mixing->name() + ")"};
  }
  const StepsOfRows steps = steps_of_rows(e, rnn, e.operand(op, 0));
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < rnn.states; ++i) inputs.push_back(e.name(rnn.operand(i)));
  inputs.push_back(steps.inside);
  for (std::size_t i = rnn.states; i < rnn.states + rnn.sequences; ++i) {
    if (!rnn.operand(i)->type.splits_of.empty())
      throw NotExported{"its steps have sequences of their own"};
    inputs.push_back(e.node("Gather", {with_a_row_more(e, *rnn.operand(i)), steps.row}));
  }
  const GraphBytes body = step_graph(e, rnn, by_row);
  const auto results = e.node_with(
      op.results.size(), "Scan", inputs,
      {{"body", body}, {"num_scan_inputs", static_cast<std::int64_t>(rnn.sequences + 1)}});
  for (std::size_t i = 0; i < results.size(); ++i) {
    e.set(op,
          i < rnn.states ? results[i]
                         : rows_of_steps(e, results[i], steps.place, op.results[i]->type.shape),
          i);
  }
}

constexpr ExportedOp kSequences[] = {
    {"rnn", write_rnn},
    {"row_splits", write_row_splits},
    {"segment_ids", write_segment_ids},
    {"segment_max", write_segment_max},
    {"segment_sum", write_segment_sum},
};

}  // namespace

std::span<const ExportedOp> exported_sequences() { return kSequences; }

}  // namespace trireme::onnx
