#include "codegen/testing/kernels.h"

namespace trireme::codegen::testing {

using namespace kernel_ir;  // NOLINT: a file of kernels

namespace {

constexpr std::int64_t kTile = 1024;

Buffer buffer(DType type, BufferRole role, std::string name) {
  return {.type = type, .role = role, .name = std::move(name)};
}

Kernel empty(std::string name, std::vector<Buffer> buffers, std::vector<std::string> sizes) {
  Kernel k;
  k.name = std::move(name);
  k.buffers = std::move(buffers);
  k.sizes = std::move(sizes);
  return k;
}

// parallel v0 over tiles, vector v1 over the elements of one; returns the element's number.
ExprId flat(Builder& b, std::vector<Stmt>& outer, Stmt& inner, int lanes) {
  const ExprId n = b.size(0);
  const ExprId tile = b.integer(kTile);
  b.kernel().loop_vars = 2;
  const ExprId start = b.mul(b.loop_var(0), tile);
  inner = make_loop(LoopKind::vector, 1, b.min(b.sub(n, start), tile), {}, lanes);
  outer.clear();
  return b.add(start, b.loop_var(1));
}

void finish_flat(Builder& b, Stmt inner) {
  const ExprId tiles = b.div(b.add(b.size(0), b.integer(kTile - 1)), b.integer(kTile));
  b.kernel().root = make_loop(LoopKind::parallel, 0, tiles, {std::move(inner)});
}

}  // namespace

Kernel elementwise_chain(int lanes) {
  Kernel k = empty("chain",
                   {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::input, "w"),
                    buffer(f32, BufferRole::output, "y")},
                   {"n"});
  Builder b(k);
  std::vector<Stmt> outer;
  Stmt inner{.kind = StmtKind::loop};
  const ExprId i = flat(b, outer, inner, lanes);
  const ExprId x = b.fma(b.load(0, i), b.load(1, i), b.constant(f32, 1));
  inner.body = {make_store(2, i, b.max(b.unary(ExprOp::tanh, x), b.constant(f32, 0.1)))};
  finish_flat(b, inner);
  return k;
}

Kernel unary_map(ExprOp op, DType type, int lanes) {
  Kernel k =
      empty(name_of(op),
            {buffer(type, BufferRole::input, "x"), buffer(type, BufferRole::output, "y")}, {"n"});
  Builder b(k);
  std::vector<Stmt> outer;
  Stmt inner{.kind = StmtKind::loop};
  const ExprId i = flat(b, outer, inner, lanes);
  inner.body = {make_store(1, i, b.unary(op, b.load(0, i)))};
  finish_flat(b, inner);
  return k;
}

Kernel cast_map(DType from, DType to, int lanes) {
  Kernel k = empty(
      "cast", {buffer(from, BufferRole::input, "x"), buffer(to, BufferRole::output, "y")}, {"n"});
  Builder b(k);
  std::vector<Stmt> outer;
  Stmt inner{.kind = StmtKind::loop};
  const ExprId i = flat(b, outer, inner, lanes);
  inner.body = {make_store(1, i, b.cast(b.load(0, i), to))};
  finish_flat(b, inner);
  return k;
}

Kernel row_softmax(int lanes, int unroll) {
  Kernel k =
      empty("softmax", {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::output, "y")},
            {"rows", "columns"});
  k.loop_vars = 2;
  k.accumulators = 2;
  Builder b(k);
  const ExprId columns = b.size(1);
  const ExprId i = b.add(b.mul(b.loop_var(0), columns), b.loop_var(1));
  const ExprId shifted = b.sub(b.load(0, i), b.accumulator(0, f32));
  const ExprId e = b.unary(ExprOp::exp, shifted);
  const ExprId scale = b.div(b.constant(f32, 1), b.accumulator(1, f32));
  const auto row = [&](std::vector<Stmt> body) {
    return make_loop(LoopKind::vector, 1, columns, std::move(body), lanes, unroll);
  };
  k.root = make_loop(
      LoopKind::parallel, 0, b.size(0),
      {make_declare(0, ReduceOp::max, f32), make_declare(1, ReduceOp::sum, f32),
       row({make_accumulate(0, ReduceOp::max, f32, b.load(0, i))}),
       row({make_accumulate(1, ReduceOp::sum, f32, e)}), row({make_store(1, i, b.mul(e, scale))})});
  return k;
}

