#include "kernel_ir/kernel.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "kernel_ir/testing/random_kernel.h"

namespace trireme::kernel_ir {
namespace {

class BuilderTest : public ::testing::Test {
 protected:
  BuilderTest() : b(kernel) {
    kernel.sizes = {"n", "m"};
    kernel.loop_vars = 3;
    kernel.buffers = {{f32, BufferRole::input, "x"}, {i64, BufferRole::input, "ids"}};
    n = b.size(0);
    m = b.size(1);
    i = b.loop_var(0);
    j = b.loop_var(1);
  }
  ExprId c(std::int64_t value) { return b.integer(value); }

  Kernel kernel;
  Builder b;
  ExprId n, m, i, j;
};

TEST_F(BuilderTest, HalvesAreLoadedCastAndStored) {
  for (const DType half : {bf16, f16}) {
    kernel.buffers.push_back({half, BufferRole::inout, "h"});
    const auto buffer = static_cast<std::int32_t>(kernel.buffers.size()) - 1;
    const ExprId h = b.load(buffer, i), wide = b.cast(h, f32);
    EXPECT_THROW(b.add(h, h), Error);
    EXPECT_THROW(b.lt(h, h), Error);
    EXPECT_THROW(b.unary(ExprOp::exp, h), Error);
    EXPECT_EQ(b.cast(wide, half), h) << "nothing was lost";
    EXPECT_NE(b.cast(b.add(wide, wide), half), h);
    const Expr& by_way = kernel.expr(b.cast(h, f64));
    EXPECT_EQ(kernel.expr(by_way.args[0]).type, f32);
    // 1 + 2^-8 + 2^-16: above the middle of two bf16; 1 + 2^-11: the middle of two f16.
    const double number = half == bf16 ? 0x1.0101p0 : 0x1.002p0;
    EXPECT_EQ(kernel.expr(b.cast(b.constant(f32, number), half)).number,
              half == bf16 ? 0x1.02p0 : 1.0);
    kernel.root = make_loop(LoopKind::parallel, 0, n,
                            {make_store(buffer, i, b.cast(b.add(wide, wide), half))});
    verify(kernel);
    EXPECT_EQ(print(parse(print(kernel))), print(kernel));
    kernel.add({.op = ExprOp::neg, .type = half, .args = {h, kNoExpr, kNoExpr}});
    EXPECT_THROW(verify(kernel), Error);
    kernel = Kernel();
    kernel.sizes = {"n", "m"};
    kernel.loop_vars = 3;
    i = b.loop_var(0);
    n = b.size(0);
  }
}

TEST_F(BuilderTest, EqualExpressionsAreOneNode) {
  EXPECT_EQ(b.add(i, j), b.add(j, i));
  EXPECT_EQ(b.mul(b.add(i, n), j), b.mul(j, b.add(n, i)));
  EXPECT_NE(b.sub(i, j), b.sub(j, i));
  EXPECT_NE(b.constant(f32, 0.0), b.constant(f32, -0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(b.constant(f32, nan), b.constant(f32, -nan));
  EXPECT_EQ(b.constant(f32, 0.1), b.constant(f32, static_cast<double>(0.1f)));
}

TEST_F(BuilderTest, ConstantsFold) {
  EXPECT_EQ(b.add(c(2), c(3)), c(5));
  EXPECT_EQ(b.div(c(7), c(0)), c(0));
  EXPECT_EQ(b.rem(c(-7), c(4)), c(-3));
  EXPECT_EQ(b.add(b.integer(250, u8), b.integer(10, u8)), b.integer(4, u8));
  EXPECT_EQ(b.cast(b.constant(f32, 300.7), u8), b.integer(255, u8));
  EXPECT_EQ(b.cast(b.constant(f32, std::numeric_limits<double>::quiet_NaN()), i32),
            b.integer(0, i32));
  EXPECT_EQ(b.cast(b.constant(f64, 1e300), i64),
            b.integer(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(b.lt(c(1), c(2)), b.boolean(true));
  EXPECT_EQ(b.bitcast(b.constant(f32, 1.0), i32), b.integer(0x3f800000, i32));
}

TEST_F(BuilderTest, IdentitiesFold) {
  EXPECT_EQ(b.add(i, c(0)), i);
  EXPECT_EQ(b.mul(c(1), i), i);
  EXPECT_EQ(b.mul(i, c(0)), c(0));
  EXPECT_EQ(b.div(i, c(1)), i);
  EXPECT_EQ(b.rem(i, c(1)), c(0));
  EXPECT_EQ(b.sub(i, i), c(0));
  EXPECT_EQ(b.sub(b.add(i, n), n), i);
  EXPECT_EQ(b.add(b.add(i, c(3)), c(-3)), i);
  EXPECT_EQ(b.mul(b.mul(i, c(4)), c(8)), b.mul(i, c(32)));
  EXPECT_EQ(b.select(b.boolean(true), i, j), i);
  EXPECT_EQ(b.select(b.lt(i, j), n, n), n);
  EXPECT_EQ(b.load(0, i, b.boolean(true)), b.load(0, i));
  EXPECT_EQ(b.load(0, i, b.boolean(false)), b.constant(f32, 0));
  EXPECT_EQ(b.logical_and(b.lt(i, n), b.boolean(true)), b.lt(i, n));
}

TEST_F(BuilderTest, FloatsFoldOnlyWhereNoBitChanges) {
  const ExprId x = b.load(0, i);
  EXPECT_EQ(b.mul(x, b.constant(f32, 1)), x);
  EXPECT_EQ(b.add(x, b.constant(f32, -0.0)), x);
  EXPECT_NE(b.add(x, b.constant(f32, 0.0)), x);  // -0 + 0 is +0
  EXPECT_NE(b.mul(x, b.constant(f32, 0)), b.constant(f32, 0));
  EXPECT_NE(b.sub(x, x), b.constant(f32, 0));
  EXPECT_EQ(b.binary(ExprOp::pow, x, b.constant(f32, 2)), b.mul(x, x));
}

TEST_F(BuilderTest, DivisionByAStrideFolds) {
  b.set_extent(1, m);
  const ExprId flat = b.add(b.mul(i, m), j);
  EXPECT_EQ(b.div(flat, m), i);
  EXPECT_EQ(b.rem(flat, m), j);
  b.set_extent(2, c(8));
  const ExprId k = b.loop_var(2);
  const ExprId block = b.add(b.mul(i, c(64)), k);
  EXPECT_EQ(b.div(block, c(8)), b.mul(i, c(8)));
  EXPECT_EQ(b.rem(block, c(64)), k);
  EXPECT_EQ(b.div(b.div(i, c(4)), c(2)), b.div(i, c(8)));
  EXPECT_EQ(b.rem(b.rem(i, c(32)), c(8)), b.rem(i, c(8)));
  EXPECT_EQ(b.lt(k, c(8)), b.boolean(true));
  // Nothing is known of a loaded number: it may be negative.
  const ExprId loaded = b.load(1, i);
  EXPECT_NE(b.div(b.add(b.mul(loaded, c(8)), k), c(8)), loaded);
  // The loop variable is not known to be below n.
  EXPECT_NE(b.rem(j, n), j);
}

TEST_F(BuilderTest, WrongTypesAreRefused) {
  EXPECT_THROW(b.add(i, b.constant(f32, 1)), Error);
  EXPECT_THROW(b.unary(ExprOp::exp, i), Error);
  EXPECT_THROW(b.select(i, i, i), Error);
  EXPECT_THROW(b.bitcast(b.constant(f32, 1), i64), Error);
  EXPECT_THROW(b.load(5, i), Error);
  EXPECT_THROW(b.binary(ExprOp::bit_and, b.load(0, i), b.load(0, i)), Error);
}

TEST(Text, PrintAndParseAreInverses) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Kernel kernel = testing::random_kernel(seed);
    verify(kernel);
    const std::string text = print(kernel);
    const Kernel back = parse(text);
    ASSERT_EQ(print(back), text);
    ASSERT_EQ(back.exprs().size(), kernel.exprs().size());
    for (std::size_t i = 0; i < kernel.exprs().size(); ++i) {
      ASSERT_TRUE(back.exprs()[i] == kernel.exprs()[i]) << "seed " << seed << " %" << i;
    }
    EXPECT_EQ(back.name, kernel.name);
    verify(back);
  }
}

TEST(Text, ExpandedMathsKeepsToTheText) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Kernel kernel = testing::random_kernel(seed);
    expand_math(kernel);
    verify(kernel);
    EXPECT_EQ(print(parse(print(kernel))), print(kernel));
    for (const Expr& e : kernel.exprs()) {
      EXPECT_FALSE(e.type == f32 && e.op == ExprOp::exp);
    }
  }
}

TEST(Text, DamagedTextIsRefusedNotObeyed) {
  const std::string text = print(testing::random_kernel(3));
  EXPECT_THROW(parse(""), Error);
  EXPECT_THROW(parse(text.substr(0, text.size() / 2)), Error);
  EXPECT_THROW(parse(text + "x"), Error);
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    try {
      verify(parse(damaged));
    } catch (const Error& e) {
      EXPECT_FALSE(std::string(e.what()).empty());
    }
  }
}

// A row sum, valid; tests break one thing at a time.
Kernel row_sum() {
  Kernel k;
  k.name = "row_sum";
  k.sizes = {"rows", "columns"};
  k.buffers = {{f32, BufferRole::input, "x"}, {f32, BufferRole::output, "y"}};
  k.loop_vars = 2;
  k.accumulators = 1;
  Builder b(k);
  const ExprId at = b.add(b.mul(b.loop_var(0), b.size(1)), b.loop_var(1));
  k.root = make_loop(LoopKind::parallel, 0, b.size(0),
                     {make_declare(0, ReduceOp::sum, f32),
                      make_loop(LoopKind::vector, 1, b.size(1),
                                {make_accumulate(0, ReduceOp::sum, f32, b.load(0, at))}, 8, 4),
                      make_store(1, b.loop_var(0), b.accumulator(0, f32))});
  return k;
}

void expect_refused(const Kernel& kernel, const std::string& part) {
  try {
    verify(kernel);
    ADD_FAILURE() << "accepted; expected to hear of: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::internal);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Verify, AcceptsAndRefuses) {
  verify(row_sum());
  Kernel k = row_sum();
  k.root.loop_kind = LoopKind::serial;
  expect_refused(k, "parallel");

  k = row_sum();
  k.root.body[1].lanes = 6;
  expect_refused(k, "lanes");

  k = row_sum();
  k.root.body[1].loop_var = 0;
  expect_refused(k, "same variable");

  k = row_sum();
  k.root.body.erase(k.root.body.begin());
  expect_refused(k, "not declared");

  k = row_sum();
  k.root.body[0].reduce = ReduceOp::max;
  expect_refused(k, "another reduction");

  k = row_sum();
  k.root.body[2].buffer = 0;
  expect_refused(k, "input");

  k = row_sum();
  Builder b(k);
  k.root.body[2].index = b.loop_var(1);
  expect_refused(k, "outside its loop");

  k = row_sum();
  k.buffers[0].role = BufferRole::output;
  expect_refused(k, "load");

  k = row_sum();
  k.root.body[1].body.push_back(make_loop(LoopKind::vector, 0, k.root.extent, {}, 8));
  k.root.body[1].body.back().loop_var = 1;
  expect_refused(k, "vector loop inside");

  k = row_sum();
  k.root.extent = k.root.body[2].index;
  expect_refused(k, "outside its loop");
}

}  // namespace
}  // namespace trireme::kernel_ir
