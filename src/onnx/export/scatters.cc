// Updates that are added, or compared, at places that indices name.
//
// ScatterElements is used throughout: ONNX Runtime may run the updates of ScatterND on several
// threads, which can lose some of those to one place.

#include "onnx/export/attributes.h"
#include "onnx/export/exporter.h"
#include "onnx/export/sequences.h"

namespace trireme::onnx {

std::string scattered_rows(Exporter& e, const ScatteredRows& s, const char* reduction) {
  Shape single(s.shape.size(), Dim(1));
  single[0] = s.shape[0];
  const std::string indices = e.expand(e.reshape(s.indices, single), s.shape);
  return e.node("ScatterElements", {s.start, indices, s.updates},
                {{"axis", std::int64_t{0}}, {"reduction", std::string(reduction)}});
}

namespace {

std::string indices_as_i64(Exporter& e, const ir::Op& op) {
  const std::string& x = e.operand(op, 0);
  return type_of(op, 0).dtype == DType::i64 ? x : e.cast(x, DType::i64);
}

// Negative rows are skipped: they go to a row more, which is then left out.
void write_scatter_add(Exporter& e, const ir::Op& op) {
  const ir::Type& updates = type_of(op, 1);
  const Shape& indices = type_of(op, 0).shape;
  const Shape& result = op.result()->type.shape;
  Shape flat(result.begin(), result.end()), more = result;
  flat[0] = product(indices);
  more[0] = result[0] + Dim(1);
  const std::string numbers = e.reshape(indices_as_i64(e, op), {flat[0]});
  const std::string is_negative = e.node("Less", {numbers, e.scalar(0, DType::i64)});
  const std::string rows = e.node("Where", {is_negative, e.size(result[0]), numbers});
  const std::string sums = scattered_rows(e,
                                          {.start = e.filled(0, updates.dtype, more),
                                           .indices = rows,
                                           .updates = e.reshape(e.operand(op, 1), flat),
                                           .shape = flat},
                                          "add");
  e.set(op, e.slice(sums, 0, 0, -1));
}

void write_scatter_add_along_axis(Exporter& e, const ir::Op& op) {
  const ir::Type& result = op.result()->type;
  const std::int64_t axis = from_front(integer_of(op, "axis"), result.shape.size());
  e.set(op,
        e.node("ScatterElements",
               {e.filled(0, result.dtype, result.shape), indices_as_i64(e, op), e.operand(op, 1)},
               {{"axis", axis}, {"reduction", std::string("add")}}));
}

// The first n axes as one, of which each tuple of indices names a row.
void write_scatter_add_nd(Exporter& e, const ir::Op& op) {
  const ir::Type& result = op.result()->type;
  const Shape& indices = type_of(op, 0).shape;
  const auto n = static_cast<std::ptrdiff_t>(indices.back().constant());
  const Shape places(result.shape.begin(), result.shape.begin() + n);
  const Shape row(result.shape.begin() + n, result.shape.end());
  Shape strides;
  for (std::ptrdiff_t i = 0; i < n; ++i)
    strides.push_back(product(Shape(places.begin() + i + 1, places.end())));
  const Dim count = product(Shape(indices.begin(), indices.end() - 1));
  const std::string tuples = e.reshape(indices_as_i64(e, op), {count, indices.back()});
  const std::string rows =
      e.node("ReduceSum", {e.node("Mul", {tuples, e.shape(strides)}), e.integers({1})},
             {{"keepdims", std::int64_t{0}}});
  Shape start = {product(places)}, flat = {count};
  start.insert(start.end(), row.begin(), row.end());
  flat.insert(flat.end(), row.begin(), row.end());
  const std::string sums = scattered_rows(e,
                                          {.start = e.filled(0, result.dtype, start),
                                           .indices = rows,
                                           .updates = e.reshape(e.operand(op, 1), flat),
                                           .shape = flat},
                                          "add");
  e.set(op, e.reshape(sums, result.shape));
}

constexpr ExportedOp kScatters[] = {
    {"scatter_add", write_scatter_add},
    {"scatter_add_along_axis", write_scatter_add_along_axis},
    {"scatter_add_nd", write_scatter_add_nd},
};

}  // namespace

std::span<const ExportedOp> exported_scatters() { return kScatters; }

}  // namespace trireme::onnx
