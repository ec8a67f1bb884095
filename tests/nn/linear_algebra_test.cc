// Linear algebra in a Session: errors at run time, numbers that are not finite, and larger matrices
// than those of tests/conformance, which are checked by what defines their factors.

#include "trireme/linalg.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/testing/error.h"
#include "trireme/functions.h"
#include "trireme/gradients.h"
#include "trireme/indexing.h"
#include "trireme/nn.h"
#include "trireme/session.h"

namespace trireme {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using OfMatrix = std::function<Value(const Value&)>;

std::vector<double> run_on_matrix(const Shape& symbols, const std::vector<std::int64_t>& shape,
                                  const std::vector<double>& numbers, const OfMatrix& build,
                                  DType dtype = f64) {
  Program program;
  const Value x = program.input("x", dtype, symbols);
  const Value y = cast(build(x), f64);
  Session session(program, {.threads = 2});
  const Tensor fed = Tensor::from(shape, numbers).cast(dtype);
  return session.run({{"x", fed}}, {y})[0].to_vector<double>();
}

std::vector<double> scattered(std::int64_t count) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(i) * 2654435761u;
    x.push_back((bits >> 8) * 0x1p-23 - 1);
  }
  return x;
}

TEST(LinearAlgebra, RefusesMatricesWithoutFactors) {
  const Shape stack{batch, 2, 2};
  const std::vector<double> second_is_singular{1, 2, 3, 4, 1, 2, 2, 4};
  EXPECT_THAT(error_of(ErrorKind::data,
                       [&] {
                         run_on_matrix(stack, {2, 2, 2}, second_is_singular,
                                       [](auto& x) { return solve(x, x); });
                       }),
              testing::AllOf(HasSubstr("solve: matrix 1 is singular"),
                             HasSubstr("linear_algebra_test.cc:")));
  const std::vector<double> indefinite{1, 2, 2, 1};
  const auto refusal = [&](const std::vector<double>& numbers) {
    return error_of(ErrorKind::data, [&] {
      run_on_matrix({2, 2}, {2, 2}, numbers, [](auto& x) { return cholesky(x); });
    });
  };
  EXPECT_THAT(refusal(indefinite), HasSubstr("cholesky: the matrix is not positive definite"));
  EXPECT_THAT(refusal({1, NAN, 0, 1}), HasSubstr("not positive definite"));
  EXPECT_THAT(run_on_matrix(stack, {2, 2, 2}, second_is_singular, [](auto& x) { return det(x); }),
              ElementsAre(testing::DoubleNear(-2, 1e-14), 0));
}

TEST(LinearAlgebra, NumbersThatAreNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (const OfMatrix& build : std::vector<OfMatrix>{
             [](auto& x) { return solve(x, x); }, [](auto& x) { return slogdet(x)[0]; },
             [](auto& x) { return eigh(x)[0]; }, [](auto& x) { return qr(x)[1]; },
             [](auto& x) { return svd(x)[2]; }}) {
      EXPECT_THAT(run_on_matrix({2, 2}, {2, 2}, {1, bad, 3, 4}, build), Each(IsNan()));
      EXPECT_THAT(run_on_matrix({2, 2}, {2, 2}, {1, bad, 3, 4}, build, f32), Each(IsNan()));
    }
  }
}

