// The limits of memory and operations that a Session may have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/session.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::string data_error(const std::function<void()>& act) { return error_of(ErrorKind::data, act); }

Tensor ones_of(std::int64_t rows) {
  return Tensor::from<float>({rows}, std::vector<float>(static_cast<std::size_t>(rows), 1));
}

TEST(Limits, OfMemory) {
  Program program;
  const Value x = program.input("x", f32, {batch});
  // A table of batch x batch numbers, which is read twice.
  const Value table = cumsum(unsqueeze(x, 0) * unsqueeze(x, 1), {.axis = 1});
  const Value y = sum(table / sum(table, {.axes = {0}, .keep = true}));
  Session session(program, {.max_bytes = kMiB});
  EXPECT_NO_THROW(session.run({{"x", ones_of(64)}}, {y}));
  EXPECT_THAT(data_error([&] { session.run({{"x", ones_of(1024)}}, {y}); }),
              HasSubstr("more than 1048576 bytes of memory"));
  EXPECT_NO_THROW(session.run({{"x", ones_of(64)}}, {y}));  // nothing is lost
}

TEST(Limits, OfMemoryOfResultsAndParameters) {
  Program program;
  const Value x = program.input("x", f32, {batch});
  const Value large = program.parameter("large", f32, {1024, 1024});
  const Value outer = unsqueeze(x, 0) * unsqueeze(x, 1);
  Session session(program, {.max_bytes = kMiB});
  data_error([&] { session.run({{"x", ones_of(1024)}}, {outer}); });
  data_error([&] { session.run({}, {sum(large)}); });
  data_error([&] { session.set_parameter("large", Tensor(f32, {1024, 1024})); });
}

// A sum over a broadcast needs no memory.
TEST(Limits, OfOperations) {
  Program program;
  const Value x = program.input("x", f32, {batch});
  const Value y = sum(exp(unsqueeze(x, 0) * unsqueeze(x, 1)));
  Session session(program, {.max_operations = 100000});
  EXPECT_NO_THROW(session.run({{"x", ones_of(64)}}, {y}));
  EXPECT_THAT(data_error([&] { session.run({{"x", ones_of(100000)}}, {y}); }),
              HasSubstr("more than 100000 operations"));
  EXPECT_NO_THROW(session.run({{"x", ones_of(64)}}, {y}));  // each run counts from 0
}

TEST(Limits, OfOperationsOfLibraryKernels) {
  Program program;
  const Value x = program.input("x", f32, {batch, 64});
  const Value y = matmul(x, transpose(x, {.permutation = {1, 0}}));
  Session session(program, {.max_operations = 100000});
  EXPECT_NO_THROW(session.run({{"x", Tensor(f32, {8, 64})}}, {y}));
  data_error([&] { session.run({{"x", Tensor(f32, {64, 64})}}, {y}); });
}

TEST(Limits, OfOperationsOfLoops) {
  Program program;
  const Value limit = program.input("limit", i64, {});
  const Value zero = program.input("zero", i64, {});
  const Value count = while_values(
      {zero}, [&](const Values& v) { return v[0] < limit; },
      [](const Values& v) { return Values{v[0] + 1.0}; })[0];
  Session session(program, {.max_operations = 1000});
  const auto number = [](std::int64_t x) { return Tensor::from<std::int64_t>({}, {x}); };
  EXPECT_NO_THROW(session.run({{"zero", number(0)}, {"limit", number(20)}}, {count}));
  data_error([&] { session.run({{"zero", number(0)}, {"limit", number(900000)}}, {count}); });
}

}  // namespace
}  // namespace trireme
