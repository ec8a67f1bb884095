#include "ops/index.h"

namespace trireme::ops {
namespace {

struct Flags {
  bool a, b;
};

Flags transpose_flags(const Attributes& attributes) {
  return {get_attribute<bool>(attributes, "transpose_a"),
          get_attribute<bool>(attributes, "transpose_b")};
}

// Returns the rows and columns of a matrix operand after transposition.
std::pair<Dim, Dim> matrix_of(const Shape& shape, bool transposed) {
  const Dim& rows = shape[shape.size() - 2];
  const Dim& columns = shape[shape.size() - 1];
  return transposed ? std::pair{columns, rows} : std::pair{rows, columns};
}

std::string pair_message(const TypeContext& c, const std::string& mistake) {
  return mistake + ": " + c.operand_texts[0] + ", " + c.operand_texts[1];
}

std::vector<Type> matmul_type(const TypeContext& c) {
  const Type& a = c.operands[0];
  const Type& b = c.operands[1];
  const Flags flags = transpose_flags(c.attributes);
  const std::optional<DType> dtype = product_dtype(a.dtype, b.dtype);
  require(
      dtype.has_value(),
      [&] { return pair_message(c, "both matrices must have one dtype, f32 or f64"); },
      "cast one of them; bytes (u8 or i8) are multiplied by i8 only");
  require(
      a.rank() >= 2 && b.rank() >= 2,
      [&] { return pair_message(c, "both operands must be matrices"); },
      "reshape a vector to one row or one column");
  const auto [m, k] = matrix_of(a.shape, flags.a);
  const auto [k_b, n] = matrix_of(b.shape, flags.b);
  require(
      k == k_b,
      [&, &k = k, &k_b = k_b] {
        return pair_message(c,
                            "the inner dimensions differ (" + k.str() + " and " + k_b.str() + ")");
      },
      "the last dimension of a must equal the second to last of b; transpose_a and transpose_b "
      "swap these dimensions");
  require(
      b.rank() == 2 ||
          Shape(a.shape.begin(), a.shape.end() - 2) == Shape(b.shape.begin(), b.shape.end() - 2),
      [&] { return pair_message(c, "the leading dimensions differ"); },
      "b has the leading dimensions of a, or is one matrix for all of them");
  Type result{*dtype, Shape(a.shape.begin(), a.shape.end() - 2), ""};
  result.shape.push_back(m);
  result.shape.push_back(n);
  return {result};
}

// The axis of a that is summed.
int summed_axis(const ir::Op& op) {
  return op.operands[0]->type.rank() - (transpose_flags(op.attributes).a ? 2 : 1);
}

void matmul_reference(const Reference& r) {
  const Flags flags = transpose_flags(r.op.attributes);
  const RefTensor& a = *r.operands[0];
  const RefTensor& b = *r.operands[1];
  const std::int64_t inner = a.shape[a.shape.size() - (flags.a ? 2 : 1)];
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    const std::size_t rank = index.size();
    Index ia = index;
    Index ib = b.shape.size() == 2 ? Index(2) : index;
    std::int64_t& row = ia[rank - (flags.a ? 1 : 2)];
    std::int64_t& column = ib[ib.size() - (flags.b ? 2 : 1)];
    std::int64_t& inner_a = ia[rank - (flags.a ? 2 : 1)];
    std::int64_t& inner_b = ib[ib.size() - (flags.b ? 1 : 2)];
    row = index[rank - 2];
    column = index[rank - 1];
    double total = 0;
    for (std::int64_t i = 0; i < inner; ++i) {
      inner_a = inner_b = i;
      total += at(a, ia) * at(b, ib);
    }
    at(*r.results[0], index) = total;
  });
}

Value swapped(const Value& x) {
  std::vector<std::int64_t> permutation;
  for (int i = 0; i < x.rank() - 2; ++i) permutation.push_back(i);
  permutation.push_back(x.rank() - 1);
  permutation.push_back(x.rank() - 2);
  return transpose(x, {.permutation = permutation});
}

// Merges all leading dimensions into the rows of one matrix.
Value flattened(const Value& x) {
  const Shape rows(x.shape().begin(), x.shape().end() - 1);
  return reshape(x, {.shape = {product(rows), x.dim(-1)}});
}

// The gradient if b is one matrix for all matrices of a. b must be the right operand of a product
// with it, and the gradient of b is one product over the rows of all matrices.
void shared_gradient(GradientContext& c, Flags flags) {
  const Value dy = c.gradient();
  if (c.needs_gradient(0)) {
    const Value da = matmul(dy, c.operand(1), {.transpose_b = !flags.b});
    c.accumulate(0, flags.a ? swapped(da) : da);
  }
  if (!c.needs_gradient(1)) return;
  const Value rows = flattened(flags.a ? swapped(c.operand(0)) : c.operand(0));
  const Value dy_rows = flattened(dy);
  c.accumulate(1, flags.b ? matmul(dy_rows, rows, {.transpose_a = true})
                          : matmul(rows, dy_rows, {.transpose_a = true}));
}

