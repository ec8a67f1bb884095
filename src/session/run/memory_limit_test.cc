// The memory that a model may take.
#include <gmock/gmock.h>

#include <cstdlib>

#include "base/testing/error.h"
#include "trireme/nn.h"
#include "trireme/session.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kLimit = 1 << 20;

TEST(MemoryLimit, BoundsResults) {
  Program program("net");
  const Value x = program.input("x", f32, {batch});
  const Value wide = broadcast(x, {.shape = {batch, 1000}, .axes = {0}});
  Session session(program, {.threads = 1, .memory_limit = kLimit});
  EXPECT_EQ(session.run({{"x", Tensor(f32, {100})}}, {wide})[0].elements(), 100000);
  EXPECT_THAT(error_of([&] { session.run({{"x", Tensor(f32, {300})}}, {wide}); }),
              HasSubstr("more memory than its limit of 1048576 bytes"));
  EXPECT_EQ(session.run({{"x", Tensor(f32, {1})}}, {wide})[0].elements(), 1000) << "goes on";
}

// A text of a few bytes can ask for any size.
TEST(MemoryLimit, BoundsWhatAProgramComputes) {
  Program program("net");
  const Value x = program.input("x", f32, {batch});
  const Value big = broadcast(x, {.shape = {batch, std::int64_t{1} << 40}, .axes = {0}});
  const Value sorted = sort(big, {.axis = 1})[0];
  const Value result = sum(sorted, {.axes = {1}});
  Session session(program, {.threads = 1, .memory_limit = kLimit});
  EXPECT_THAT(error_of([&] { session.run({{"x", Tensor(f32, {1})}}, {result}); }),
              HasSubstr("more memory than its limit"));
}

TEST(MemoryLimit, IsOneOfTheEnvironment) {
  Program program("net");
  const Value x = program.input("x", f32, {batch});
  ::setenv("TRIREME_MEMORY_LIMIT", "1000", 1);
  Session limited(program, {.threads = 1});
  Session raised(program, {.threads = 1, .memory_limit = kLimit});
  ::setenv("TRIREME_MEMORY_LIMIT", "1 GB", 1);
  EXPECT_THAT(error_of([&] { Session(program, {.threads = 1}); }),
              HasSubstr("TRIREME_MEMORY_LIMIT: \"1 GB\""));
  ::unsetenv("TRIREME_MEMORY_LIMIT");
  const Feeds feeds{{"x", Tensor(f32, {1000})}};
  EXPECT_THAT(error_of([&] { limited.run(feeds, {x * 2.0}); }), HasSubstr("limit of 1000 bytes"));
  EXPECT_EQ(raised.run(feeds, {x * 2.0})[0].elements(), 1000);
}

}  // namespace
}  // namespace trireme
