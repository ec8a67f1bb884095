// Kernels on rows by number: check_indices, sum_rows, assign_rows.

#include <map>

#include "base/attributes.h"
#include "kernels/test_calls.h"
#include "trireme/error.h"

namespace trireme::kernels {
namespace {

using Rows = std::vector<std::int64_t>;

// Runs a call whose tensors are all given, at some number of threads.
void run_on(int threads, const std::string& kernel, const Call& call,
            const std::vector<void*>& tensors) {
  const auto device = device::make_cpu_device(threads);
  const std::unique_ptr<KernelInstance> prepared = find(kernel)(call);
  std::vector<std::int64_t> workspace(prepared->workspace_bytes(threads) / 8 + 1, -7);
  prepared->run(tensors.data(), workspace.data(), *device);
}

std::string error_of(const std::string& kernel, const Call& call,
                     const std::vector<void*>& tensors) {
  try {
    run_on(1, kernel, call, tensors);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "";
}

Rows random_rows(std::int64_t count, std::int64_t limit, unsigned seed) {
  std::mt19937_64 random(seed);
  Rows rows(static_cast<std::size_t>(count));
  for (std::int64_t& row : rows) {
    row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  }
  return rows;
}

void check_sums(Rows rows, std::int64_t width) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto w = static_cast<std::size_t>(width);
  std::vector<float> values = random_values<float>(count * width, 5);
  std::map<std::int64_t, std::vector<double>> expected;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    const auto at = expected.try_emplace(rows[i], w, 0.0).first;
    for (std::size_t j = 0; j < w; ++j) at->second[j] += static_cast<double>(values[i * w + j]);
  }
  const TensorDescription list{DType::i64, {count}}, table{DType::f32, {count, width}};
  std::vector<float> by_one_thread;
  for (const int threads : {1, 2, 3}) {
    Rows distinct(rows.size(), 99);
    std::vector<float> sums(values.size(), 99.0f);
    run_on(threads, "sum_rows", {{}, {list, table, list, table}},
           {rows.data(), values.data(), distinct.data(), sums.data()});
    std::size_t k = 0;
    for (const auto& [row, sum] : expected) {
      ASSERT_EQ(distinct[k], row);
      for (std::size_t j = 0; j < w; ++j) {
        ASSERT_NEAR(sums[k * w + j], sum[j], 1e-5 * (1 + std::abs(sum[j]))) << row;
      }
      ++k;
    }
    if (threads == 1) by_one_thread = sums;
    ASSERT_EQ(sums, by_one_thread) << threads;
    for (; k < rows.size(); ++k) {
      ASSERT_EQ(distinct[k], -1);
      for (std::size_t j = 0; j < w; ++j) ASSERT_EQ(sums[k * w + j], 0);
    }
  }
}

TEST(SumRows, AddsTheValuesOfEqualRows) {
  check_sums({3, 1, 3, 0, 1, 3}, 2);
  check_sums({-1, 4, -1, 4, -9}, 3);
  check_sums({-1}, 3);
  check_sums({}, 4);
  check_sums({7, 7, 7}, 0);
  check_sums(random_rows(20000, 300, 1), 16);
  check_sums(random_rows(20000, 1'000'000, 2), 5);
  check_sums(random_rows(3000, std::int64_t{1} << 62, 3), 1);  // all digits of the sort
}

TEST(AssignRows, ChangesTheNamedRows) {
  // Rising, so that threads share the work; then with repetitions, of which the last counts.
  Rows rising;
  for (std::int64_t row = 0; row < 30000; row += 3) rising.push_back(row);
  rising.insert(rising.end(), 500, -1);
  for (const Rows& rows : {rising, Rows{5, 2, 5, -3, 2, 0}, random_rows(20000, 900, 4), Rows{}}) {
    const std::int64_t table_rows = 30000, width = 16;
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::vector<float> before = random_values<float>(table_rows * width, 1);
    std::vector<float> values = random_values<float>(count * width, 2);
    std::vector<float> expected = before;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 0) continue;
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i) * width, width,
                  expected.begin() + static_cast<std::ptrdiff_t>(rows[i]) * width);
    }
    const Call call{
        {},
        {{DType::f32, {table_rows, width}}, {DType::i64, {count}}, {DType::f32, {count, width}}}};
    for (const int threads : {1, 2, 3}) {
      std::vector<float> table = before;
      Rows own = rows;
      run_on(threads, "assign_rows", call, {table.data(), own.data(), values.data()});
      EXPECT_EQ(table, expected) << threads << " threads";
    }
  }
}

TEST(AssignRows, NamesARowBeyondTheLast) {
  std::vector<double> table(6), values(4);
  Rows rows{1, 3};
  const Call call{{}, {{DType::f64, {3, 2}}, {DType::i64, {2}}, {DType::f64, {2, 2}}}};
  EXPECT_NE(error_of("assign_rows", call, {table.data(), rows.data(), values.data()})
                .find("row 3 at position 1 is outside [0, 3)"),
            std::string::npos);
}

TEST(CheckIndices, CopiesThemOrNamesTheFirstThatIsOutside) {
  Call call;
  set_attribute(call.attributes, "size", std::int64_t{5});
  call.tensors = {{DType::i64, {2, 3}}, {DType::i64, {2, 3}}};
  Rows good{0, 4, 2, 2, 1, 3}, copy(6);
  EXPECT_EQ(error_of("check_indices", call, {good.data(), copy.data()}), "");
  EXPECT_EQ(copy, good);
  for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    Rows bad = good;
    bad[4] = wrong;
    bad[5] = -2;
    const std::string error = error_of("check_indices", call, {bad.data(), copy.data()});
    EXPECT_NE(
        error.find("index " + std::to_string(wrong) + " at [1, 1] is outside [0, 5): there are 5"),
        std::string::npos)
        << error;
  }
  call.tensors = {{DType::i32, {1}}, {DType::i32, {1}}};
  std::int32_t below = -1, to = 0;
  EXPECT_NE(error_of("check_indices", call, {&below, &to}), "");
}

}  // namespace
}  // namespace trireme::kernels
