// Names these ops: add, broadcast, cast, dim_size, gather, iota, less, rnn_schedule, row_splits,
// scatter_add, segment_ids, where, slice, sub, sum_rows

#include "transforms/time_order.h"

#include <algorithm>

#include "ir/blocks.h"
#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

bool is_gather_of_rows(const ir::Op* op) {
  return op != nullptr && op->name() == "gather" &&
         get_attribute<std::int64_t>(op->attributes, "axis") == 0;
}

}  // namespace

TimeOrder::TimeOrder(ir::Builder& b, ir::Value* splits)
    : b_(b), splits_(splits), rows_(*Dim::parse(splits->type.splits_of)) {
  for (const auto& op : b.program().main().ops) {
    if (op->name() == "rnn_schedule" && op->operands[0] == splits) {
      schedule_ = op.get();
      return;
    }
  }
  schedule_ = b.append("rnn_schedule", {splits});
}

ir::Value* TimeOrder::gathered(ir::Value* x, ir::Value* index) {
  if (const auto number = known_constant(x)) {
    ir::Type type = x->type;
    type.shape[0] = index->type.shape[0];
    return b_.constant(type, *number);
  }
  return b_.make("gather", {x, index});
}

// Returns the positions of rows in the order of time; numbers that are not rows stay unchanged.
ir::Value* TimeOrder::placed(ir::Value* rows) {
  const DType dtype = rows->type.dtype;
  ir::Value* places = schedule_->result(2);
  ir::Value* count = b_.make("dim_size", {places}, {{"axes", Integers{0}}, {"dtype", dtype}});
  count = b_.make("broadcast", {count}, {{"axes", Integers{}}, {"shape", rows->type.shape}});
  ir::Value* before = b_.make("less", {rows, b_.constant(rows->type, 0)});
  ir::Value* within = b_.make("less", {rows, count});
  ir::Value* place = gathered(places, rows);
  if (dtype != DType::i64) place = b_.make("cast", {place}, {{"dtype", dtype}});
  return b_.make("where", {before, rows, b_.make("where", {within, place, rows})});
}

// Whether x is in the order of time except for a final restore, or where it is computed.
bool TimeOrder::is_in_time(const ir::Value* x) const {
  const ir::Op* op = x->producer;
  if (op == nullptr || x->type.rank() == 0 || x->type.shape[0] != rows_) return false;
  if (is_gather_of_rows(op) && op->operands[1] == schedule_->result(2)) return true;
  const bool by_row = op->has(ir::Trait::elementwise) || op->def->row_wise;
  if (!by_row || op->results.size() != 1 || op->has(ir::Trait::library) ||
      op->has(ir::Trait::random)) {
    return false;
  }
  std::vector<bool> rows;
  bool any = false;
  for (const ir::Value* operand : op->operands) {
    const bool has = operand->type.rank() > 0 && operand->type.shape[0] == rows_;
    rows.push_back(has);
    if (!has) continue;
    if (is_in_time(operand)) any = true;
    else if (!known_constant(operand)) return false;
  }
  return any && (!op->def->row_wise || op->def->row_wise(*op, rows));
}

ir::Value* TimeOrder::ordered(ir::Value* x) {
  ir::Op* op = x->producer;
  ir::Value* rows = schedule_->result(1);
  if (is_gather_of_rows(op)) {
    if (op->operands[1] == schedule_->result(2)) return op->operands[0];
    const bool by_id = op->operands[1]->type.rank() == 1 && op->operands[1]->type.shape[0] == rows_;
    if (by_id)
      return b_.make("gather", {op->operands[0], gathered(op->operands[1], rows)}, op->attributes);
  }
  // A scatter_add of few rows is computed directly in this order.
  if (op != nullptr && op->name() == "scatter_add" && op->operands[0]->type.rank() == 1 &&
      op->operands[0]->type.shape[0] != rows_) {
    return b_.make("scatter_add", {placed(op->operands[0]), op->operands[1]}, op->attributes);
  }
  if (!is_in_time(x)) return gathered(x, rows);
  std::vector<ir::Value*> operands;
  for (ir::Value* operand : op->operands) {
    const bool has = operand->type.rank() > 0 && operand->type.shape[0] == rows_;
    operands.push_back(has ? ordered(operand) : operand);
  }
  return b_.make_like(*op, std::move(operands));
}