Kernel layer_norm(int lanes, int unroll) {
  Kernel k = empty("layer_norm",
                   {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::input, "gain"),
                    buffer(f32, BufferRole::input, "bias"), buffer(f32, BufferRole::output, "y")},
                   {"rows", "columns"});
  k.loop_vars = 2;
  k.accumulators = 2;
  Builder b(k);
  const ExprId columns = b.size(1);
  const ExprId j = b.loop_var(1);
  const ExprId i = b.add(b.mul(b.loop_var(0), columns), j);
  const ExprId count = b.cast(columns, f32);
  const ExprId x = b.load(0, i);
  const ExprId centered = b.sub(x, b.div(b.accumulator(0, f32), count));
  const ExprId variance = b.div(b.accumulator(1, f32), count);
  const ExprId scale =
      b.div(b.constant(f32, 1), b.unary(ExprOp::sqrt, b.add(variance, b.constant(f32, 1e-5))));
  const auto row = [&](std::vector<Stmt> body) {
    return make_loop(LoopKind::vector, 1, columns, std::move(body), lanes, unroll);
  };
  const ExprId y = b.fma(b.mul(centered, scale), b.load(1, j), b.load(2, j));
  k.root = make_loop(
      LoopKind::parallel, 0, b.size(0),
      {make_declare(0, ReduceOp::sum, f32), row({make_accumulate(0, ReduceOp::sum, f32, x)}),
       make_declare(1, ReduceOp::sum, f32),
       row({make_accumulate(1, ReduceOp::sum, f32, b.mul(centered, centered))}),
       row({make_store(3, i, y)})});
  return k;
}

Kernel column_sums(int lanes) {
  Kernel k = empty("column_sums",
                   {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::output, "y")},
                   {"rows", "columns"});
  k.loop_vars = 3;
  k.accumulators = 1;
  Builder b(k);
  const ExprId columns = b.size(1);
  const ExprId start = b.mul(b.loop_var(0), b.integer(64));
  const ExprId j = b.add(start, b.loop_var(1));
  const ExprId i = b.add(b.mul(b.loop_var(2), columns), j);
  k.root = make_loop(LoopKind::parallel, 0, b.div(b.add(columns, b.integer(63)), b.integer(64)),
                     {make_loop(LoopKind::vector, 1, b.min(b.sub(columns, start), b.integer(64)),
                                {make_declare(0, ReduceOp::sum, f32),
                                 make_loop(LoopKind::serial, 2, b.size(0),
                                           {make_accumulate(0, ReduceOp::sum, f32, b.load(0, i))}),
                                 make_store(1, j, b.accumulator(0, f32))},
                                lanes)});
  return k;
}

Kernel row_argmax(int lanes, int unroll, ReduceOp op) {
  Kernel k = empty("argmax",
                   {buffer(f32, BufferRole::input, "x"), buffer(i64, BufferRole::output, "y"),
                    buffer(f32, BufferRole::output, "best")},
                   {"rows", "columns"});
  k.loop_vars = 2;
  k.accumulators = 1;
  Builder b(k);
  const ExprId columns = b.size(1);
  const ExprId i = b.add(b.mul(b.loop_var(0), columns), b.loop_var(1));
  k.root = make_loop(
      LoopKind::parallel, 0, b.size(0),
      {make_declare(0, op, f32),
       make_loop(LoopKind::vector, 1, columns,
                 {make_accumulate(0, op, f32, b.load(0, i), b.loop_var(1))}, lanes, unroll),
       make_store(1, b.loop_var(0), b.accumulator_index(0)),
       make_store(2, b.loop_var(0), b.accumulator(0, f32))});
  return k;
}

Kernel padded_shift(int lanes) {
  Kernel k = empty(
      "shift", {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::output, "y")}, {"n"});
  Builder b(k);
  std::vector<Stmt> outer;
  Stmt inner{.kind = StmtKind::loop};
  const ExprId i = flat(b, outer, inner, lanes);
  const ExprId from = b.sub(i, b.integer(3));
  const ExprId x = b.load(0, from, b.le(b.integer(0), from));
  inner.body = {make_store(1, i, x, b.binary(ExprOp::ne, i, b.integer(5)))};
  finish_flat(b, inner);
  return k;
}

