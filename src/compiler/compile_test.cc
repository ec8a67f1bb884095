#include "compiler/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/testing/noise.h"
#include "codegen/codegen.h"
#include "device/device.h"
#include "ops/op.h"
#include "ops/philox.h"
#include "ops/reference.h"
#include "runtime/executor.h"
#include "transforms/autodiff.h"
#include "trireme/ops.h"

namespace trireme::compiler {
namespace {

// Runs a Program compiled and with the reference loops, and compares fetches and parameters.
class CompiledAndReference {
 public:
  CompiledAndReference(Program& program, std::vector<Value> fetches, CompileOptions options)
      : program_(program), fetches_(std::move(fetches)), options_(std::move(options)) {
    unsigned seed = 1;
    for (const Value& parameter : program_.parameters()) {
      auto& data = parameters_[parameter.get()->name];
      data = noise({product(parameter.shape()).constant()}, seed++).to_vector<float>();
    }
  }

  void check(const SymbolSizes& sizes, codegen::Codegen& codegen, double tolerance) {
    std::vector<const ir::Value*> wanted;
    for (const Value& fetch : fetches_) wanted.push_back(fetch.get());
    if (!executor_) {
      plan_ = compile(program_.ir(), wanted, codegen, options_);
      executor_ = std::make_unique<runtime::Executor>(
          plan_, *device_, runtime::ExecutorOptions{.find_kernel = kernels::find});
    }
    ops::RefTensors inputs, parameters;
    runtime::Bindings bindings;
    std::map<std::string, std::vector<float>> feeds;
    for (const Value& input : program_.inputs()) {
      const auto shape = evaluate(input.shape(), sizes);
      auto& data = feeds[input.get()->name];
      data = noise(shape, 77).to_vector<float>();
      inputs[input.get()->name] = reference_of(shape, data);
      bindings.feeds[input.get()->name] = data.data();
    }
    for (const Value& parameter : program_.parameters()) {
      auto& data = parameters_[parameter.get()->name];
      parameters[parameter.get()->name] = reference_of(evaluate(parameter.shape(), {}), data);
      bindings.parameters[parameter.get()->name] = data.data();
    }
    std::vector<std::vector<float>> results;
    for (const Value& fetch : fetches_) {
      results.emplace_back(elements(evaluate(fetch.shape(), sizes)), NAN);
    }
    for (auto& result : results) bindings.fetches.push_back(result.data());
    executor_->run(sizes, bindings);
    const auto expected =
        ops::evaluate(program_.ir(), inputs, parameters, wanted, {.training = options_.training});
    for (std::size_t i = 0; i < results.size(); ++i) {
      compare(fetches_[i].str(), results[i], expected[i].data, tolerance);
    }
    if (!options_.updates) return;
    for (const auto& [name, data] : parameters_) {
      compare(name, data, parameters.at(name).data, tolerance);
    }
  }

  const plan::Plan& plan() const { return *plan_; }

 private:
  static std::size_t elements(const std::vector<std::int64_t>& shape) {
    std::size_t n = 1;
    for (const std::int64_t size : shape) n *= static_cast<std::size_t>(size);
    return n;
  }
  static ops::RefTensor reference_of(std::vector<std::int64_t> shape,
                                     const std::vector<float>& data) {
    ops::RefTensor tensor(std::move(shape));
    tensor.data.assign(data.begin(), data.end());
    return tensor;
  }
  static void compare(const std::string& what, const std::vector<float>& actual,
                      const std::vector<double>& expected, double tolerance) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double bound = tolerance * std::max(1.0, std::abs(expected[i]));
      ASSERT_NEAR(actual[i], expected[i], bound) << what << " element " << i;
    }
  }

  Program& program_;
  std::vector<Value> fetches_;
  CompileOptions options_;
  std::unique_ptr<device::Device> device_ = device::make_cpu_device(2);
  std::shared_ptr<const plan::Plan> plan_;
  std::unique_ptr<runtime::Executor> executor_;
  std::map<std::string, std::vector<float>> parameters_;
};

