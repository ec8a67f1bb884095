// sum_case CASE THREADS ROUNDS: sums 10^8 f32 numbers along one axis of a matrix, or computes means
// or batch statistics of them. Prints one JSON line: the seconds of the fastest round, and the
// largest relative error for numbers in [0, 1) and for equal numbers. acceptance/06-2-sums.sh
// compares two builds.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <trireme/trireme.h>

#include "measuring.h"

namespace tr = trireme;

namespace {

struct Case {
  const char* name;
  std::int64_t rows, columns;
  const char* what;  // sum_0, sum_1, sum, mean_0, mean_1 or statistics
};

constexpr Case kCases[] = {
    {"sum_rows_of_square", 10'000, 10'000, "sum_1"},
    {"sum_columns_of_square", 10'000, 10'000, "sum_0"},
    {"sum_long_rows", 8, 12'500'000, "sum_1"},
    {"sum_few_columns", 12'500'000, 8, "sum_0"},
    {"sum_one_column", 100'000'000, 1, "sum_0"},
    {"sum_all", 10'000, 10'000, "sum"},
    {"mean_rows", 10'000, 10'000, "mean_1"},
    {"mean_columns", 10'000, 10'000, "mean_0"},
    {"batch_statistics", 1'000'000, 100, "statistics"},
};

// Sums in f64 of the columns (axis 0) or rows (axis 1) of x - shift, to a power of 1 or 2.
std::vector<double> sums(const tr::Tensor& x, int axis, const std::vector<double>& shift,
                         int power) {
  const std::int64_t rows = x.dim(0), columns = x.dim(1);
  std::vector<double> result(static_cast<std::size_t>(axis == 0 ? columns : rows), 0.0);
  const float* data = x.data<float>();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto at = static_cast<std::size_t>(axis == 0 ? j : i);
      const double d = static_cast<double>(data[i * columns + j]) - (shift.empty() ? 0 : shift[at]);
      result[at] += power == 1 ? d : d * d;
    }
  }
  return result;
}

double worst(const tr::Tensor& got, const std::vector<double>& expected) {
  double error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error = std::max(error, std::abs(double(got.data<float>()[i]) - expected[i]) /
                                std::max(std::abs(expected[i]), 1e-10));
  }
  return error;
}

// Returns the largest error of a run.
double error_of(const Case& c, const tr::Tensor& x, const std::vector<tr::Tensor>& got,
                tr::Session& session) {
  const std::string what = c.what;
  if (what == "statistics") {
    std::vector<double> mean = sums(x, 0, {}, 1);
    for (double& m : mean) m /= static_cast<double>(c.rows);
    std::vector<double> variance = sums(x, 0, mean, 2);
    for (double& v : variance) v /= static_cast<double>(c.rows - 1);
    double error = worst(session.parameter("batch_norm_0.running_mean"), mean);
    if (variance[0] > 1e-9) {
      error = std::max(error, worst(session.parameter("batch_norm_0.running_var"), variance));
    }
    return error;
  }
  std::vector<double> expected = sums(x, what.back() == '1' ? 1 : 0, {}, 1);
  if (what == "sum") {
    double total = 0;
    for (const double s : expected) total += s;
    expected = {total};
  }
  const auto count = static_cast<double>(what.back() == '1' ? c.columns : c.rows);
  if (what.starts_with("mean")) {
    for (double& s : expected) s /= count;
  }
  return worst(got[0], expected);
}

int run(const Case& c, int threads, int rounds) {
  tr::Program program("sums");
  const tr::Value x = program.input("x", tr::f32, {c.rows, c.columns});
  const std::string what = c.what;
  const std::vector<std::int64_t> axes = {what.back() == '1' ? 1 : 0};
  tr::Value y;
  if (what == "sum") y = sum(x);
  else if (what.starts_with("sum")) y = sum(x, {.axes = axes});
  else if (what.starts_with("mean")) y = mean(x, {.axes = axes});
  else y = sum(tr::nn::batch_norm(x, {.momentum = 1}), {.axes = {0}});
  tr::Session session(program, {.threads = threads});
  const bool statistics = what == "statistics";
  const tr::RunOptions mode{.training = statistics, .updates = statistics};
  double seconds = 1e9, error = 0;
  for (const bool equal : {false, true}) {
    const tr::Feeds feeds = {{"x", bench::made_up<float>({c.rows, c.columns}, 1, [&](float u) {
                                return equal ? 0.1f : u;
                              })}};
    for (int i = 0; i <= rounds; ++i) {
      const double start = bench::now();
      const std::vector<tr::Tensor> got = session.run(feeds, {y}, mode);
      if (i > 0) seconds = std::min(seconds, bench::now() - start);
      if (i == 0) error = std::max(error, error_of(c, feeds.at("x"), got, session));
    }
  }
  std::cout << "{\"case\": \"" << c.name << "\", \"seconds\": " << seconds
            << ", \"error\": " << error << "}\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  for (const Case& c : kCases) {
    if (name == c.name && argc > 3) return run(c, std::atoi(argv[2]), std::atoi(argv[3]));
  }
  std::cerr << "usage: sum_case CASE THREADS ROUNDS\ncases:";
  for (const Case& c : kCases) std::cerr << ' ' << c.name;
  std::cerr << '\n';
  return 2;
}