Kernel broadcast_add(int lanes) {
  Kernel k = empty("broadcast",
                   {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::input, "b"),
                    buffer(f32, BufferRole::input, "c"), buffer(f32, BufferRole::output, "y")},
                   {"n", "inner", "channels"});
  Builder b(k);
  std::vector<Stmt> outer;
  Stmt inner{.kind = StmtKind::loop};
  const ExprId i = flat(b, outer, inner, lanes);
  const ExprId channel = b.rem(b.div(i, b.size(1)), b.size(2));
  const ExprId c = b.load(2, b.rem(i, b.integer(48)));
  inner.body = {make_store(3, i, b.fma(b.load(1, channel), c, b.load(0, i)))};
  finish_flat(b, inner);
  return k;
}

Kernel row_gather(int lanes) {
  Kernel k = empty("gather",
                   {buffer(f32, BufferRole::input, "table"), buffer(i64, BufferRole::input, "ids"),
                    buffer(f32, BufferRole::output, "y")},
                   {"rows", "columns"});
  k.loop_vars = 2;
  Builder b(k);
  const ExprId columns = b.size(1);
  const ExprId j = b.loop_var(1);
  const ExprId from = b.add(b.mul(b.load(1, b.loop_var(0)), columns), j);
  const ExprId to = b.add(b.mul(b.loop_var(0), columns), j);
  k.root = make_loop(
      LoopKind::parallel, 0, b.size(0),
      {make_loop(LoopKind::vector, 1, columns, {make_store(2, to, b.load(0, from))}, lanes)});
  return k;
}

Kernel transposed(int lanes) {
  Kernel k = empty("transposed",
                   {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::output, "y")},
                   {"rows", "columns"});
  k.loop_vars = 2;
  Builder b(k);
  const ExprId from = b.add(b.mul(b.loop_var(1), b.size(0)), b.loop_var(0));
  const ExprId to = b.add(b.mul(b.loop_var(0), b.size(1)), b.loop_var(1));
  k.root = make_loop(
      LoopKind::parallel, 0, b.size(0),
      {make_loop(LoopKind::vector, 1, b.size(1), {make_store(1, to, b.load(0, from))}, lanes)});
  return k;
}

Kernel adam(int lanes) {
  Kernel k = empty("adam",
                   {buffer(f32, BufferRole::inout, "p"), buffer(f32, BufferRole::inout, "m"),
                    buffer(f32, BufferRole::inout, "v"), buffer(f32, BufferRole::input, "g"),
                    buffer(f32, BufferRole::input, "rate")},
                   {"n"});
  Builder b(k);
  std::vector<Stmt> outer;
  Stmt inner{.kind = StmtKind::loop};
  const ExprId i = flat(b, outer, inner, lanes);
  const auto c = [&](double v) { return b.constant(f32, v); };
  const ExprId g = b.load(3, i);
  const ExprId m = b.fma(b.load(1, i), c(0.9), b.mul(g, c(0.1)));
  const ExprId v = b.fma(b.load(2, i), c(0.999), b.mul(b.mul(g, g), c(0.001)));
  const ExprId step = b.div(m, b.add(b.unary(ExprOp::sqrt, v), c(1e-8)));
  const ExprId p = b.sub(b.load(0, i), b.mul(b.load(4, b.integer(0)), step));
  inner.body = {make_store(1, i, m), make_store(2, i, v), make_store(0, i, p)};
  finish_flat(b, inner);
  return k;
}

Kernel scratch_rows(int lanes) {
  Kernel k = empty("scratch",
                   {buffer(f32, BufferRole::input, "x"), buffer(f32, BufferRole::scratch, "t"),
                    buffer(f32, BufferRole::output, "y")},
                   {"rows", "columns"});
  k.loop_vars = 2;
  Builder b(k);
  const ExprId columns = b.size(1);
  k.buffers[1].scratch_elements = columns;
  const ExprId j = b.loop_var(1);
  const ExprId i = b.add(b.mul(b.loop_var(0), columns), j);
  const ExprId x = b.load(0, i);
  const ExprId reversed = b.load(1, b.sub(b.sub(columns, b.integer(1)), j));
  const auto row = [&](std::vector<Stmt> body) {
    return make_loop(LoopKind::vector, 1, columns, std::move(body), lanes, 1);
  };
  k.root = make_loop(LoopKind::parallel, 0, b.size(0),
                     {row({make_store(1, j, b.mul(x, x)),
                           make_store(1, j, b.add(b.load(1, j), b.constant(f32, 1)))}),
                      row({make_store(2, i, b.add(reversed, b.load(1, j)))})});
  return k;
}

