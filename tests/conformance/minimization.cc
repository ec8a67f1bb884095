// L-BFGS, which runs a Session, against PyTorch: the minimum that it finds. Losses near the minimum
// differ by less than rounding errors, so the place is compared in 5 digits.

#include <cmath>
#include <initializer_list>
#include <tuple>

#include "layers.h"
#include "trireme/functions.h"
#include "trireme/lbfgs.h"
#include "trireme/loss.h"

namespace trireme::conformance {
namespace {

Tensor as_tensor(const ops::RefTensor& x, DType dtype) {
  return Tensor::from(x.shape, x.data).cast(dtype);
}

}  // namespace

std::vector<Case> minimization_cases() {
  Case c;
  c.op = "Lbfgs";
  c.torch_reference = "formulas.lbfgs(x)";
  c.check_gradient = false;
  c.tolerance = 1e-7;
  const ops::RefTensor x = random_tensor({20, 4}, f64, -2, 2, 1);
  const ops::RefTensor t = random_tensor({20}, i64, 0, 3, 2);
  const ops::RefTensor w = random_tensor({4, 3}, f64, -1, 1, 3);

  Program network("network");
  const Value weight = network.parameter("w", f64, {4, 3});
  const Value logits = matmul(network.input("x", f64, {20, 4}), weight);
  const Value loss =
      mean(nn::cross_entropy(logits, network.input("t", i64, {20}))) + mean(weight * weight);
  Session session(network, {.threads = 1});
  session.set_parameter("w", as_tensor(w, f64));
  Lbfgs lbfgs(session, loss, {.gradient_tolerance = 1e-12, .change_tolerance = 1e-15});
  const LbfgsResult minimum = lbfgs.minimize({{"x", as_tensor(x, f64)}, {"t", as_tensor(t, i64)}});

  c.program = std::make_unique<Program>("minimum");
  const Value found = c.program->parameter("found", f64, {13}) * 1.0;
  for (const auto& [name, dtype, shape] :
       std::initializer_list<std::tuple<const char*, DType, Shape>>{
           {"w", f64, {4, 3}}, {"x", f64, {20, 4}}, {"t", i64, {20}}}) {
    c.operands.push_back(c.program->input(name, dtype, shape).get());
  }
  c.results = {found.get()};
  Run run{c.op, {}, {}};
  run.inputs = {{"w", w}, {"x", x}, {"t", t}};
  ops::RefTensor& result = run.parameters["found"] = ops::RefTensor({13});
  result.data = {minimum.loss};
  for (const double number : session.parameter("w").to_vector<double>()) {
    result.data.push_back(std::round(number * 1e5));
  }
  c.runs.push_back(std::move(run));
  std::vector<Case> cases;
  cases.push_back(std::move(c));
  return cases;
}

}  // namespace trireme::conformance
