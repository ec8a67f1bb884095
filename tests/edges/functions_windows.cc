#include "functions.h"
#include "trireme/attention.h"
#include "trireme/convolution.h"
#include "trireme/functions.h"
#include "trireme/linalg.h"
#include "trireme/nn.h"

namespace trireme::edges {
namespace {

using Values = std::vector<Value>;

// Of rows of each of these widths.
void add(std::vector<Function>& all, const std::string& name, const std::string& torch,
         const std::vector<std::size_t>& widths, const std::function<Values(const Value&)>& build) {
  for (const std::size_t width : widths) {
    all.push_back({.name = name,
                   .torch = torch,
                   .sources = [=](DType d) { return std::vector{rows(d, width)}; },
                   .build = [=](const Values& x) { return build(x[0]); }});
  }
}

// exact.weights() has the same numbers.
Initializer cycle_of(std::size_t count) {
  const double cycle[] = {0, 1, -1, 0.5, 2, -0.25, 0};
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = cycle[i % std::size(cycle)];
  return nn::values(numbers);
}

Value shaped(const Value& x, Shape shape) { return reshape(x, {.shape = std::move(shape)}); }
Value line_of(const Value& x) { return unsqueeze(x, 1); }
Value row_of(const Value& line) { return squeeze(line, {1}); }
Value cube_of(const Value& x) { return shaped(x, {batch, 1, 2, 2, 2}); }

void add_transposed(std::vector<Function>& all) {
  add(all, "conv_transpose1d",
      "F.conv_transpose1d(x[0].reshape(-1, 2, 4), exact.weights(2, 1, 3).to(x[0]), stride=2,"
      " padding=1)[:, 0]",
      {8}, [](const Value& x) {
        return Values{
            row_of(nn::conv_transpose1d(shaped(x, {batch, 2, 4}), {.channels = 1,
                                                                   .stride = 2,
                                                                   .padding = 1,
                                                                   .bias = false,
                                                                   .weight_init = cycle_of(6)}))};
      });
  add(all, "conv_transpose3d",
      "F.conv_transpose3d(x[0].reshape(-1, 1, 2, 2, 2), exact.weights(1, 2, 2, 2, 2).to(x[0]))"
      ".flatten(1)",
      {8}, [](const Value& x) {
        return Values{nn::flatten(nn::conv_transpose3d(
            cube_of(x), {.channels = 2, .kernel = 2, .bias = false, .weight_init = cycle_of(16)}))};
      });
}

void add_pools(std::vector<Function>& all) {
  add(all, "max_pool1d", "F.max_pool1d(x[0][:, None], 3, 2, 1)[:, 0]", {4, 37, 1},
      [](const Value& x) {
        return Values{row_of(nn::max_pool1d(line_of(x), {.kernel = 3, .stride = 2, .padding = 1}))};
      });
  add(all, "avg_pool1d", "F.avg_pool1d(x[0][:, None], 3, 2, 1)[:, 0]", {4, 37, 1},
      [](const Value& x) {
        return Values{row_of(nn::avg_pool1d(line_of(x), {.kernel = 3, .stride = 2, .padding = 1}))};
      });
  add(all, "max_pool3d", "F.max_pool3d(x[0].reshape(-1, 1, 2, 2, 2), 2, 1, 1).flatten(1)", {8},
      [](const Value& x) {
        return Values{nn::flatten(
            nn::max_pool3d(cube_of(x), {.kernel = 2, .stride = nn::Triple(1), .padding = 1}))};
      });
  add(all, "avg_pool3d", "F.avg_pool3d(x[0].reshape(-1, 1, 2, 2, 2), 2, 1, 1).flatten(1)", {8},
      [](const Value& x) {
        return Values{nn::flatten(
            nn::avg_pool3d(cube_of(x), {.kernel = 2, .stride = nn::Triple(1), .padding = 1}))};
      });
  add(all, "lp_pool of power 3", "torch.linalg.vector_norm(x[0], 3, dim=1, keepdim=True)", {4},
      [](const Value& x) {
        return Values{nn::flatten(nn::lp_pool(shaped(x, {batch, 1, 2, 2}), {.power = 3}))};
      });
  add(all, "max_pool1d_with_indices", "exact.pooled_and_unpooled(x[0])", {4, 37},
      [](const Value& x) {
        const nn::PooledMaxima pooled =
            nn::max_pool1d_with_indices(line_of(x), {.kernel = 3, .stride = 1});
        const Value back = nn::max_unpool1d(pooled.values, pooled.indices, x.dim(1).constant());
        return Values{row_of(pooled.values), row_of(pooled.indices), row_of(back)};
      });
}

void add_adaptive_pools(std::vector<Function>& all) {
  add(all, "adaptive_max_pool1d", "exact.maxima_of_bins(x[0], 3)", {4, 5, 37},
      [](const Value& x) { return Values{row_of(nn::adaptive_max_pool1d(line_of(x), 3))}; });
  add(all, "adaptive_avg_pool1d", "F.adaptive_avg_pool1d(x[0][:, None], 3)[:, 0]", {4, 5, 37},
      [](const Value& x) { return Values{row_of(nn::adaptive_avg_pool1d(line_of(x), 3))}; });
  add(all, "adaptive_max_pool3d", "x[0].reshape(-1, 2, 2, 2).amax((1, 3))", {8},
      [](const Value& x) {
        return Values{nn::flatten(nn::adaptive_max_pool3d(cube_of(x), {1, 2, 1}))};
      });
  add(all, "adaptive_avg_pool3d",
      "F.adaptive_avg_pool3d(x[0].reshape(-1, 1, 2, 2, 2), (1, 2, 1)).flatten(1)", {8},
      [](const Value& x) {
        return Values{nn::flatten(nn::adaptive_avg_pool3d(cube_of(x), {1, 2, 1}))};
      });
}

void add_unfolded(std::vector<Function>& all) {
  add(all, "im2sequence",
      "F.unfold(x[0].reshape(-1, 1, 4, 4), 3, padding=1, stride=2).transpose(1, 2).flatten(1)",
      {16}, [](const Value& x) {
        return Values{nn::flatten(nn::im2sequence(
            shaped(x, {batch, 1, 4, 4}), {.kernel = 3, .stride = nn::Pair(2), .padding = 1}))};
      });
  add(all, "fold", "F.fold(x[0].reshape(-1, 4, 4).transpose(1, 2), 3, 2).flatten(1)", {16},
      [](const Value& x) {
        return Values{nn::flatten(
            nn::fold(shaped(x, {batch, 4, 4}), {.size = 3, .kernel = 2, .stride = nn::Pair(1)}))};
      });
}

void add_einsum(std::vector<Function>& all, const std::string& equation) {
  all.push_back({.name = "einsum",
                 .torch = "torch.einsum('" + equation +
                          "', x[0].reshape(-1, 2, 2), x[1].reshape(-1, 2, 2)).flatten(1)",
                 .sources = [](DType d) { return std::vector{rows(d, 4), rows(d, 4)}; },
                 .build =
                     [=](const Values& x) {
                       const Shape square = {batch, 2, 2};
                       const Value y =
                           einsum(equation, {shaped(x[0], square), shaped(x[1], square)});
                       return Values{nn::flatten(y)};
                     },
                 .dtypes = {DType::f32, DType::f64}});
}

}  // namespace

std::vector<Function> window_functions() {
  std::vector<Function> all;
  add_transposed(all);
  add_pools(all);
  add_adaptive_pools(all);
  add_unfolded(all);
  add_einsum(all, "bij,bjk->bik");
  add_einsum(all, "bij,bkj->bki");
  add(all, "rotary_positions", "exact.rotary(x[0])", {4}, [](const Value& x) {
    return Values{nn::flatten(nn::rotary_positions(shaped(x, {batch, 2, 2})))};
  });
  return all;
}

}  // namespace trireme::edges
