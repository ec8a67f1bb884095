#include "runtime/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace trireme::runtime {
namespace {

using plan::Buffer;
using plan::BufferKind;
using plan::Plan;
using plan::Step;
using ::testing::HasSubstr;

const Dim kBatch("batch");

float* floats(void* memory) { return static_cast<float*>(memory); }

Buffer buffer(std::string name, BufferKind kind, Shape shape, int first = -1, int last = -1) {
  return {.name = std::move(name),
          .kind = kind,
          .shape = std::move(shape),
          .first_step = first,
          .last_step = last};
}

// buffers[1][i] = buffers[0][i] + sizes[0], element by element.
void add_size(void* const* b, const std::int64_t* sizes, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    floats(b[1])[i] = floats(b[0])[i] + static_cast<float>(sizes[0]);
  }
}

Step kernel_step(int kernel, std::vector<int> buffers, std::vector<int> reads,
                 std::vector<int> writes, const Dim& count) {
  Step step{.name = "step " + std::to_string(kernel),
            .sources = {"net.cc:7 dense_0"},
            .kernel = kernel,
            .buffers = std::move(buffers),
            .reads = std::move(reads),
            .writes = std::move(writes)};
  step.trip = {count, 1};
  step.work = count;
  return step;
}

// y = (x + 1) + w, elementwise over [batch, 3], through the arena; w += 10 in place.
std::shared_ptr<Plan> small_plan() {
  auto plan = std::make_shared<Plan>();
  plan->symbols = {"batch"};
  const Dim count = kBatch * 3;
  plan->buffers = {
      buffer("x", BufferKind::feed, {kBatch, 3}), buffer("w", BufferKind::parameter, {3}),
      buffer("%0", BufferKind::arena, {kBatch, 3}, 0, 1),
      buffer("y", BufferKind::fetch, {kBatch, 3}), buffer("%0 flat", BufferKind::arena, {count})};
  plan->buffers[4].alias_of = 2;
  plan->kernels.push_back({"add_size", "", add_size});
  plan->kernels.push_back(
      {"add_row", "",
       [](void* const* b, const std::int64_t*, std::int64_t begin, std::int64_t end) {
         for (std::int64_t i = begin; i < end; ++i) {
           floats(b[2])[i] = floats(b[0])[i] + floats(b[1])[i % 3];
         }
       }});
  plan->kernels.push_back(
      {"update", "", [](void* const* b, const std::int64_t*, std::int64_t begin, std::int64_t end) {
         for (std::int64_t i = begin; i < end; ++i) floats(b[0])[i] += 10;
       }});
  plan->steps = {kernel_step(0, {0, 2}, {0}, {2}, count),
                 kernel_step(1, {4, 1, 3}, {4, 1}, {3}, count),
                 kernel_step(2, {1}, {1}, {1}, Dim(3))};
  plan->steps[0].sizes = {Dim(1)};
  plan->fetches = {3};
  return plan;
}

TEST(Executor, RunsAnySizeFromOnePlan) {
  for (const int threads : {1, 2}) {
    for (const bool plan_memory : {true, false}) {
      const auto device = device::make_cpu_device(threads);
      Executor executor(small_plan(), *device, {.plan_memory = plan_memory});
      std::vector<float> w{100, 200, 300};
      float updates = 0;
      for (const std::int64_t batch : {1, 7, 64, 0, 20000, 7, 1}) {
        std::vector<float> x(static_cast<std::size_t>(batch) * 3), y(x.size() + 1, -1);
        std::iota(x.begin(), x.end(), 0.0f);
        executor.run({{"batch", batch}}, {.parameters = {{"unused", nullptr}, {"w", w.data()}},
                                          .feeds = {{"x", x.data()}, {"z", nullptr}},
                                          .fetches = {y.data()}});
        for (std::size_t i = 0; i < x.size(); ++i) {
          ASSERT_EQ(y[i], x[i] + 1 + 100 * static_cast<float>(i % 3 + 1) + updates) << batch;
        }
        EXPECT_EQ(y.back(), -1);
        EXPECT_EQ(executor.arena_bytes(), (batch * 12 + 63) / 64 * 64);
        updates += 10;
        EXPECT_EQ(w[0], 100 + updates);
      }
    }
  }
}

TEST(Executor, RemembersManySizesAndForgetsSome) {
  const auto device = device::make_cpu_device(1);
  Executor executor(small_plan(), *device);
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t batch = 1; batch < 40; ++batch) {
      std::vector<float> w(3, 0), x(static_cast<std::size_t>(batch) * 3, 5), y(x.size());
      executor.run(
          {{"batch", batch}},
          {.parameters = {{"w", w.data()}}, .feeds = {{"x", x.data()}}, .fetches = {y.data()}});
      ASSERT_EQ(y, std::vector<float>(x.size(), 6));
    }
  }
}

