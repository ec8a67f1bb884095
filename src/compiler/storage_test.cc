// Checks which values are stored in 16 bits, and that only their storage changes.

#include "compiler/storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "base/testing/noise.h"
#include "compiler/compile.h"
#include "device/device.h"
#include "runtime/executor.h"
#include "transforms/autodiff.h"
#include "trireme/ops.h"
#include "trireme/tensor.h"

namespace trireme::compiler {
namespace {

using Tensors = std::map<std::string, Tensor>;

std::vector<Tensor> run(const std::shared_ptr<const plan::Plan>& plan, const Tensors& feeds,
                        const Tensors& parameters, const SymbolSizes& sizes) {
  const auto device = device::make_cpu_device(2);
  runtime::Bindings bindings;
  for (auto [name, tensor] : feeds) bindings.feeds[name] = tensor.bytes();
  for (auto [name, tensor] : parameters) bindings.parameters[name] = tensor.bytes();
  std::vector<Tensor> results;
  for (const int fetch : plan->fetches) {
    const plan::Buffer& buffer = plan->buffers[static_cast<std::size_t>(fetch)];
    results.emplace_back(buffer.dtype, evaluate(buffer.shape, sizes));
    bindings.fetches.push_back(results.back().bytes());
  }
  runtime::Executor(plan, *device, {.find_kernel = kernels::find}).run(sizes, bindings);
  return results;
}

std::vector<DType> arena_types(const plan::Plan& plan) {
  std::vector<DType> types;
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.kind == plan::BufferKind::arena && buffer.alias_of < 0)
      types.push_back(buffer.dtype);
  }
  return types;
}

// Returns the rows of a times b, in double.
std::vector<double> product_of(const std::vector<double>& a, const Tensor& b) {
  const auto inner = static_cast<std::size_t>(b.dim(0)), width = static_cast<std::size_t>(b.dim(1));
  std::vector<double> c(a.size() / inner * width);
  for (std::size_t i = 0; i < c.size(); ++i) {
    for (std::size_t k = 0; k < inner; ++k) {
      c[i] +=
          a[i / width * inner + k] * static_cast<double>(b.data<float>()[k * width + i % width]);
    }
  }
  return c;
}

std::vector<double> doubles(const Tensor& tensor) { return tensor.cast(f64).to_vector<double>(); }

class StorageTest : public testing::TestWithParam<DType> {
 protected:
  std::shared_ptr<const plan::Plan> compiled(const Program& program,
                                             const std::vector<Value>& fetches, DType storage,
                                             bool training = false) {
    std::vector<const ir::Value*> values;
    for (const Value& fetch : fetches) values.push_back(fetch.get());
    return compile(program.ir(), values, *codegen_, {.training = training, .storage = storage});
  }
  static double rounded(double value) {
    const auto narrow = static_cast<float>(value);
    return static_cast<double>(GetParam() == bf16 ? to_float(to_bf16(narrow))
                                                  : to_float(to_f16(narrow)));
  }
  static double half_last_bit() {
    return GetParam() == bf16 ? 0x1p-8 : 0x1p-11;
  }  // half of the last bit of 1
  std::unique_ptr<codegen::Codegen> codegen_ = codegen::make_interpreter();
};

INSTANTIATE_TEST_SUITE_P(Halves, StorageTest, testing::Values(bf16, f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(StorageTest, ValuesBetweenContractionsTakeTwoBytes) {
  Program program("chain");
  const Value x = program.input("x", f32, {batch, 40});
  const Value first = program.parameter("first", f32, {40, 128});
  const Value second = program.parameter("second", f32, {128, 48});
  const Value y = matmul(maximum(matmul(x, first), 0.0), second);
  const SymbolSizes sizes{{"batch", 10}};
  const auto wide = compiled(program, {y}, f32), narrow = compiled(program, {y}, GetParam());
  EXPECT_EQ(plan::place(*wide, sizes).arena_bytes, 10 * 128 * 4);
  EXPECT_EQ(plan::place(*narrow, sizes).arena_bytes, 10 * 128 * 2) << plan::print(*narrow);
  EXPECT_EQ(narrow->buffers[static_cast<std::size_t>(narrow->fetches[0])].dtype, f32);

  const Tensors parameters{{"first", noise({40, 128}, 1)}, {"second", noise({128, 48}, 2)}};
  const Tensor in = noise({10, 40}, 3);
  const Tensor out = run(narrow, {{"x", in}}, parameters, sizes).at(0);
  std::vector<double> hidden = product_of(doubles(in), parameters.at("first"));
  double bound = 0;
  for (double& h : hidden) {
    h = h > 0 ? h : 0;
    bound = std::max(bound, h);
  }
  // Exact except for a few elements that f32 puts on the other side of a rounding border. One of
  // the 128 summands then differs by a last bit. A sum in 16 bits would differ by far more.
  for (double& h : hidden) h = rounded(h);
  const std::vector<double> expected = product_of(hidden, parameters.at("second"));
  std::size_t exact = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(out.data<float>()[i]) - expected[i]);
    exact += error < 1e-4 ? 1 : 0;
    ASSERT_LE(error, 4 * bound * half_last_bit() + 1e-4) << i;
  }
  EXPECT_GE(exact, expected.size() * 8 / 10);
}

