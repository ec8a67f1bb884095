// The arithmetic on rows: the two versions of every loop give the same bits.
#include "distributed/table/rules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/half.h"
#include "distributed/table/testing/table.h"

namespace trireme::distributed {
namespace {

TEST(RowLayout, GivesTheSameBitsOnEveryProcessor) {
  Batches random(1);
  for (const RowRule& rule :
       {RowRule::sgd(), RowRule::adagrad(0.1), RowRule::adam(), RowRule::ftrl(1, 0.2, 0.1)}) {
    for (const bool float16 : {false, true}) {
      for (const int width : {1, 7, 16, 31, 515}) {
        const RowLayout vectors(width, rule, float16), plain(width, rule, float16, false);
        ASSERT_EQ(vectors.bytes(), plain.bytes());
        const auto n = static_cast<std::size_t>(width);
        std::vector<float> rows[2] = {std::vector<float>(vectors.bytes() / 4), {}};
        rows[1] = rows[0];
        const std::vector<float> weights = random.floats(n);
        int i = 0;
        for (const RowLayout* layout : {&vectors, &plain}) {
          auto* const row = reinterpret_cast<std::byte*>(rows[i++].data());
          Batches gradients(2);
          layout->write(weights.data(), row);
          layout->reset_state(row);
          for (int step = 1; step < 6; ++step) {
            const RuleNumbers numbers(rule, {.rate = 0.07, .step = step});
            layout->apply(numbers, row, gradients.floats(n).data());
            layout->add(gradients.floats(n).data(), row);
          }
        }
        EXPECT_EQ(std::memcmp(rows[0].data(), rows[1].data(), vectors.bytes()), 0)
            << "rule " << static_cast<int>(rule.kind) << ", width " << width;
        std::vector<float> read[2] = {std::vector<float>(n), std::vector<float>(n)};
        vectors.read(reinterpret_cast<const std::byte*>(rows[0].data()), read[0].data());
        plain.read(reinterpret_cast<const std::byte*>(rows[0].data()), read[1].data());
        EXPECT_EQ(read[0], read[1]);
      }
    }
  }
}

TEST(RowLayout, StoresEveryHalfExactly) {
  const RowLayout layout(16, RowRule::sgd(), true), plain(16, RowRule::sgd(), true, false);
  std::mt19937 random(3);
  for (std::uint32_t first = 0; first < 65536; first += 16) {
    std::uint16_t halves[16], again[16];
    float weights[16];
    for (std::uint32_t i = 0; i < 16; ++i) halves[i] = static_cast<std::uint16_t>(first + i);
    layout.read(reinterpret_cast<const std::byte*>(halves), weights);
    layout.write(weights, reinterpret_cast<std::byte*>(again));
    for (std::uint32_t i = 0; i < 16; ++i) {
      if (std::isnan(weights[i])) continue;
      ASSERT_EQ(again[i], halves[i]);
      ASSERT_EQ(weights[i], to_float(F16{halves[i]}));
    }
    // Floats that lie between halves, below the least and beyond the greatest.
    for (float& weight : weights) {
      const double size =
          std::ldexp(1.0 + random() * 0x1p-32, static_cast<int>(random() % 50) - 30);
      weight = static_cast<float>(random() % 2 == 0 ? size : -size);
    }
    layout.write(weights, reinterpret_cast<std::byte*>(halves));
    plain.write(weights, reinterpret_cast<std::byte*>(again));
    ASSERT_EQ(std::memcmp(halves, again, sizeof halves), 0);
  }
}

}  // namespace
}  // namespace trireme::distributed