void expect_error(ErrorKind kind, const std::string& part, const std::function<void()>& run) {
  try {
    run();
    FAIL() << "nothing was thrown; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(Executor, NamesWhatIsMissing) {
  const auto device = device::make_cpu_device(1);
  Executor executor(small_plan(), *device);
  float w[3], x[3], y[3];
  const Bindings good{.parameters = {{"w", w}}, .feeds = {{"x", x}}, .fetches = {y}};
  const SymbolSizes sizes{{"batch", 1}};
  Bindings bad = good;
  bad.parameters.clear();
  expect_error(ErrorKind::usage, "parameter 'w'", [&] { executor.run(sizes, bad); });
  bad = good;
  bad.feeds = {{"a", x}, {"z", x}};
  expect_error(ErrorKind::usage, "feed 'x'", [&] { executor.run(sizes, bad); });
  bad.feeds = {{"x", nullptr}};
  expect_error(ErrorKind::usage, "null, but 12 bytes", [&] { executor.run(sizes, bad); });
  bad = good;
  bad.fetches.clear();
  expect_error(ErrorKind::usage, "1 fetches", [&] { executor.run(sizes, bad); });
  bad.fetches = {nullptr};
  expect_error(ErrorKind::usage, "fetch 0", [&] { executor.run(sizes, bad); });
  expect_error(ErrorKind::usage, "batch", [&] { executor.run({}, good); });
  expect_error(ErrorKind::usage, "negative", [&] { executor.run({{"batch", -1}}, good); });
  executor.run(sizes, good);
}

// The same value fetched twice, a parameter, a feed, and a value of the arena.
TEST(Executor, FetchesAnything) {
  auto plan = small_plan();
  plan->fetches = {3, 3, 1, 0, 4};
  plan->buffers[2].last_step = 2;
  const auto device = device::make_cpu_device(1);
  Executor executor(plan, *device);
  std::vector<float> w{1, 2, 3}, x{4, 5, 6}, y(3), y2(3), w2(3), x2(3), inner(3);
  executor.run({{"batch", 1}},
               {.parameters = {{"w", w.data()}},
                .feeds = {{"x", x.data()}},
                .fetches = {y.data(), y2.data(), w2.data(), x2.data(), inner.data()}});
  EXPECT_EQ(y, (std::vector<float>{6, 8, 10}));
  EXPECT_EQ(y2, y);
  EXPECT_EQ(w2, (std::vector<float>{11, 12, 13}));  // after the update
  EXPECT_EQ(x2, x);
  EXPECT_EQ(inner, (std::vector<float>{5, 6, 7}));
}

// A kernel that sums rows through scratch memory of its own thread.
TEST(Executor, GivesEachThreadItsScratch) {
  constexpr std::int64_t kRows = 500, kColumns = 300;
  auto plan = std::make_shared<Plan>();
  plan->symbols = {"batch"};
  plan->buffers = {buffer("x", BufferKind::feed, {kBatch, kColumns}),
                   buffer("y", BufferKind::fetch, {kBatch})};
  plan->kernels.push_back(
      {"rows", "",
       [](void* const* b, const std::int64_t* sizes, std::int64_t begin, std::int64_t end) {
         for (std::int64_t i = begin; i < end; ++i) {
           std::memcpy(b[1], floats(b[0]) + i * sizes[0], static_cast<std::size_t>(sizes[0]) * 4);
           float sum = 0;
           for (std::int64_t j = 0; j < sizes[0]; ++j) sum += floats(b[1])[j];
           floats(b[2])[i] = sum;
         }
       }});
  Step step = kernel_step(0, {0, -1, 1}, {0}, {1}, kBatch);
  step.sizes = {Dim(kColumns)};
  step.work = kBatch * kColumns;
  step.scratch = {{1, Dim(kColumns * 4)}};
  plan->steps = {step};
  plan->fetches = {1};
  std::vector<float> x(kRows * kColumns), first;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97);
  for (const int threads : {1, 2, 4}) {
    const auto device = device::make_cpu_device(threads);
    Executor executor(plan, *device);
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<float> y(kRows);
      executor.run({{"batch", kRows}}, {.feeds = {{"x", x.data()}}, .fetches = {y.data()}});
      if (first.empty()) first = y;
      ASSERT_EQ(first, y);
    }
    EXPECT_EQ(executor.workspace_bytes(), threads * 1216);
  }
  EXPECT_EQ(first[0], std::accumulate(x.begin(), x.begin() + kColumns, 0.0f));
}