TEST_P(StorageTest, ConvolutionsWidenTheirInputOnce) {
  Program program("convolutions");
  const Value x = program.input("x", f32, {batch, 3, 8, 8});
  const Value a = program.parameter("a", f32, {16, 3, 3, 3});
  const Value b = program.parameter("b", f32, {5, 16, 1, 1});
  const Value c = program.parameter("c", f32, {5, 16, 3, 3});
  const Value h = tanh(conv2d(x, a, {.padding = {1, 1, 1, 1}}));
  const Value y = conv2d(h, b), z = conv2d(h, c, {.padding = {1, 1, 1, 1}});
  const Tensors parameters{{"a", noise({16, 3, 3, 3}, 1)},
                           {"b", noise({5, 16, 1, 1}, 2)},
                           {"c", noise({5, 16, 3, 3}, 4)}};
  const SymbolSizes sizes{{"batch", 3}};
  const Tensors feeds{{"x", noise({3, 3, 8, 8}, 3)}};
  const auto wide = compiled(program, {y, z}, f32), narrow = compiled(program, {y, z}, GetParam());
  std::vector<std::string> rounded;
  for (const plan::Buffer& buffer : narrow->buffers) {
    if (buffer.dtype == GetParam()) rounded.push_back(buffer.name);
  }
  EXPECT_EQ(rounded, (std::vector<std::string>{"tanh", "direct_conv2d", "direct_conv2d"}))
      << plan::print(*narrow);
  const auto expected = run(wide, feeds, parameters, sizes);
  const auto actual = run(narrow, feeds, parameters, sizes);
  for (std::size_t k = 0; k < 2; ++k) {
    // Each summand is at most 1 and has an error of at most half a last bit; errors add at random.
    const double summands = k == 0 ? 16 : 144;
    for (std::int64_t i = 0; i < expected[k].elements(); ++i) {
      ASSERT_NEAR(actual[k].data<float>()[i], expected[k].data<float>()[i],
                  2 * std::sqrt(summands) * half_last_bit())
          << k << " " << i;
    }
  }
}

TEST_P(StorageTest, LibraryOperandsFetchesAndCountsKeepF32) {
  Program program("kept");
  const Value x = program.input("x", f32, {batch, 64});
  const Value ids = program.input("ids", i64, {batch, 64});
  const Value w = program.parameter("w", f32, {64, 64});
  const Value large = program.parameter("large", f32, {64, 16384});  // for a library
  const Value h = tanh(matmul(x, w));
  const Value counts = cast(ids, {.dtype = f32});
  const Value y = matmul(h, large);
  const Value of_counts = matmul(counts, w), of_inputs = matmul(flip(x, {.axes = {1}}), w);
  const auto plan = compiled(program, {y, of_counts, of_inputs}, GetParam());
  EXPECT_GE(arena_types(*plan).size(), 2u);
  for (const DType type : arena_types(*plan)) EXPECT_EQ(type, f32) << plan::print(*plan);
  for (const int fetch : plan->fetches) {
    EXPECT_EQ(plan->buffers[static_cast<std::size_t>(fetch)].dtype, f32);
  }
}

// All users of a value see the same number, whether it is stored in between or not. The gradient of
// reduce_max relies on it, because it searches the row for the maximum.
TEST_P(StorageTest, AllUsersOfAValueSeeTheRoundedNumber) {
  Program program("largest");
  const Value x = program.input("x", f32, {batch, 32});
  const Value w = program.parameter("w", f32, {32, 64});
  const Value h = matmul(x, w);
  const Value loss = sum(reduce_max(h, {.axes = {1}}));
  const Value gradient(transforms::gradients(loss.get(), {x.get()}).at(0));
  const auto plan = compiled(program, {gradient, h}, GetParam(), true);
  const Tensor weight = noise({32, 64}, 1);
  const auto results = run(plan, {{"x", noise({9, 32}, 3)}}, {{"w", weight}}, {{"batch", 9}});
  for (std::int64_t i = 0; i < 9; ++i) {
    const float* row = results[1].data<float>() + i * 64;
    const auto best = std::max_element(row, row + 64) - row;
    for (std::int64_t k = 0; k < 32; ++k) {
      EXPECT_NEAR(results[0].data<float>()[i * 32 + k], weight.data<float>()[k * 64 + best],
                  0.02 + 64 * half_last_bit())
          << i << " " << k;
    }
  }
}