Kernel tiled_product(int rows, int lanes) {
  Kernel k = empty("product",
                   {buffer(f32, BufferRole::input, "a"), buffer(f32, BufferRole::input, "b"),
                    buffer(f32, BufferRole::output, "c"), buffer(f32, BufferRole::output, "d")},
                   {"m", "n", "k"});
  Builder b(k);
  k.loop_vars = 4;
  k.accumulators = rows;
  const ExprId m = b.size(0), n = b.size(1), depth = b.size(2);
  const ExprId column = b.loop_var(1), step = b.loop_var(2);
  const ExprId first = b.mul(b.loop_var(0), b.integer(rows));
  const ExprId b_value = b.load(1, b.add(b.mul(step, n), column));
  std::vector<Stmt> inner, body, stores;
  for (int r = 0; r < rows; ++r) {
    const ExprId row = b.add(first, b.integer(r));
    const ExprId a_row =
        b.min(row, b.sub(m, b.integer(1)));  // rows beyond the last: computed, not stored
    const ExprId a_value = b.load(0, b.add(b.mul(a_row, depth), step));
    body.push_back(make_declare(r, ReduceOp::sum, f32));
    inner.push_back(make_accumulate(r, ReduceOp::sum, f32, b.mul(a_value, b_value)));
    stores.push_back(make_store(2, b.add(b.mul(row, n), column),
                                b.add(b.accumulator(r, f32), b.cast(first, f32)), b.lt(row, m)));
  }
  body.push_back(make_loop(LoopKind::serial, 2, depth, inner));
  body.insert(body.end(), stores.begin(), stores.end());
  const ExprId tiles = b.div(b.add(m, b.integer(rows - 1)), b.integer(rows));
  const ExprId place = b.add(b.mul(b.loop_var(0), n), b.loop_var(3));
  const Stmt wide =
      make_loop(LoopKind::vector, 3, n, {make_store(3, place, b.cast(first, f32))}, 4 * lanes);
  k.root = make_loop(LoopKind::parallel, 0, tiles,
                     {make_loop(LoopKind::vector, 1, n, body, lanes), wide});
  return k;
}

Kernel byte_product(DType a, int lanes) {
  Kernel k = empty("bytes",
                   {buffer(a, BufferRole::input, "a"), buffer(i32, BufferRole::input, "b"),
                    buffer(i32, BufferRole::output, "c"), buffer(i32, BufferRole::output, "e"),
                    buffer(a, BufferRole::input, "lanes")},
                   {"m", "n", "k"});
  Builder b(k);
  k.loop_vars = 3;
  k.accumulators = 1;
  const ExprId m = b.size(0), n = b.size(1), depth = b.size(2);
  const ExprId row = b.loop_var(0), column = b.loop_var(1), step = b.loop_var(2);
  const ExprId word = b.add(b.mul(row, depth), step);
  const ExprId elements = b.integer(4 / static_cast<std::int64_t>(size_of(a)));
  const auto dot = [&](ExprId x, ExprId y) { return a == i16 ? b.dot2(x, y) : b.dot4(x, y); };
  const ExprId product =
      dot(b.load_word(0, b.mul(word, elements)), b.load(1, b.add(b.mul(step, n), column)));
  const ExprId place = b.add(b.mul(row, n), column);
  const ExprId own = b.load_word(4, b.mul(place, elements));
  k.root = make_loop(LoopKind::parallel, 0, m,
                     {make_loop(LoopKind::vector, 1, n,
                                {make_declare(0, ReduceOp::sum, i32),
                                 make_loop(LoopKind::serial, 2, depth,
                                           {make_accumulate(0, ReduceOp::sum, i32, product)}),
                                 make_store(2, place, b.accumulator(0, i32)),
                                 make_store(3, place, dot(own, b.load(1, column)))},
                                lanes)});
  return k;
}

}  // namespace trireme::codegen::testing
