// Tests casts of the 16-bit floats: all bit patterns on every instruction set of this machine, and
// the generated instructions on all targets.

#include <gmock/gmock.h>

#include <cmath>

#include "base/half.h"
#include "codegen/llvm/object.h"
#include "codegen/testing/harness.h"
#include "codegen/testing/kernels.h"

namespace trireme::codegen {
namespace {

using kernel_ir::Kernel;
using testing::Comparison;
using ::testing::HasSubstr;
using testing::Memory;
using ::testing::Not;

constexpr std::int64_t kAll = 65536;
constexpr std::int64_t kTiles = kAll / 1024;

// Every 16-bit pattern once.
void all_patterns(Memory& memory) {
  for (std::int64_t i = 0; i < kAll; ++i) {
    memory.as<std::uint16_t>(0)[i] = static_cast<std::uint16_t>(i);
  }
}

// Halfway between 16-bit floats and to both sides of it, and patterns from everywhere.
template <class Half>
void floats_around(Memory& memory) {
  for (std::int64_t i = 0; i < kAll; ++i) {
    auto bits = std::bit_cast<std::uint32_t>(to_float(Half{static_cast<std::uint16_t>(i)}));
    const std::uint32_t around[] = {
        bits + 0x7fff,      bits + 0x8000,
        bits + 0x8001,      bits + 0xfff,
        bits + 0x1000,      bits + 0x1001,
        bits ^ 0x5a5a5a5au, static_cast<std::uint32_t>(i) * 0x9e3779b9u};
    memory.as<std::uint32_t>(0)[i] = around[i % 8];
  }
}

TEST(HalfCodegen, EveryPatternOnEveryTarget) {
  for (const DType half : {bf16, f16}) {
    for (const int lanes : {1, 8, 32}) {
      const std::string what = std::string(name_of(half)) + " by " + std::to_string(lanes);
      Comparison widen(testing::cast_map(half, f32, lanes));
      EXPECT_EQ(widen.run({kAll}, {kAll, kAll}, kTiles, 1, all_patterns), "") << what;
      Comparison narrow(testing::cast_map(f32, half, lanes));
      const auto fill = half == bf16 ? floats_around<Bf16> : floats_around<F16>;
      EXPECT_EQ(narrow.run({kAll}, {kAll, kAll}, kTiles, 1, fill), "") << what;
    }
  }
}

TEST(HalfCodegen, CastsByWayOfF32AndRemainders) {
  for (const DType half : {bf16, f16}) {
    for (const DType other : {boolean, u8, i32, i64, f64, bf16, f16}) {
      for (const bool back : {false, true}) {
        Comparison comparison(testing::cast_map(back ? half : other, back ? other : half, 16));
        for (const std::int64_t n : {1, 7, 1000}) {
          EXPECT_EQ(comparison.run({n}, {n, n}, 1, 19), "")
              << name_of(half) << " and " << name_of(other) << " of " << n;
        }
      }
    }
  }
}

// Returns the assembly of the loops, without the code after them that calls them.
std::string assembly(const char* target, DType from, DType to) {
  const Target made = named_target(target);
  const std::string code =
      ObjectCompiler(made).assembly(testing::cast_map(from, to, made.lanes(f32)));
  return code.substr(0, code.find(".Lfunc_end0"));
}

TEST(HalfCodegen, IsVectorCodeWithoutCalls) {
  for (const char* target : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (const DType half : {bf16, f16}) {
      for (const std::string& code : {assembly(target, half, f32), assembly(target, f32, half)}) {
        EXPECT_THAT(code, Not(HasSubstr("\tcall"))) << target;
        EXPECT_THAT(code, Not(HasSubstr("\tbl\t"))) << target;
      }
    }
  }
  EXPECT_THAT(assembly("x86-64-v3", f16, f32), HasSubstr("vcvtph2ps"));
  EXPECT_THAT(assembly("x86-64-v3", f32, f16), HasSubstr("vcvtps2ph"));
  EXPECT_THAT(assembly("x86-64-v3", bf16, f32), HasSubstr("vpmovzxwd"));
  EXPECT_THAT(assembly("x86-64-v4", f32, bf16), HasSubstr("vpmovdw"));
  EXPECT_THAT(assembly("x86-64-v4", f32, bf16), Not(HasSubstr("vcvtneps2bf16")));
  EXPECT_THAT(assembly("aarch64", f16, f32), HasSubstr("fcvtl"));
  EXPECT_THAT(assembly("aarch64", f32, f16), HasSubstr("fcvtn"));
}

}  // namespace
}  // namespace trireme::codegen
