// Compiled code against the interpreter, bit for bit, on every instruction set this machine has.

#include <gtest/gtest.h>

#include "codegen/testing/harness.h"
#include "codegen/testing/kernels.h"
#include "kernel_ir/testing/random_kernel.h"

namespace trireme::codegen {
namespace {

using kernel_ir::ExprOp;
using kernel_ir::Kernel;
using kernel_ir::ReduceOp;
using testing::Comparison;
using testing::Memory;

constexpr std::int64_t kLengths[] = {0, 1, 3, 7, 15, 16, 17, 64, 100, 1030};

std::int64_t tiles(std::int64_t n) { return (n + 1023) / 1024; }

void check_flat(const Kernel& kernel) {
  Comparison comparison(kernel);
  for (const std::int64_t n : kLengths) {
    const std::vector<std::int64_t> elements(kernel.buffers.size(), n);
    EXPECT_EQ(comparison.run({n}, elements, tiles(n), 7), "") << kernel.name << " of " << n;
  }
}

// Buffers of `kernel` are rows * columns, or as `elements` says.
using Elements = std::vector<std::int64_t> (*)(std::int64_t rows, std::int64_t columns);

void check_rows(const Kernel& kernel, Elements elements, bool over_rows = true) {
  Comparison comparison(kernel);
  for (const std::int64_t rows : {0, 1, 3, 9}) {
    for (const std::int64_t columns : kLengths) {
      const std::int64_t end = over_rows ? rows : (columns + 63) / 64;
      EXPECT_EQ(comparison.run({rows, columns}, elements(rows, columns), end, 11), "")
          << kernel.name << " " << rows << " x " << columns;
    }
  }
}

TEST(LlvmCodegen, ElementwiseChain) {
  for (const int lanes : {1, 4, 16}) check_flat(testing::elementwise_chain(lanes));
}

TEST(LlvmCodegen, PaddedShiftWithGuards) { check_flat(testing::padded_shift(16)); }

TEST(LlvmCodegen, RowSoftmax) {
  const Elements elements = [](std::int64_t r, std::int64_t c) {
    return std::vector<std::int64_t>{r * c, r * c};
  };
  check_rows(testing::row_softmax(16, 4), elements);
  check_rows(testing::row_softmax(8, 1), elements);
  check_rows(testing::row_softmax(1, 4), elements);
}

TEST(LlvmCodegen, LayerNorm) {
  check_rows(testing::layer_norm(16, 2), [](std::int64_t r, std::int64_t c) {
    return std::vector<std::int64_t>{r * c, c, c, r * c};
  });
}

TEST(LlvmCodegen, ColumnSumsWithASerialLoopInside) {
  check_rows(
      testing::column_sums(16),
      [](std::int64_t r, std::int64_t c) { return std::vector<std::int64_t>{r * c, c}; }, false);
}

TEST(LlvmCodegen, ArgmaxAndArgmin) {
  for (const ReduceOp op : {ReduceOp::argmax, ReduceOp::argmin}) {
    check_rows(testing::row_argmax(16, 2, op), [](std::int64_t r, std::int64_t c) {
      return std::vector<std::int64_t>{r * c, r, r};
    });
  }
}

TEST(LlvmCodegen, ArgmaxTakesTheFirstOfEqualsAndNan) {
  const Kernel kernel = testing::row_argmax(16, 4, ReduceOp::argmax);
  auto compiled = make_llvm_codegen({})->compile({&kernel})[0];
  std::vector<float> x(300, 1.0f);
  x[70] = x[130] = x[65] = 5.0f;
  std::int64_t index = -1;
  float best = 0;
  void* buffers[] = {x.data(), &index, &best};
  const std::int64_t sizes[] = {1, 300};
  compiled->run(buffers, sizes, 0, 1);
  EXPECT_EQ(index, 65);
  EXPECT_EQ(best, 5.0f);
  x[200] = x[299] = std::numeric_limits<float>::quiet_NaN();
  compiled->run(buffers, sizes, 0, 1);
  EXPECT_EQ(index, 200);
}

TEST(LlvmCodegen, Gather) {
  Comparison comparison(testing::row_gather(16));
  for (const std::int64_t columns : kLengths) {
    const auto ids = [](Memory& memory) {
      for (int i = 0; i < 5; ++i) memory.as<std::int64_t>(1)[i] = (i * 3) % 7;
    };
    EXPECT_EQ(comparison.run({5, columns}, {7 * columns, 5, 5 * columns}, 5, 3, ids), "");
  }
}

TEST(LlvmCodegen, BroadcastByDivision) {
  for (const int lanes : {4, 16}) {
    Comparison comparison(testing::broadcast_add(lanes));
    for (const std::int64_t inner : {1, 3, 49, 64}) {
      for (const std::int64_t channels : {1, 5, 32}) {
        const std::int64_t n = 2 * inner * channels;
        EXPECT_EQ(comparison.run({n, inner, channels}, {n, channels, 48, n}, tiles(n), 23), "");
      }
    }
  }
}

TEST(LlvmCodegen, Transposed) {
  const Elements elements = [](std::int64_t r, std::int64_t c) {
    return std::vector<std::int64_t>{r * c, r * c};
  };
  check_rows(testing::transposed(16), elements);
}

TEST(LlvmCodegen, ScratchKeepsItsOrder) {
  check_rows(testing::scratch_rows(16), [](std::int64_t r, std::int64_t c) {
    return std::vector<std::int64_t>{r * c, c, r * c};
  });
}

TEST(LlvmCodegen, TiledProduct) {
  for (const int lanes : {1, 16, 64}) {
    Comparison comparison(testing::tiled_product(3, lanes));
    for (const std::int64_t m : {0, 1, 3, 8}) {
      for (const std::int64_t n : kLengths) {
        const std::int64_t blocks = (m + 2) / 3, depth = 5;
        EXPECT_EQ(
            comparison.run({m, n, depth}, {m * depth, depth * n, m * n, blocks * n}, blocks, 29),
            "")
            << m << " x " << n << " in vectors of " << lanes;
      }
    }
  }
}

TEST(LlvmCodegen, AdamInPlace) {
  Comparison comparison(testing::adam(16));
  for (const std::int64_t n : kLengths) {
    EXPECT_EQ(comparison.run({n}, {n, n, n, n, 1}, tiles(n), 5), "") << n;
  }
}

// Extreme bytes: a sum of two products exceeds 16 bits.
TEST(LlvmCodegen, ProductsOfBytesAreExact) {
  for (const DType type : {u8, i8, i16}) {
    const auto elements = 4 / static_cast<std::int64_t>(size_of(type));
    for (const int lanes : {1, 2, 4, 8, 16, 32, 64}) {
      Comparison comparison(testing::byte_product(type, lanes));
      for (const std::int64_t n : {0, 1, 5, 16, 33, 70}) {
        const std::int64_t m = 3, depth = 5;
        const auto extremes = [&](Memory& memory) {
          constexpr std::uint8_t kBytes[] = {0, 255, 128, 127, 1, 129, 255, 128};
          for (const std::size_t buffer : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
            const std::int64_t bytes = 4 * (buffer == 0   ? m * depth
                                            : buffer == 1 ? depth * n
                                                          : m * n);
            for (std::int64_t i = 0; i < bytes; ++i) {
              memory.as<std::uint8_t>(buffer)[i] = kBytes[(i * i + i / 7) % 8];
            }
          }
        };
        EXPECT_EQ(comparison.run({m, n, depth},
                                 {elements * m * depth, depth * n, m * n, m * n, elements * m * n},
                                 m, 31, extremes),
                  "")
            << name_of(type) << ", " << n << " columns, " << lanes << " lanes";
      }
    }
  }
}

TEST(LlvmCodegen, EveryCast) {
  for (const DType from : {boolean, u8, i32, i64, f32, f64}) {
    for (const DType to : {boolean, u8, i32, i64, f32, f64}) {
      const Kernel kernel = testing::cast_map(from, to, 8);
      Comparison comparison(kernel);
      EXPECT_EQ(comparison.run({1000}, {1000, 1000}, 1, 13), "")
          << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(LlvmCodegen, MathsOfDoubles) {
  for (const ExprOp op : {ExprOp::exp, ExprOp::log, ExprOp::tanh, ExprOp::sigmoid, ExprOp::erf,
                          ExprOp::sin, ExprOp::cos, ExprOp::round_even, ExprOp::floor}) {
    Comparison comparison(testing::unary_map(op, f64, 8));
    EXPECT_EQ(comparison.run({501}, {501, 501}, 1, 17), "") << name_of(op);
  }
}

// Sanitizers cannot check generated code, so a few kernels that cover the generator are enough
// there.
#ifdef TRIREME_SANITIZED
constexpr std::uint64_t kRandomKernels = 6;
#else
constexpr std::uint64_t kRandomKernels = 30;
#endif

TEST(LlvmCodegen, RandomKernels) {
  for (std::uint64_t seed = 0; seed < kRandomKernels; ++seed) {
    const Kernel kernel = kernel_ir::testing::random_kernel(seed);
    Comparison comparison(kernel);
    for (const std::int64_t columns : {0, 1, 5, 16, 37, 70}) {
      const std::int64_t rows = 4;
      const std::vector<std::int64_t> elements(kernel.buffers.size(), rows * columns);
      ASSERT_EQ(comparison.run({rows, columns}, elements, rows, seed), "")
          << "seed " << seed << " columns " << columns << "\n"
          << print(kernel);
    }
  }
}

}  // namespace
}  // namespace trireme::codegen