ir::Value* TimeOrder::sequences_ordered(ir::Value* x) { return gathered(x, schedule_->result(3)); }
ir::Value* TimeOrder::restored(ir::Value* x) { return gathered(x, schedule_->result(2)); }
ir::Value* TimeOrder::sequences_restored(ir::Value* x) { return gathered(x, schedule_->result(4)); }

ir::Value* TimeOrder::spread(ir::Value* x) {
  ir::Value* rank = b_.make("gather", {schedule_->result(4), b_.make("segment_ids", {splits_})});
  return gathered(x, b_.make("gather", {rank, schedule_->result(1)}));
}

ir::Value* TimeOrder::part(ir::Value* splits, int from) {
  const Dim count = splits->type.shape[0] - Dim(1);
  return b_.make("slice", {splits},
                 {{"limits", Shape{count + Dim(from)}}, {"starts", Shape{from}}});
}

ir::Value* TimeOrder::lengths(ir::Value* splits) {
  return b_.make("sub", {part(splits, 1), part(splits, 0)});
}

ir::Value* TimeOrder::splits_from(ir::Value* lengths, const std::string& rows) {
  return b_.make("row_splits", {lengths}, {{"rows", Shape{*Dim::parse(rows)}}});
}

ir::Value* TimeOrder::splits_ordered(ir::Value* splits, bool by_row) {
  ir::Value* order = schedule_->result(by_row ? 1 : 3);
  return splits_from(b_.make("gather", {lengths(splits), order}), splits->type.splits_of);
}

ir::Value* TimeOrder::inner_splits_ordered(ir::Value* splits, ir::Value* outer, bool by_row) {
  return splits_from(split_ordered(lengths(splits), outer, by_row), splits->type.splits_of);
}

ir::Value* TimeOrder::joined(ir::Value* outer, ir::Value* inner) {
  return splits_from(lengths(b_.make("gather", {inner, outer})), inner->type.splits_of);
}

// Sequence i of the result, split by `to`, is sequence order[i] of x, split by `from`.
ir::Value* TimeOrder::reorder_sequences(ir::Value* x, ir::Value* from, ir::Value* to,
                                        ir::Value* order) {
  if (const auto number = known_constant(x)) return b_.constant(x->type, *number);
  ir::Value* ids = b_.make("segment_ids", {to});
  ir::Value* begin = b_.make("gather", {b_.make("gather", {part(from, 0), order}), ids});
  const Shape shape{x->type.shape[0]};
  ir::Value* row = b_.make("iota", {}, {{"shape", shape}});
  ir::Value* position = b_.make("sub", {row, b_.make("gather", {part(to, 0), ids})});
  return b_.make("gather", {x, b_.make("add", {begin, position})});
}

ir::Value* TimeOrder::split_ordered(ir::Value* x, ir::Value* splits, bool by_row) {
  return reorder_sequences(x, splits, splits_ordered(splits, by_row),
                           schedule_->result(by_row ? 1 : 3));
}

ir::Value* TimeOrder::split_restored(ir::Value* x, ir::Value* splits, bool by_row) {
  return reorder_sequences(x, splits_ordered(splits, by_row), splits,
                           schedule_->result(by_row ? 2 : 4));
}

// Rewrites scatter_add and sum_rows of restored rows to add the rows in the order of time.
Replacement add_in_time(ir::Builder& b, const ir::Op& op) {
  if (op.name() != "scatter_add" && op.name() != "sum_rows") return std::nullopt;
  ir::Value* indices = op.operands[0];
  const ir::Op* restored = op.operands[1]->producer;
  if (!is_gather_of_rows(restored) || indices->type.rank() != 1) return std::nullopt;
  ir::Op* schedule = restored->operands[1]->producer;
  if (schedule == nullptr || schedule->name() != "rnn_schedule" ||
      restored->operands[1] != schedule->result(2)) {
    return std::nullopt;
  }
  ir::Value* ordered = b.make("gather", {indices, schedule->result(1)});
  const ir::Op* reordered = b.append(op.name(), {ordered, restored->operands[0]}, op.attributes);
  std::vector<ir::Value*> results;
  for (const auto& result : reordered->results) results.push_back(result.get());
  return results;
}

}  // namespace trireme::transforms