void matmul_gradient_rule(GradientContext& c) {
  const Flags flags = transpose_flags(c.op().attributes);
  const Value a = c.operand(0), b = c.operand(1), dy = c.gradient();
  if (a.rank() != b.rank()) return shared_gradient(c, flags);
  if (c.needs_gradient(0)) {
    c.accumulate(0, flags.a ? matmul(b, dy, {.transpose_a = flags.b, .transpose_b = true})
                            : matmul(dy, b, {.transpose_b = !flags.b}));
  }
  if (c.needs_gradient(1)) {
    c.accumulate(1, flags.b ? matmul(dy, a, {.transpose_a = true, .transpose_b = flags.a})
                            : matmul(a, dy, {.transpose_a = !flags.a}));
  }
}

Sample matmul_sample(std::vector<std::int64_t> a, std::vector<std::int64_t> b, bool transpose_a,
                     bool transpose_b) {
  Sample s;
  s.operands = {type_of(std::move(a)), type_of(std::move(b))};
  s.attributes = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}};
  return s;
}

}  // namespace

Op matmul() {
  Op op("matmul(a, b; transpose_a: bool = false, transpose_b: bool = false)");
  op.doc =
      "The matrix product over the last two axes.\n"
      "The product of [..., m, k] and [..., k, n] is [..., m, n].\n"
      "Both operands have the same leading axes; or b is one matrix for all matrices of a.\n"
      "They and the result are f32 or f64. Or a is u8 or i8, b is i8, and the result is i32, whose "
      "sums wrap.\n"
      "A transposed operand has the shape [..., k, m] or [..., n, k].";
  op.traits = bits(Trait::library);
  op.type = matmul_type;
  op.row_wise = [](const ir::Op& o, const std::vector<bool>& rows) {
    const bool stacked = o.operands[0]->type.rank() > 2;
    const bool b_stacked = o.operands[1]->type.rank() > 2;
    return rows[0] && rows[1] == b_stacked && (stacked || !transpose_flags(o.attributes).a);
  };
  op.row_additive = [](const ir::Op& o, const std::vector<bool>& rows) {
    const bool flat = o.operands[0]->type.rank() == 2 && o.operands[1]->type.rank() == 2;
    return flat && rows[0] && rows[1] && transpose_flags(o.attributes).a &&
           !transpose_flags(o.attributes).b;
  };
  op.mixed_axes = [](const ir::Op& o) { return std::vector<int>{summed_axis(o)}; };
  op.flops = [](const ir::Op& o) {
    const Dim summed = o.operands[0]->type.shape[static_cast<std::size_t>(summed_axis(o))];
    return Dim(2) * product(o.result()->type.shape) * summed;
  };
  op.library_kernel = "gemm";
  op.takes_epilogue = true;
  op.reference = matmul_reference;
  op.gradient = matmul_gradient_rule;
  op.torch_reference =
      "(lambda a, b: torch.matmul(a.transpose(-1, -2) if transpose_a else a, "
      "b.transpose(-1, -2) if transpose_b else b))(*(t if t.is_floating_point() else t.double() "
      "for t in x))";
  op.samples = {matmul_sample({5, 7}, {7, 3}, false, false),
                matmul_sample({7, 5}, {7, 3}, true, false),
                matmul_sample({5, 7}, {3, 7}, false, true),
                matmul_sample({7, 5}, {3, 7}, true, true),
                matmul_sample({2, 5, 7}, {2, 7, 3}, false, false),
                matmul_sample({2, 7, 5}, {2, 7, 3}, true, false),
                matmul_sample({2, 5, 7}, {2, 3, 7}, false, true),
                matmul_sample({2, 7, 5}, {2, 3, 7}, true, true),
                matmul_sample({2, 3, 5, 7}, {7, 4}, false, false),
                matmul_sample({2, 3, 7, 5}, {7, 4}, true, false),
                matmul_sample({3, 5, 7}, {4, 7}, false, true),
                matmul_sample({3, 7, 5}, {4, 7}, true, true),
                matmul_sample({1, 1}, {1, 1}, false, false),
                matmul_sample({0, 7}, {7, 3}, false, false),
                matmul_sample({4, 0}, {0, 3}, false, false),
                matmul_sample({0, 5, 7}, {7, 3}, false, false),
                matmul_sample({64, 40}, {40, 33}, false, false),
                of_bytes(matmul_sample({7, 18}, {18, 33}, false, false), DType::u8),
                of_bytes(matmul_sample({2, 3, 8}, {40, 8}, false, true), DType::i8),
                of_bytes(matmul_sample({9, 5}, {9, 6}, true, false), DType::i8),
                of_bytes(matmul_sample({0, 5}, {5, 6}, false, false), DType::u8),
                of_bytes(matmul_sample({2, 5, 7}, {2, 7, 3}, false, false), DType::u8)};
  return op;
}

}  // namespace trireme::ops
