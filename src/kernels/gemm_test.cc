#include <dirent.h>
#include <fmt/core.h>

#include "base/attributes.h"
#include "kernels/test_calls.h"
#include "trireme/error.h"

namespace trireme::kernels {
namespace {

struct Case {
  Sizes leading;
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false, shared_b = false;
  bool bias = false, relu = false;
};

Sizes with(Sizes leading, std::int64_t rows, std::int64_t columns, bool transposed) {
  if (transposed) std::swap(rows, columns);
  leading.insert(leading.end(), {rows, columns});
  return leading;
}

// Three loops in double precision.
template <class T>
std::vector<double> naive(const Case& c, const std::vector<T>& a, const std::vector<T>& b,
                          const std::vector<T>& bias) {
  std::vector<double> result;
  for (std::int64_t p = 0; p < elements(c.leading); ++p) {
    const std::int64_t a0 = p * c.m * c.k;
    const std::int64_t b0 = c.shared_b ? 0 : p * c.k * c.n;
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        double sum = c.bias ? bias[static_cast<std::size_t>(j)] : 0;
        for (std::int64_t l = 0; l < c.k; ++l) {
          const auto x = static_cast<std::size_t>(a0 + (c.transpose_a ? l * c.m + i : i * c.k + l));
          const auto y = static_cast<std::size_t>(b0 + (c.transpose_b ? j * c.k + l : l * c.n + j));
          sum += static_cast<double>(a[x]) * static_cast<double>(b[y]);
        }
        result.push_back(c.relu ? std::max(sum, 0.0) : sum);
      }
    }
  }
  return result;
}

template <class T>
void check(const Case& c) {
  Call call;
  const DType dtype = sizeof(T) == 4 ? DType::f32 : DType::f64;
  const Sizes a_shape = with(c.leading, c.m, c.k, c.transpose_a);
  const Sizes b_shape = with(c.shared_b ? Sizes{} : c.leading, c.k, c.n, c.transpose_b);
  call.attributes = {
      {"has_bias", c.bias}, {"transpose_a", c.transpose_a}, {"transpose_b", c.transpose_b}};
  if (c.relu) set_attribute(call.attributes, "epilogue", std::string("relu"));
  const auto a = random_values<T>(elements(a_shape), 1);
  const auto b = random_values<T>(elements(b_shape), 2);
  const auto bias = random_values<T>(c.n, 3);
  call.tensors = {{dtype, a_shape}, {dtype, b_shape}};
  std::vector<const void*> operands{a.data(), b.data()};
  if (c.bias) {
    call.tensors.push_back({dtype, {c.n}});
    operands.push_back(bias.data());
  }
  call.tensors.push_back({dtype, with(c.leading, c.m, c.n, false)});
  const std::string what =
      fmt::format("{}x ({} x {} x {}) {}{}{}", elements(c.leading), c.m, c.n, c.k,
                  c.transpose_a ? "T" : "N", c.transpose_b ? "T" : "N", c.shared_b ? "s" : "");
  expect_near(run_call<T>("gemm", call, operands), naive(c, a, b, bias), c.k, what);
}

TEST(Gemm, EveryTransposeOverOddAndEmptySizes) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const auto& [m, n, k] : std::vector<std::tuple<int, int, int>>{{1, 1, 1},
                                                                          {3, 5, 7},
                                                                          {1, 33, 65},
                                                                          {65, 1, 33},
                                                                          {17, 16, 1},
                                                                          {64, 10, 200},
                                                                          {37, 300, 111},
                                                                          {0, 4, 5},
                                                                          {4, 0, 5},
                                                                          {4, 5, 0},
                                                                          {0, 0, 0},
                                                                          {130, 260, 128}}) {
        check<float>({{}, m, n, k, ta, tb});
        check<double>({{}, m, n, k, ta, tb});
      }
    }
  }
}

TEST(Gemm, CutsAllWays) {
  check<float>({{}, 64, 2049, 300, false, true});   // columns
  check<float>({{}, 40, 1500, 300, false, false});  // columns: b is large
  check<float>({{}, 1001, 60, 130, true, false});   // rows
  check<float>({{}, 700, 70, 120, false, true});    // rows of a transposed b
  check<float>({{}, 9, 21, 5001, true, false});     // summands
  check<double>({{}, 9, 21, 5001, true, true, false, true, true});
}

TEST(Gemm, Batches) {
  for (const bool ta : {false, true}) {
    for (const bool shared : {false, true}) {
      check<float>({{2, 3}, 7, 9, 11, ta, false, shared});
      check<double>({{2, 3}, 7, 9, 11, ta, true, shared});
      check<float>({{50}, 64, 32, 64, ta, false, shared});
      check<float>({{0}, 7, 9, 11, ta, false, shared});
    }
  }
}

TEST(Gemm, BiasAndRelu) {
  for (const bool relu : {false, true}) {
    check<float>({{}, 64, 200, 300, false, false, false, true, relu});
    check<float>({{}, 20, 900, 300, false, true, false, true, relu});
    check<double>({{3}, 5, 6, 0, false, false, true, true, relu});
  }
}

TEST(Gemm, RefusesWhatDoesNotFit) {
  Call call;
  call.tensors = {{DType::f32, {2, 3}}, {DType::f32, {4, 5}}, {DType::f32, {2, 5}}};
  EXPECT_THROW(find("gemm")(call), Error);
  call.tensors[1].shape = {3, 5};
  EXPECT_NO_THROW(find("gemm")(call));
  call.tensors[1].dtype = DType::f64;
  EXPECT_THROW(find("gemm")(call), Error);
}

int threads_of_this_process() {
  DIR* tasks = opendir("/proc/self/task");
  int count = -2;  // "." and ".."
  while (readdir(tasks) != nullptr) ++count;
  closedir(tasks);
  return count;
}

// The libraries must leave the processors to our pool.
TEST(OnePool, LibrariesMakeNoThreads) {
  const auto device = device::make_cpu_device(2);
  const int before = threads_of_this_process();
  const auto run = [&](const char* kernel, const Call& call) {
    std::vector<std::vector<float>> storage;
    std::vector<void*> tensors;
    for (const TensorDescription& t : call.tensors) {
      storage.emplace_back(static_cast<std::size_t>(elements(t.shape)) * 2);
      tensors.push_back(storage.back().data());
    }
    const auto prepared = find(kernel)(call);
    const std::size_t bytes = prepared->workspace_bytes(2);
    void* workspace = device->allocate(bytes);
    prepared->run(tensors.data(), workspace, *device);
    device->release(workspace, bytes);
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {8, 512}) {
      Call call;
      call.tensors = {{dtype, {512, 512}}, {dtype, {512, n}}, {dtype, {512, n}}};
      run("gemm", call);
    }
  }
  Call call;
  set_attribute(call.attributes, "padding", std::int64_t{1});
  set_attribute(call.attributes, "layout", std::string("nhwc"));
  call.tensors = {
      {DType::f32, {16, 32, 32, 16}}, {DType::f32, {32, 16, 3, 3}}, {DType::f32, {16, 32, 32, 32}}};
  run("convolution", call);
  std::swap(call.tensors[1], call.tensors[2]);
  run("convolution_weight_gradient", call);
  EXPECT_EQ(threads_of_this_process(), before);
}

}  // namespace
}  // namespace trireme::kernels
