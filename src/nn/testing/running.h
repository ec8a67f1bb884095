#pragma once

// Runs small Programs of layers with the reference loops of the ops, and captures error messages.

#include <gmock/gmock.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/testing/error.h"
#include "nn/initialize.h"
#include "ops/reference.h"
#include "trireme/nn.h"

namespace trireme::nn {

inline ops::RefTensor tensor(std::vector<std::int64_t> shape, std::vector<double> data) {
  ops::RefTensor result(std::move(shape));
  result.data = std::move(data);
  return result;
}

// Numbers in [-2, 2] without a pattern that could hide errors in formulas.
inline ops::RefTensor noise(std::vector<std::int64_t> shape, unsigned seed = 1) {
  ops::RefTensor result(std::move(shape));
  for (double& x : result.data) {
    seed = seed * 1664525u + 1013904223u;
    x = (seed >> 8) * 0x1p-22 - 2;
  }
  return result;
}

// Returns the first values of all parameters according to their initializers.
inline ops::RefTensors first_values(const Program& program, std::uint64_t seed = 1) {
  ops::RefTensors values;
  for (const auto& parameter : program.ir().parameters()) {
    const Tensor wide = initialize(*parameter, seed).cast(f64);
    values[parameter->name()] = tensor(wide.shape(), wide.to_vector<double>());
  }
  return values;
}

inline ops::RefTensor run(const Program& program, const Value& wanted,
                          const ops::RefTensors& inputs, ops::RefTensors& parameters,
                          bool training = false) {
  return ops::evaluate(program.ir(), inputs, parameters, {wanted.get()}, {.training = training})[0];
}

// Returns the result of a function of one input.
inline ops::RefTensor run_on(const ops::RefTensor& x, DType dtype, const Shape& shape,
                             const std::function<Value(const Value&)>& function) {
  Program program;
  const Value y = function(program.input("x", dtype, shape));
  ops::RefTensors none;
  return run(program, y, {{"x", x}}, none);
}

// Returns the message of the Error(usage) that `f` throws.
template <class F>
std::string refusal(const F& f) {
  return error_of(ErrorKind::usage, f);
}

// The same; the message must also name a line of the test's file.
template <class F>
std::string refusal_here(const F& f, SourceLocation where = SourceLocation::current()) {
  const std::string text = refusal(f), file = where.file_name();
  EXPECT_THAT(text, testing::HasSubstr(file.substr(file.find_last_of('/') + 1) + ":"));
  return text;
}

}  // namespace trireme::nn