// Values of the forward pass that the weights' gradients need are stored in 16 bits; oneDNN reads
// an f32 copy.
TEST_P(StorageTest, LibrariesReadWideCopiesOfDistantValues) {
  Program program("deep");
  Value h = program.input("x", f32, {batch, 4, 6, 6});
  Tensors parameters;
  std::vector<ir::Value*> weights;
  for (unsigned i = 0; i < 4; ++i) {
    const std::int64_t from = i == 0 ? 4 : 8;
    const std::string name = "w" + std::to_string(i);
    const Value w = program.parameter(name, f32, {8, from, 3, 3});
    parameters[name] = noise({8, from, 3, 3}, i);
    weights.push_back(w.get());
    h = tanh(conv2d(h, w * 0.3, {.padding = {1, 1, 1, 1}}));
  }
  std::vector<Value> gradients;
  for (ir::Value* g : transforms::gradients(sum(h * h).get(), weights)) gradients.emplace_back(g);
  const auto wide = compiled(program, gradients, f32, true),
             narrow = compiled(program, gradients, GetParam(), true);
  const auto is_widened = [](const plan::Step& step) { return step.name.ends_with("(widened)"); };
  EXPECT_EQ(std::count_if(wide->steps.begin(), wide->steps.end(), is_widened), 0);
  EXPECT_GE(std::count_if(narrow->steps.begin(), narrow->steps.end(), is_widened), 2)
      << plan::print(*narrow);
  const Tensors feeds{{"x", noise({3, 4, 6, 6}, 9)}};
  const auto expected = run(wide, feeds, parameters, {{"batch", 3}});
  const auto actual = run(narrow, feeds, parameters, {{"batch", 3}});
  for (std::size_t k = 0; k < expected.size(); ++k) {
    double difference = 0, size = 0;
    for (std::int64_t i = 0; i < expected[k].elements(); ++i) {
      const double e = expected[k].data<float>()[i], a = actual[k].data<float>()[i];
      difference += (a - e) * (a - e);
      size += e * e;
    }
    EXPECT_LE(std::sqrt(difference / size), 8 * half_last_bit()) << k;  // up to 8 roundings
    EXPECT_GT(difference, 0) << k;
  }
}

TEST_P(StorageTest, PreparedWeightsTakeTwoBytes) {
  Program program("prepared");
  const Value x = program.input("x", f32, {batch, 16, 6, 6});
  const Value w = program.parameter("w", f32, {16, 16, 3, 3});    // needs another order
  const Value v = program.parameter("v", f32, {16 * 4 * 4, 32});  // is read unchanged
  const Value bias = program.parameter("bias", f32, {32});
  const Value y = matmul(reshape(conv2d(x, w), {.shape = {batch, 16 * 4 * 4}}), v) + bias;
  const PreparedPlans plans =
      compile_prepared(program.ir(), {y.get()}, *codegen_, *codegen_, {.storage = GetParam()});
  ASSERT_NE(plans.preparation, nullptr);
  EXPECT_EQ(plans.names.size(), 2u);
  std::int64_t narrow = 0;
  for (const plan::Buffer& buffer : plans.plan->buffers) {
    if (buffer.kind != plan::BufferKind::parameter) continue;
    EXPECT_EQ(buffer.dtype, buffer.name == "bias" ? f32 : GetParam()) << buffer.name;
    narrow += buffer.dtype == GetParam() ? 1 : 0;
  }
  EXPECT_EQ(narrow, 2);
  for (const int fetch : plans.preparation->fetches) {
    EXPECT_EQ(plans.preparation->buffers[static_cast<std::size_t>(fetch)].dtype, GetParam());
  }

  Tensors parameters{
      {"w", noise({16, 16, 3, 3}, 1)}, {"v", noise({16 * 4 * 4, 32}, 2)}, {"bias", noise({32}, 5)}};
  const Tensors feeds{{"x", noise({2, 16, 6, 6}, 3)}};
  const SymbolSizes sizes{{"batch", 2}};
  const Tensor expected = run(compiled(program, {y}, f32), feeds, parameters, sizes).at(0);
  const auto prepared = run(plans.preparation, {}, parameters, {});
  for (std::size_t i = 0; i < prepared.size(); ++i) parameters[plans.names[i]] = prepared[i];
  const Tensor actual = run(plans.plan, feeds, parameters, sizes).at(0);
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    // 256 summands of up to about 10, each with an error of a few last bits.
    EXPECT_NEAR(actual.data<float>()[i], expected.data<float>()[i], 256 * half_last_bit()) << i;
  }
}

}  // namespace
}  // namespace trireme::compiler