TEST(Executor, RunsLibraryKernelsAndPassesTheSeed) {
  auto plan = std::make_shared<Plan>();
  plan->symbols = {"batch"};
  plan->buffers = {buffer("a", BufferKind::feed, {kBatch, 4}),
                   buffer("b", BufferKind::feed, {4, 2}),
                   buffer("c", BufferKind::arena, {kBatch, 2}, 0, 1),
                   buffer("y", BufferKind::fetch, {kBatch, 2})};
  plan->kernels.push_back({"add_size", "", add_size});
  Step gemm{.name = "linear_0: matmul", .buffers = {0, 1, 2}, .reads = {0, 1}, .writes = {2}};
  gemm.library.kernel = "gemm";
  Step add = kernel_step(0, {2, 3}, {2}, {3}, kBatch * 2);
  add.sizes = {Dim(plan::kSeedSymbol)};
  plan->steps = {gemm, add};
  plan->fetches = {3};
  const auto device = device::make_cpu_device(2);
  Executor executor(plan, *device, {.find_kernel = kernels::find});
  const std::vector<float> a(12, 2), b(8, 3);
  for (const std::uint64_t seed : {0, 5, 7}) {
    std::vector<float> y(6);
    executor.run(
        {{"batch", 3}},
        {.feeds = {{"a", a.data()}, {"b", b.data()}}, .fetches = {y.data()}, .seed = seed});
    EXPECT_EQ(y, std::vector<float>(6, 24 + static_cast<float>(seed)));
  }
}

TEST(Executor, TellsWhereAnErrorHappened) {
  auto plan = small_plan();
  plan->kernels[1].run = [](void* const*, const std::int64_t*, std::int64_t, std::int64_t) {
    fail_data("label 12 is out of range");
  };
  plan->steps[1].work = Dim(1'000'000);  // on the pool
  const auto device = device::make_cpu_device(2);
  Executor executor(plan, *device);
  std::vector<float> w(3), x(30), y(30);
  const Bindings bindings{
      .parameters = {{"w", w.data()}}, .feeds = {{"x", x.data()}}, .fetches = {y.data()}};
  for (int repeat = 0; repeat < 3; ++repeat) {
    expect_error(ErrorKind::data, "label 12 is out of range\n  in step 'step 1'\n  from net.cc:7",
                 [&] { executor.run({{"batch", 10}}, bindings); });
  }
}

TEST(Executor, StopsAtTheFirstNumberThatIsNotFinite) {
  const auto device = device::make_cpu_device(1);
  std::vector<float> w(3), x(30, 1), y(30);
  const Bindings bindings{
      .parameters = {{"w", w.data()}}, .feeds = {{"x", x.data()}}, .fetches = {y.data()}};
  Executor executor(small_plan(), *device, {.check_finite = true});
  executor.run({{"batch", 10}}, bindings);
  w[1] = std::numeric_limits<float>::quiet_NaN();
  expect_error(ErrorKind::numeric, "nan at element 1 of 30 in y\n  in step 'step 1'\n  from net.cc",
               [&] { executor.run({{"batch", 10}}, bindings); });
  x[4] = std::numeric_limits<float>::infinity();
  expect_error(ErrorKind::numeric, "inf at element 4 of 30 in %0\n  in step 'step 0'",
               [&] { executor.run({{"batch", 10}}, bindings); });
  Executor unchecked(small_plan(), *device);
  unchecked.run({{"batch", 10}}, bindings);
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST(Executor, RefusesABrokenPlan) {
  const auto device = device::make_cpu_device(1);
  auto plan = small_plan();
  plan->fetches = {};
  expect_error(ErrorKind::internal, "not in the list of fetches", [&] { Executor(plan, *device); });
  plan = small_plan();
  plan->steps[1].kernel = -1;
  plan->steps[1].library.kernel = "conv3d";
  Executor executor(plan, *device);
  float w[3], x[3], y[3];
  expect_error(ErrorKind::internal, "conv3d", [&] {
    executor.run({{"batch", 1}}, {.parameters = {{"w", w}}, .feeds = {{"x", x}}, .fetches = {y}});
  });
}

TEST(Profiler, WritesATraceAndATable) {
  const auto device = device::make_cpu_device(1);
  Profiler profiler;
  auto plan = small_plan();
  plan->steps[1].name = "dense_0: \"add\"";
  Executor executor(plan, *device, {.profiler = &profiler});
  std::vector<float> w(3), x(30, 1), y(30);
  for (int i = 0; i < 4; ++i) {
    executor.run(
        {{"batch", 10}},
        {.parameters = {{"w", w.data()}}, .feeds = {{"x", x.data()}}, .fetches = {y.data()}});
  }
  const std::string trace = profiler.chrome_trace();
  EXPECT_THAT(trace, HasSubstr("{\"traceEvents\": ["));
  EXPECT_THAT(trace, HasSubstr("\"name\": \"dense_0: \\\"add\\\"\", \"args\": {\"kernel\": "
                               "\"add_row\", \"layer\": \"dense_0\", \"operations\": 0}"));
  std::size_t events = 0;
  for (std::size_t at = trace.find("\"ph\""); at != std::string::npos;
       at = trace.find("\"ph\"", at + 1)) {
    ++events;
  }
  EXPECT_EQ(events, 12u);
  EXPECT_THAT(profiler.table(), HasSubstr("add_size               step 0"));
}

}  // namespace
}  // namespace trireme::runtime