class CompileTest : public testing::TestWithParam<bool> {
 protected:
  CompileTest() : codegen_(codegen::make_interpreter()) {}
  CompileOptions options() const { return {.training = true, .updates = true, .fuse = GetParam()}; }
  std::unique_ptr<codegen::Codegen> codegen_;
};

INSTANTIATE_TEST_SUITE_P(FusedAndNot, CompileTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Fused" : "Unfused"; });

void apply_sgd(const Value& loss) {
  std::vector<ir::Value*> wanted;
  ir::Program& program = *loss.get()->program;
  for (const auto& parameter : program.parameters()) wanted.push_back(parameter->value.get());
  const auto gradients = transforms::gradients(loss.get(), wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Value parameter(wanted[i]);
    assign(parameter, parameter - Value(gradients[i]) * 0.1);
  }
}

Value softmax(const Value& x) {
  const Shape rows = {x.dim(0)};
  const auto spread = [&](const Value& row) {
    return broadcast(row, {.shape = x.shape(), .axes = {0}});
  };
  const Value e = exp(x - spread(reduce_max(x, {.axes = {1}})));
  return e / spread(sum(e, {.axes = {1}}));
}

TEST_P(CompileTest, ElementwiseChain) {
  Program program("chain");
  const Value x = program.input("x", f32, {batch, 5});
  const Value y = tanh(x * 2.0 + 1.0) * sigmoid(x) - exp(-x);
  CompiledAndReference runner(program, {y, x}, options());
  for (const std::int64_t n : {0, 1, 7, 64, 1000}) runner.check({{"batch", n}}, *codegen_, 1e-5);
  if (GetParam()) {
    EXPECT_EQ(runner.plan().steps.size(), 2u) << plan::print(runner.plan());
  }
}

TEST_P(CompileTest, SoftmaxIsOneKernel) {
  Program program("softmax");
  const Value x = program.input("x", f32, {batch, 37});
  CompiledAndReference runner(program, {softmax(x)}, options());
  for (const std::int64_t n : {0, 1, 7, 64}) runner.check({{"batch", n}}, *codegen_, 1e-5);
  if (GetParam()) {
    EXPECT_EQ(runner.plan().steps.size(), 1u) << plan::print(runner.plan());
  }
}

// A sum may reuse the storage of a factor of each row only if nothing later reads the factor.
TEST_P(CompileTest, StorageIsNotReusedBeforeTheLastRead) {
  Program program("rows");
  const Value x = program.input("x", f32, {batch, 9}), y = program.input("y", f32, {batch, 9});
  const Value factor = cumsum(program.input("u", f32, {batch}), {.axis = 0});
  const Value total = sum(x * y, {.axes = {1}});
  const Value scaled = total * factor;
  const Value rows = y * broadcast(factor, {.shape = y.shape(), .axes = {0}});
  CompiledAndReference runner(
      program, {rows, cumsum(total, {.axis = 0}), cumsum(-scaled, {.axis = 0})}, options());
  for (const std::int64_t n : {0, 1, 37}) runner.check({{"batch", n}}, *codegen_, 1e-4);
}

// Ops on the same operands and the assign are fused with the sums of blocks.
TEST_P(CompileTest, TotalIsSummedInBlocksFusedWithItsGradient) {
  Program program("total");
  const Value x = program.parameter("x", f32, {70'001});
  const Value loss = mean(tanh(x) * x);
  apply_sgd(loss);
  CompiledAndReference runner(program, {loss}, options());
  runner.check({}, *codegen_, 1e-5);
  if (!GetParam()) return;
  ASSERT_EQ(runner.plan().steps.size(), 2u) << plan::print(runner.plan());
  EXPECT_EQ(runner.plan().steps[0].trip.evaluate({}), 18);  // blocks of 4096
}

// The kernel of such an assign would replace elements that it still has to read.
TEST_P(CompileTest, ParametersAreNotReplacedBeforeOthersReadThem) {
  const auto softmax = [](const Value& x) {
    const std::int64_t last = x.rank() - 1;
    const Value largest = reduce_max(x, {.axes = {last}, .keep = true});
    const Value powers = exp(x - largest);
    return powers / sum(powers, {.axes = {last}, .keep = true});
  };
  const std::vector<std::function<Value(const Value&)>> updates = {
      [&](const Value& w) { return tanh(softmax(tanh(w))); },
      [](const Value& w) { return transpose(tanh(w), {.permutation = {1, 0}}) * 2.0; },
      [](const Value& w) { return tanh(w) - sum(tanh(w) * w, {.axes = {0}, .keep = true}); }};
  for (const auto& update : updates) {
    Program program("updates");
    const Value w = program.parameter("w", f32, {7, 7});
    const Value y = program.input("y", f32, {7, 7});
    assign(w, update(w) * y);
    const Value after = w * 3.0;
    CompiledAndReference runner(program, {after}, options());
    runner.check({}, *codegen_, 1e-5);
  }
}

// The expensive value is kept for the pass after the sum, so the parameter is read in another pass
// than the one that replaces it.
TEST_P(CompileTest, ParametersAreReadInAnEarlierPassThanReplaced) {
  Program program("passes");
  const Value w = program.parameter("w", f32, {3, 5});
  const Value y = program.input("y", f32, {3, 5});
  const Value kept = log1p_exp(w);
  assign(w, tanh(maximum(y / sum(y, {.axes = {1}, .keep = true}), kept)));
  CompiledAndReference runner(program, {w * 3.0}, options());
  runner.check({}, *codegen_, 1e-5);
}

TEST_P(CompileTest, ProductsOfNoElementsCompile) {
  for (const std::int64_t inner : {0, 1, 5}) {
    Program program("empty products");
    const Value x = program.input("x", f32, {1, 16, 0, inner});
    const Value y = program.input("y", f32, {inner, 1}), z = program.input("z", f32, {inner, 17});
    const Value rows = program.input("rows", f32, {batch, 0, inner});
    const Value image = program.input("image", f32, {0, 0, 9, 8});
    const Value window = program.input("window", f32, {0, 0, 3, 3});
    const Value none = tanh(conv2d(image, window, {.padding = {1, 1, 1, 1}}));
    CompiledAndReference runner(program, {matmul(x, y), matmul(rows, z), none}, options());
    runner.check({{"batch", 2}}, *codegen_, 1e-6);
  }
}

TEST_P(CompileTest, ReductionsOfNoElementsCompile) {
  for (const Shape& shape : {Shape{8, 0}, Shape{0, 8}, Shape{3, 0, 2}, Shape{0}}) {
    Program program("empty");
    const Value w = program.parameter("w", f32, shape), y = program.input("y", f32, shape);
    const Value total = sum(y, {.axes = {0}});
    assign(w, tanh(y - mean(y)) * w);
    CompiledAndReference runner(program, {sum(y * y), total, y - sum(y)}, options());
    runner.check({}, *codegen_, 1e-6);
  }
}

// What was read before an assign is the old value for every op that uses it later.
TEST_P(CompileTest, OldValuesOfParametersOutliveTheirAssign) {
  const std::vector<std::function<Value(const Value&)>> reads = {
      [](const Value& w) { return reshape(w, {.shape = {5, 5}}); },
      [](const Value& w) { return reshape(reshape(w, {.shape = {25}}), {.shape = {5, 5}}); },
      [](const Value& w) { return transpose(w, {.permutation = {1, 0}}); },
      [](const Value& w) { return when_training(w, w * 2.0); },
      [](const Value& w) { return stop_gradient(w); },
      [](const Value& w) { return -w; }};
  for (std::size_t i = 0; i < reads.size(); ++i) {
    SCOPED_TRACE(i);
    Program program("old values");
    const Value w = program.parameter("w", f32, {5, 5}), y = program.input("y", f32, {5, 5});
    const Value before = reads[i](w);
    assign(w, y);
    const Value product = matmul(before, y), sum_of = y - before, twice = -before;
    assign(w, before + w);
    CompiledAndReference runner(program, {product, sum_of, twice, before}, options());
    runner.check({}, *codegen_, 1e-5);
  }
}

TEST_P(CompileTest, TotalOfLongRowsIsSummedByRows) {
  Program program("rows");
  const Value x = program.input("x", f32, {batch, 40, 30});
  const Value largest = reduce_max(abs(x), {.axes = {1, 2}});
  const Value spread = broadcast(largest, {.shape = x.shape(), .axes = {0}});
  CompiledAndReference runner(program, {sum(x * x), mean(x / (spread + 1.0))}, options());
  for (const std::int64_t n : {1, 7, 40}) runner.check({{"batch", n}}, *codegen_, 1e-5);
  EXPECT_TRUE(std::any_of(runner.plan().steps.begin(), runner.plan().steps.end(),
                          [](const auto& s) { return s.trip.evaluate({{"batch", 40}}) == 40; }))
      << plan::print(runner.plan());
}

TEST_P(CompileTest, ColumnOfSingleNumbersIsVectorized) {
  Program program("column");
  const Value x = program.input("x", f32, {batch});
  const Value table = program.parameter("table", f32, {10, 1});
  const Value y = gather(table, cast(floor(abs(x) * 9.0), {.dtype = i64})) * 2.0;
  const Value z = broadcast(x, {.shape = {1, batch, 1}, .axes = {1}}) + 1.0;
  CompiledAndReference runner(program, {y, z}, options());
  for (const std::int64_t n : {0, 1, 7, 5000}) runner.check({{"batch", n}}, *codegen_, 1e-6);
  for (const plan::Step& step : runner.plan().steps) {
    EXPECT_EQ(step.trip.evaluate({{"batch", 4000}}), 1) << step.name;  // one block, not a row each
  }
}

TEST_P(CompileTest, TrainsAPerceptron) {
  Program program("mlp");
  const Value x = program.input("x", f32, {batch, 19});
  const auto layer = [&](const Value& in, int units, const std::string& name) {
    const Value w = program.parameter(name + ".weight", f32, {in.dim(1), units});
    const Value b = program.parameter(name + ".bias", f32, {units});
    return matmul(in, w) + b;
  };
  const Value h = maximum(layer(x, 23, "l0"), 0.0);
  const Value p = softmax(layer(h, 10, "l1"));
  const Value loss = mean(p * p);
  apply_sgd(loss);
  CompiledAndReference runner(program, {loss, p}, options());
  for (const std::int64_t n : {1, 7, 64, 64, 100}) runner.check({{"batch", n}}, *codegen_, 2e-5);
}

TEST_P(CompileTest, TrainsAConvolution) {
  Program program("conv");
  const Value x = program.input("x", f32, {batch, 1, 12, 12});
  const Value w = program.parameter("w", f32, {4, 1, 3, 3});
  const Value b = program.parameter("b", f32, {4});
  const Value y = maximum(conv2d(x, w) + reshape(b, {.shape = {1, 4, 1, 1}}), 0.0);
  const Value pooled = max_pool(y, {.kernel = {2, 2}, .stride = {2, 2}})[0];
  const Value w2 = program.parameter("w2", f32, {6, 4, 3, 3});
  const Value z = tanh(conv2d(pooled, w2, {.padding = {1, 1, 1, 1}}));
  const Value flat = reshape(z, {.shape = {batch, 6 * 5 * 5}});
  const Value w3 = program.parameter("w3", f32, {6 * 5 * 5, 3});
  const Value loss = mean(softmax(matmul(flat, w3)) * 3.0);
  apply_sgd(loss);
  CompiledAndReference runner(program, {loss, z}, options());
  for (const std::int64_t n : {1, 7, 16}) runner.check({{"batch", n}}, *codegen_, 5e-5);
}

}  // namespace
}  // namespace trireme::compiler
