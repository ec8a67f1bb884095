#include <limits>

#include "base/error.h"
#include "functions.h"
#include "transforms/autodiff.h"
#include "trireme/functions.h"
#include "trireme/linalg.h"
#include "trireme/nn.h"
#include "trireme/ops.h"

namespace trireme::edges {
namespace {

using Tensors = std::vector<Tensor>;
using Values = std::vector<Value>;
using Sizes = std::vector<std::int64_t>;

constexpr double kRefused = -77;  // instead of numbers, for Error(data); exact.REFUSED
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Appends what a run returns, or kRefused for each element.
void append_run(std::vector<std::vector<double>>& to, Session& session, const Feeds& feeds,
                const Values& fetches) {
  Tensors got;
  try {
    got = session.run(feeds, fetches, {.training = true});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    for (const Value& y : fetches) {
      Tensor refused(DType::f64, evaluate(y.shape(), {}));
      std::fill_n(refused.data<double>(), refused.elements(), kRefused);
      got.push_back(refused);
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Tensor wide = got[i].cast(DType::f64);
    to[i].insert(to[i].end(), wide.data<double>(), wide.data<double>() + wide.elements());
  }
}

// Each row of the operands is one matrix of these shapes. Returns the results of each row, and the
// gradients of their weighted sum.
Tensors of_matrices(const Build& build, const std::vector<Sizes>& shapes, const Tensors& x,
                    const SessionOptions& options) {
  const DType dtype = x[0].dtype();
  Program program("matrices");
  Values operands;
  std::vector<ir::Value*> wanted;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    operands.push_back(
        program.input("x" + std::to_string(i), dtype, Shape(shapes[i].begin(), shapes[i].end())));
    wanted.push_back(operands.back().get());
  }
  const Values results = build(operands);
  Feeds feeds;
  Value loss;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string name = "weight" + std::to_string(i);
    feeds[name] = weights(dtype, evaluate(results[i].shape(), {}));
    const Value part = sum(results[i] * program.input(name, dtype, results[i].shape()));
    loss = loss ? loss + part : part;
  }
  Values gradients;
  for (ir::Value* gradient : transforms::gradients(loss.get(), wanted)) {
    gradients.emplace_back(gradient);
  }
  Session session(program, options);
  std::vector<std::vector<double>> numbers(results.size()), slopes(gradients.size());
  for (std::int64_t row = 0; row < x[0].dim(0); ++row) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      feeds["x" + std::to_string(i)] = x[i].rows(row, row + 1).reshaped(shapes[i]);
    }
    append_run(numbers, session, feeds, results);
    append_run(slopes, session, feeds, gradients);
  }
  Tensors all;
  for (auto* parts : {&numbers, &slopes}) {
    for (const std::vector<double>& part : *parts) {
      const auto width = static_cast<std::int64_t>(part.size()) / x[0].dim(0);
      all.push_back(Tensor::from<double>({x[0].dim(0), width}, part).cast(dtype));
    }
  }
  return all;
}

// Matrices of two rows: regular, singular, symmetric with equal eigenvalues, tiny, huge, and with
// numbers that are not finite.
Source squares(DType dtype) {
  const bool wide = dtype == DType::f64;
  const double tiny = wide ? 1e-200 : 1e-30, huge = wide ? 1e200 : 1e30;
  return {{{1, 0, 0, 1},
           {0, 0, 0, 0},
           {4, 1, 1, 3},
           {4, 3, -1, 2},
           {0, 1, 2, 0},
           {-1, 0, 0, 2},
           {1, 2, 2, 4},
           {3, 0, 0, 0},
           {-2, 0, 0, -2},
           {4 * tiny, tiny, tiny, 3 * tiny},
           {4 * huge, huge, huge, 3 * huge},
           {tiny, 0, 0, huge},
           {kNan, 0, 0, 1},
           {1, 2, kNan, 3},
           {kInfinity, 0, 0, 1},
           {2, 0, -kInfinity, 1}},
          true,
          dtype};
}

// Matrices of three rows, or of three columns.
Source rectangles(DType dtype) {
  const bool wide = dtype == DType::f64;
  const double tiny = wide ? 1e-200 : 1e-30, huge = wide ? 1e200 : 1e30;
  return {{{1, 2, 3, 4, 5, 7},
           {0, -1, 2, 3, -2, 0.5},
           {0, 0, 0, 0, 0, 0},
           {tiny, 2 * tiny, 3 * tiny, 4 * tiny, 5 * tiny, 7 * tiny},
           {huge, 2 * huge, 3 * huge, 4 * huge, 5 * huge, 7 * huge},
           {1, 2, kNan, 4, 5, 7},
           {1, 2, 3, kInfinity, 5, 7}},
          true,
          dtype};
}

void add(std::vector<Function>& all, const std::string& name, const std::string& torch,
         const Build& build, const std::vector<Sizes>& shapes = {{2, 2}}) {
  Function function{.name = name,
                    .torch = "exact.matrices(" + torch + ", *x)",
                    .sources = [](DType d) { return std::vector{squares(d)}; },
                    .dtypes = {DType::f32, DType::f64},
                    .compute =
                        [=](const Tensors& x, const SessionOptions& options) {
                          return of_matrices(build, shapes, x, options);
                        },
                    .as_f32 = false};
  if (shapes.size() > 1) {
    function.sources = [](DType d) {
      return std::vector{squares(d), Source{{{1, -2}, {0, 0}, {kInfinity, 1}}, true, d}};
    };
  }
  all.push_back(std::move(function));
}

void add_rectangles(std::vector<Function>& all) {
  const auto add_one = [&](const std::string& name, const Build& build, std::int64_t columns) {
    add(all, name, "", build, {{6 / columns, columns}});
    all.back().torch =
        "exact.matrices(exact." + name + ", *x, columns=" + std::to_string(columns) + ")";
    all.back().sources = [](DType d) { return std::vector{rectangles(d)}; };
  };
  add_one("qr", [](const Values& x) { return qr(x[0]); }, 2);
  for (const std::int64_t columns : {2, 3}) {
    add_one("svd", [](const Values& x) { return svd(x[0]); }, columns);
  }
}

}  // namespace

std::vector<Function> matrix_functions() {
  std::vector<Function> all;
  add(all, "solve", "exact.solve", [](const Values& x) { return Values{solve(x[0], x[1])}; },
      {{2, 2}, {2, 1}});
  add(all, "inverse", "exact.inverse", [](const Values& x) { return Values{inverse(x[0])}; });
  add(all, "det", "exact.det", [](const Values& x) { return Values{det(x[0])}; });
  add(all, "slogdet", "exact.slogdet", [](const Values& x) { return slogdet(x[0]); });
  add(all, "cholesky", "exact.cholesky", [](const Values& x) { return Values{cholesky(x[0])}; });
  add(all, "eigh", "exact.eigh", [](const Values& x) { return eigh(x[0]); });
  add(all, "qr", "exact.qr", [](const Values& x) { return qr(x[0]); });
  add(all, "svd", "exact.svd", [](const Values& x) { return svd(x[0]); });
  add_rectangles(all);
  add(all, "weight_norm", "exact.weight_norm",
      [](const Values& x) { return Values{nn::weight_norm(x[0])}; });
  // As many iterations as the largest singular value needs.
  add(all, "spectral_norm", "exact.spectral_norm",
      [](const Values& x) { return Values{nn::spectral_norm(x[0], {.iterations = 100})}; });
  return all;
}

}  // namespace trireme::edges