// Factors of equal and of zero values are not unique, but their products are.
TEST(LinearAlgebra, FactorsOfSpecialMatrices) {
  const auto rebuilt = [](const Value& x) {
    const auto parts = svd(x);
    return matmul(parts[0] * unsqueeze(parts[1], -2), parts[2]);
  };
  EXPECT_THAT(run_on_matrix({2, 2}, {2, 2}, {0, 0, 0, 0}, rebuilt), Each(0));
  EXPECT_THAT(run_on_matrix({2, 3}, {2, 3}, {1, 2, 3, 2, 4, 6}, rebuilt),
              testing::Pointwise(testing::DoubleNear(1e-13), {1, 2, 3, 2, 4, 6}));
  EXPECT_THAT(run_on_matrix({2, 2}, {2, 2}, {3, 0, 0, 3}, [](auto& x) { return eigh(x)[1]; }),
              ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(run_on_matrix({2, 2}, {2, 2}, {-2, 5, 0, -3}, [](auto& x) { return qr(x)[1]; }),
              ElementsAre(2, -5, 0, 3));
}

// The second left vector of [1, 2; 2, 4] = 5 u v^T is orthogonal to the first, so its change is
// -u (w dx v) / 5 with w = (2, -1) / sqrt(5). Its singular value 0 is a rounding error.
TEST(LinearAlgebra, GradientOfVectorsOfASingularMatrix) {
  for (const DType dtype : {f64, f32}) {
    Program program;
    const Value x = program.input("x", dtype, {2, 2});
    const Value element = slice(svd(x)[0], {.starts = {0, 1}, .limits = {1, 2}});
    const Value dx = cast(gradients(sum(element), {x})[0], f64);
    Session session(program, {.threads = 1});
    const Tensor fed = Tensor::from<double>({2, 2}, {1, 2, 2, 4}).cast(dtype);
    const double part = 1 / (25 * std::sqrt(5.0));
    EXPECT_THAT(session.run({{"x", fed}}, {dx})[0].to_vector<double>(),
                testing::Pointwise(testing::DoubleNear(dtype == f64 ? 1e-12 : 1e-6),
                                   {-2 * part, -4 * part, part, 2 * part}));
  }
}

TEST(LinearAlgebra, LargeMatrices) {
  constexpr std::int64_t kRows = 150, kColumns = 70;
  const std::vector<double> x = scattered(kRows * kColumns), square = scattered(kRows * kRows);
  const auto near = [](const std::vector<double>& expected) {
    return testing::Pointwise(testing::DoubleNear(1e-10), expected);
  };
  EXPECT_THAT(run_on_matrix({kRows, kColumns}, {kRows, kColumns}, x,
                            [](auto& v) {
                              const auto parts = qr(v);
                              return matmul(parts[0], parts[1]);
                            }),
              near(x));
  for (const bool wide : {false, true}) {
    const Shape shape = wide ? Shape{kColumns, kRows} : Shape{kRows, kColumns};
    EXPECT_THAT(run_on_matrix(shape, evaluate(shape, {}), x,
                              [](auto& v) {
                                const auto parts = svd(v);
                                return matmul(parts[0] * unsqueeze(parts[1], -2), parts[2]);
                              }),
                near(x));
  }
  EXPECT_THAT(run_on_matrix({kRows, kRows}, {kRows, kRows}, square,
                            [](auto& v) {
                              const Value shifted = v + ones_like(v) * 0.0;
                              return matmul(shifted, solve(shifted, v));
                            }),
              testing::Pointwise(testing::DoubleNear(1e-6), square));
  const auto difference = [](const Value& v) {
    const auto parts = eigh(v);
    const Value rebuilt =
        matmul(parts[1] * unsqueeze(parts[0], -2), parts[1], {.transpose_b = true});
    return rebuilt - (v + transpose(v, {1, 0})) * 0.5;
  };
  EXPECT_THAT(run_on_matrix({kRows, kRows}, {kRows, kRows}, square, difference),
              Each(testing::DoubleNear(0, 1e-10)));
}

TEST(LinearAlgebra, RefusesShapes) {
  Program program;
  const Value x = program.input("x", f32, {2, 3}), v = program.input("v", f32, {3});
  const Value i = program.input("i", i64, {2, 2});
  const auto refusal = [](const auto& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(refusal([&] { solve(x, x); }), HasSubstr("square matrices"));
  EXPECT_THAT(refusal([&] { cholesky(v); }), HasSubstr("matrices [..., m, n]"));
  EXPECT_THAT(refusal([&] { slogdet(i); }), HasSubstr("f32 or f64"));
  EXPECT_THAT(refusal([&] { qr(x); }), HasSubstr("at least as many rows"));
  EXPECT_THAT(refusal([&] { inverse(x); }), HasSubstr("square matrices"));
  EXPECT_THAT(refusal([&] { eigh(x); }), HasSubstr("square matrices"));
  EXPECT_THAT(refusal([&] { svd(v); }), HasSubstr("matrices [..., m, n]"));
}

}  // namespace
}  // namespace trireme
