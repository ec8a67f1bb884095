#pragma once

// Compares Programs with blocks with the reference loops in double precision: values, gradients by
// differences, and compiled runs with one and two threads.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/testing/noise.h"
#include "nn/initialize.h"
#include "ops/reference.h"
#include "transforms/autodiff.h"
#include "trireme/session.h"

namespace trireme {

inline ops::RefTensor as_reference(const Tensor& tensor) {
  ops::RefTensor result(tensor.shape());
  const Tensor wide = tensor.cast(DType::f64);
  if (wide.elements() > 0) result.data = wide.to_vector<double>();
  return result;
}

inline ops::RefTensors as_reference(const Feeds& feeds) {
  ops::RefTensors result;
  for (const auto& [name, tensor] : feeds) result[name] = as_reference(tensor);
  return result;
}

// Returns the first values of parameters in a Session with the default seed.
inline ops::RefTensors first_parameters(const Program& program) {
  ops::RefTensors result;
  for (const auto& parameter : program.ir().parameters()) {
    result[parameter->name()] = as_reference(nn::initialize(*parameter, SessionOptions().seed));
  }
  return result;
}

inline void expect_near(const Tensor& actual, const ops::RefTensor& expected,
                        const std::string& what, double tolerance = 2e-5) {
  ASSERT_EQ(actual.shape(), expected.shape) << what;
  const Tensor wide = actual.cast(DType::f64);
  for (std::int64_t i = 0; i < wide.elements(); ++i) {
    const double value = wide.data<double>()[i];
    const double wanted = expected.data[static_cast<std::size_t>(i)];
    ASSERT_NEAR(value, wanted, tolerance * (1 + std::abs(wanted))) << what << " at " << i;
  }
}

// Runs `fetches` compiled, in every configuration, and compares with the reference.
inline void expect_compiled(const Program& program, const Feeds& feeds,
                            const std::vector<Value>& fetches, double tolerance = 2e-5) {
  std::vector<const ir::Value*> wanted;
  for (const Value& fetch : fetches) wanted.push_back(fetch.get());
  ops::RefTensors parameters = first_parameters(program);
  const auto expected =
      ops::evaluate(program.ir(), as_reference(feeds), parameters, wanted, {.training = false});
#ifdef TRIREME_SANITIZED  // compiling is slow then
  const std::vector<std::pair<int, bool>> forms{{2, true}};
#else
  const std::vector<std::pair<int, bool>> forms{{1, true}, {2, true}, {1, false}, {2, false}};
#endif
  for (const auto& [threads, fuse] : forms) {
    Session session(program, {.threads = threads, .fuse = fuse});
    const std::string form = " threads " + std::to_string(threads) + (fuse ? " fused" : " unfused");
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::vector<Tensor> actual = session.run(feeds, fetches);
      for (std::size_t i = 0; i < fetches.size(); ++i) {
        expect_near(actual[i], expected[i], "fetch " + std::to_string(i) + form, tolerance);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Checks the gradients of `loss` with respect to inputs or parameters against central differences
// of the reference, and the compiled gradients.
inline void expect_gradients(Program& program, const Feeds& feeds, const Value& loss,
                             const std::vector<Value>& inputs) {
  std::vector<ir::Value*> wanted;
  for (const Value& input : inputs) wanted.push_back(input.get());
  const std::vector<ir::Value*> made = transforms::gradients(loss.get(), wanted);
  ir::verify(program.ir());
  ops::RefTensors values = as_reference(feeds), parameters = first_parameters(program);
  const auto evaluated = ops::evaluate(program.ir(), values, parameters, {made.begin(), made.end()},
                                       {.training = false});
  constexpr double kStep = 1e-5;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const bool is_parameter = inputs[k].get()->kind == ir::ValueKind::parameter;
    std::vector<double>& data = (is_parameter ? parameters : values).at(inputs[k].get()->name).data;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const auto at = [&](double delta) {
        const double kept = data[i];
        data[i] += delta;
        const double result =
            ops::evaluate(program.ir(), values, parameters, {loss.get()}, {.training = false})[0]
                .data[0];
        data[i] = kept;
        return result;
      };
      const double difference = (at(kStep) - at(-kStep)) / (2 * kStep);
      ASSERT_NEAR(evaluated[k].data[i], difference, 1e-5 * (1 + std::abs(difference)))
          << inputs[k].str() << " at " << i;
    }
  }
  std::vector<Value> fetches{loss};
  for (ir::Value* gradient : made) fetches.emplace_back(gradient);
  expect_compiled(program, feeds, fetches, 1e-4);
}

}  // namespace trireme
