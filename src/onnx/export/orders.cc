// Sorting, and sums and maxima of all elements up to each one.

#include <limits>

#include "onnx/export/attributes.h"
#include "onnx/export/exporter.h"

namespace trireme::onnx {
namespace {

// The dtype in which ONNX Runtime orders and adds numbers of a dtype.
DType ordered_dtype(DType dtype) {
  if (dtype == DType::u64) throw NotExported{"it orders or adds u64"};
  if (is_half(dtype)) return DType::f32;
  return is_float(dtype) || dtype == DType::i32 ? dtype : DType::i64;
}

std::string ordered(Exporter& e, const ir::Op& op, DType as) {
  return type_of(op, 0).dtype == as ? e.operand(op, 0) : e.cast(e.operand(op, 0), as);
}

// Of equal elements the first one comes first, as here.
void write_top(Exporter& e, const ir::Op& op, const std::string& k, bool largest,
               std::size_t indices) {
  const DType dtype = type_of(op, 0).dtype;
  const DType as = ordered_dtype(dtype);
  const auto results = e.node_with(
      2, "TopK", {ordered(e, op, as), k},
      {{"axis", axis_of(op)}, {"largest", std::int64_t{largest}}, {"sorted", std::int64_t{1}}});
  if (indices == 1) e.set(op, as == dtype ? results[0] : e.cast(results[0], dtype));
  e.set(op, results[1], indices);
}

std::string size_along_axis(Exporter& e, const ir::Op& op) {
  return e.size(type_of(op, 0).shape[static_cast<std::size_t>(axis_of(op))]);
}

void write_sort(Exporter& e, const ir::Op& op) {
  write_top(e, op, size_along_axis(e, op), flag(op, "descending"), 1);
}
void write_argsort(Exporter& e, const ir::Op& op) {
  write_top(e, op, size_along_axis(e, op), flag(op, "descending"), 0);
}
void write_top_k(Exporter& e, const ir::Op& op) {
  write_top(e, op, e.integers({integer_of(op, "k")}), flag(op, "largest"), 1);
}

// Floats are added in f64, as here.
void write_cumsum(Exporter& e, const ir::Op& op) {
  const DType dtype = type_of(op, 0).dtype;
  const DType as = is_float(dtype) ? DType::f64 : ordered_dtype(dtype);
  const std::string axis = e.scalar(static_cast<double>(axis_of(op)), DType::i64);
  const std::string sums = e.node("CumSum", {ordered(e, op, as), axis},
                                  {{"exclusive", std::int64_t{flag(op, "exclusive")}},
                                   {"reverse", std::int64_t{flag(op, "reverse")}}});
  e.set(op, as == dtype ? sums : e.cast(sums, dtype));
}

// Steps along the axis, each with the largest element so far and its index: of equal ones the last,
// and NaN counts as larger than every number.
void write_cummax(Exporter& e, const ir::Op& op) {
  const ir::Type& type = type_of(op, 0);
  const std::int64_t axis = axis_of(op);
  Shape line = type.shape;
  line.erase(line.begin() + axis);
  const double lowest = is_float(type.dtype) ? -std::numeric_limits<double>::infinity()
                                             : info_of(type.dtype).lowest_integer;
  const std::string before = e.filled(lowest, type.dtype, line);
  const std::string before_index = e.filled(0, DType::i64, line);
  const std::string steps = e.range(size_along_axis(e, op));
  e.begin_graph();
  const std::string largest = e.graph_input(type.dtype, line);
  const std::string index = e.graph_input(DType::i64, line);
  const std::string x = e.graph_input(type.dtype, line);
  const std::string step = e.graph_input(DType::i64, {});
  std::string is_new = e.node("GreaterOrEqual", {x, largest});
  if (is_float(type.dtype)) {
    const std::string after_nan = e.node("IsNaN", {largest});
    is_new =
        e.node("Or", {e.node("And", {is_new, e.node("Not", {after_nan})}), e.node("IsNaN", {x})});
  }
  const std::string next = e.node("Where", {is_new, x, largest});
  const std::string next_index = e.node("Where", {is_new, step, index});
  for (int i = 0; i < 2; ++i) {
    e.graph_output(next, type.dtype, line);
    e.graph_output(next_index, DType::i64, line);
  }
  const GraphBytes body = e.end_graph();
  const auto results = e.node_with(4, "Scan", {before, before_index, e.operand(op, 0), steps},
                                   {{"body", body},
                                    {"num_scan_inputs", std::int64_t{2}},
                                    {"scan_input_axes", Integers{axis, 0}},
                                    {"scan_output_axes", Integers{axis, axis}}});
  e.set(op, results[2], 0);
  e.set(op, results[3], 1);
}

constexpr ExportedOp kOrders[] = {
    {"argsort", write_argsort}, {"cummax", write_cummax}, {"cumsum", write_cumsum},
    {"sort", write_sort},       {"top_k", write_top_k},
};

}  // namespace

std::span<const ExportedOp> exported_orders() { return kOrders; }

}  // namespace trireme::onnx
