#include <limits>

#include "functions.h"
#include "trireme/convolution.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme::edges {
namespace {

using Values = std::vector<Value>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void add(std::vector<Function>& all, const std::string& name, const std::string& torch,
         const std::function<std::vector<Source>(DType)>& sources, const Build& build) {
  all.push_back({.name = name, .torch = torch, .sources = sources, .build = build});
}

// Of rows of each of these widths.
void add_rows(std::vector<Function>& all, const std::string& name, const std::string& torch,
              const std::vector<std::size_t>& widths,
              const std::function<Value(const Value&)>& build) {
  for (const std::size_t width : widths) {
    add(
        all, name, torch, [=](DType d) { return std::vector{rows(d, width)}; },
        [=](const Values& x) { return Values{build(x[0])}; });
  }
}

// exact.weights() has the same numbers.
Initializer weights(std::size_t count) {
  const double cycle[] = {0, 1, -1, 0.5, 2, -0.25, 0};
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = cycle[i % std::size(cycle)];
  return nn::values(numbers);
}

Value shaped(const Value& x, Shape shape) { return reshape(x, {.shape = std::move(shape)}); }

void add_products(std::vector<Function>& all) {
  add(
      all, "matmul", "(x[0].reshape(-1, 2, 2) @ x[1].reshape(-1, 2, 2)).flatten(1)",
      [](DType d) { return std::vector{rows(d, 4), rows(d, 4)}; },
      [](const Values& x) {
        const Shape square = {batch, 2, 2};
        return Values{shaped(matmul(shaped(x[0], square), shaped(x[1], square)), {batch, 4})};
      });
  add_rows(all, "matmul of nothing", "torch.zeros(len(x[0]), 4).to(x[0]) + x[0].sum()", {0},
           [](const Value& x) {
             const Value a = shaped(x, {batch, 2, 0}), b = shaped(x, {batch, 0, 2});
             return shaped(matmul(a, b), {batch, 4});
           });
  add_rows(all, "linear", "x[0] @ exact.weights(37, 3).to(x[0])", {37}, [](const Value& x) {
    return nn::linear(x, {.units = 3, .bias = false, .weight_init = weights(37 * 3)});
  });
  add_rows(all, "linear of zeros", "x[0] @ torch.zeros(4, 20).to(x[0])", {4}, [](const Value& x) {
    return nn::linear(x, {.units = 20, .bias = false, .weight_init = nn::zeros()});
  });
}

void add_convolutions(std::vector<Function>& all) {
  add_rows(all, "conv2d",
           "F.conv2d(x[0].reshape(-1, 1, 4, 4), exact.weights(2, 1, 3, 3).to(x[0]), padding=1)"
           ".flatten(1)",
           {16}, [](const Value& x) {
             const Value y = nn::conv2d(
                 shaped(x, {batch, 1, 4, 4}),
                 {.channels = 2, .padding = 1, .bias = false, .weight_init = weights(18)});
             return nn::flatten(y);
           });
  add_rows(all, "conv1d",
           "F.conv1d(x[0].reshape(-1, 2, 4), exact.weights(3, 2, 3).to(x[0]), stride=2, padding=2,"
           " dilation=2).flatten(1)",
           {8}, [](const Value& x) {
             const Value y = nn::conv1d(shaped(x, {batch, 2, 4}), {.channels = 3,
                                                                   .stride = 2,
                                                                   .padding = 2,
                                                                   .dilation = 2,
                                                                   .bias = false,
                                                                   .weight_init = weights(18)});
             return nn::flatten(y);
           });
  add_rows(all, "conv_transpose2d",
           "F.conv_transpose2d(x[0].reshape(-1, 1, 2, 2), exact.weights(1, 2, 3, 3).to(x[0]), "
           "stride=2).flatten(1)",
           {4}, [](const Value& x) {
             const Value y = nn::conv_transpose2d(
                 shaped(x, {batch, 1, 2, 2}),
                 {.channels = 2, .stride = 2, .bias = false, .weight_init = weights(18)});
             return nn::flatten(y);
           });
  add_rows(
      all, "conv3d",
      "F.conv3d(x[0].reshape(-1, 1, 2, 2, 2), exact.weights(2, 1, 2, 2, 2).to(x[0]), padding=1)"
      ".flatten(1)",
      {8}, [](const Value& x) {
        const Value y = nn::conv3d(
            shaped(x, {batch, 1, 2, 2, 2}),
            {.channels = 2, .kernel = 2, .padding = 1, .bias = false, .weight_init = weights(16)});
        return nn::flatten(y);
      });
  // Large enough for Winograd's algorithm.
  const auto spots = [](DType d) {
    Source source{{}, true, d};
    for (const double special : {1.0, kInfinity, -kInfinity, kNan, 1e30}) {
      for (const std::size_t place : {0u, 5u, 15u}) {
        std::vector<double> image(16 * 16);
        for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i % 5) - 2;
        image[place] = special;
        source.entries.push_back(std::move(image));
      }
    }
    return std::vector{source};
  };
  add(all, "conv2d of 16 channels",
      "F.conv2d(x[0].reshape(-1, 16, 4, 4), exact.weights(16, 16, 3, 3).to(x[0]), padding=1)"
      ".flatten(1)",
      spots, [](const Values& x) {
        const Value y = nn::conv2d(
            shaped(x[0], {batch, 16, 4, 4}),
            {.channels = 16, .padding = 1, .bias = false, .weight_init = weights(16 * 16 * 9)});
        return Values{nn::flatten(y)};
      });
}

Value line_of(const Value& x) { return unsqueeze(unsqueeze(x, 1), 1); }
Value row_of(const Value& image) { return squeeze(image, {1, 2}); }

// Along rows, which are images of one line.
void add_pools(std::vector<Function>& all) {
  const nn::PoolOptions ceil{
      .kernel = {1, 3}, .stride = nn::Pair(1, 2), .padding = {0, 1}, .ceil_mode = true};
  add_rows(all, "max_pool", "F.max_pool1d(x[0][:, None], 3, 2, 1, ceil_mode=True)[:, 0]",
           {4, 37, 1}, [=](const Value& x) { return row_of(nn::max_pool(line_of(x), ceil)); });
  add_rows(all, "lp_pool1d", "exact.lp_pool(x[0])", {4, 37},
           [](const Value& x) { return squeeze(nn::lp_pool1d(unsqueeze(x, 1)), {1}); });
  add_rows(all, "avg_pool", "F.avg_pool1d(x[0][:, None], 3, 2, 1, ceil_mode=True)[:, 0]",
           {4, 37, 1}, [=](const Value& x) { return row_of(nn::avg_pool(line_of(x), ceil)); });
  nn::PoolOptions inside = ceil;
  inside.count_include_pad = false;
  add_rows(all, "avg_pool",
           "F.avg_pool1d(x[0][:, None], 3, 2, 1, ceil_mode=True, count_include_pad=False)[:, 0]",
           {4, 37, 1}, [=](const Value& x) { return row_of(nn::avg_pool(line_of(x), inside)); });
  add_rows(
      all, "adaptive_max_pool", "exact.maxima_of_bins(x[0], 3)", {4, 5, 37},
      [](const Value& x) { return row_of(nn::adaptive_max_pool(line_of(x), nn::Pair(1, 3))); });
  add_rows(
      all, "adaptive_avg_pool", "F.adaptive_avg_pool1d(x[0][:, None], 3)[:, 0]", {4, 5, 37},
      [](const Value& x) { return row_of(nn::adaptive_avg_pool(line_of(x), nn::Pair(1, 3))); });
  add_rows(all, "global_max_pool", "x[0].amax(1, keepdim=True)", {4, 37},
           [](const Value& x) { return nn::global_max_pool(line_of(x)); });
  add_rows(all, "resize_bilinear",
           "F.interpolate(x[0][:, None, None], size=(1, 7), mode='bilinear')[:, 0, 0]", {4, 37},
           [](const Value& x) { return row_of(resize_bilinear(line_of(x), 1, 7)); });
}

void add_movers(std::vector<Function>& all) {
  add_rows(all, "concat", "torch.cat([x[0], x[0][:, 1:1], x[0]], 1)", {4, 1}, [](const Value& x) {
    const Value none = slice(x, {.starts = {0, 1}, .limits = {batch, 1}});
    return concat({x, none, x}, {.axis = 1});
  });
  add_rows(all, "pad", "F.pad(x[0], (2, 1), value=-math.inf)", {4, 1, 0}, [](const Value& x) {
    return pad(x, {.low = {0, 2}, .high = {0, 1}, .value = -kInfinity});
  });
  add_rows(all, "pad", "F.pad(x[0], (2, 0), value=math.nan)", {4, 1, 0},
           [](const Value& x) { return pad(x, {.low = {0, 2}, .high = {0, 0}, .value = kNan}); });
  add_rows(all, "slice", "x[0][:, 1::2]", {4, 37}, [](const Value& x) {
    return slice(x, {.starts = {0, 1}, .limits = {batch, -1}, .strides = {1, 2}});
  });
  add_rows(all, "transpose", "x[0].reshape(-1, 2, 2).transpose(1, 2)", {4}, [](const Value& x) {
    return transpose(shaped(x, {batch, 2, 2}), {.permutation = {0, 2, 1}});
  });
  add_rows(all, "flip", "x[0].flip(1)", {4, 1, 0},
           [](const Value& x) { return flip(x, {.axes = {1}}); });
  add_rows(all, "tile", "x[0].repeat(1, 3)", {4, 0},
           [](const Value& x) { return tile(x, {1, 3}); });
  add_rows(all, "cumsum exclusive", "F.pad(x[0].cumsum(1)[:, :-1], (1, 0))", {4, 37, 1},
           [](const Value& x) { return cumsum(x, {.axis = 1, .exclusive = true}); });
  add_rows(all, "cumsum reverse", "x[0].flip(1).cumsum(1).flip(1)", {4, 37, 1},
           [](const Value& x) { return cumsum(x, {.axis = 1, .reverse = true}); });
  add_rows(all, "prelu", "torch.where(x[0] < 0, 0.25 * x[0], x[0])", {4},
           [](const Value& x) { return nn::prelu(x); });
}

void add_booleans(std::vector<Function>& all) {
  const Source some{{{1, 1, 1, 1}, {0, 0, 0, 0}, {1, 0, 0, 1}}, true, DType::boolean};
  const Source none{{std::vector<double>{}}, true, DType::boolean};
  for (const Source& source : {some, none}) {
    Function function{
        .name = "all",
        .torch = "x[0].all(1)",
        .sources = [=](DType) { return std::vector{source}; },
        .build = [](const Values& x) { return Values{trireme::all(x[0], {.axes = {1}})}; },
        .dtypes = {DType::boolean},
        .differentiable = false};
    all.push_back(function);
    function.name = "any";
    function.torch = "x[0].any(1)";
    function.build = [](const Values& x) { return Values{any(x[0], {.axes = {1}})}; };
    all.push_back(function);
  }
}

void add_indices(std::vector<Function>& all) {
  add(
      all, "take_along_axis", "torch.gather(x[0], 1, x[1][:, None].clamp(0, 3))",
      [](DType d) {
        return std::vector{rows(d, 4), numbers(DType::i64, {0, 3, -1, 4, 9007199254740992.0})};
      },
      [](const Values& x) {
        return Values{take_along_axis(x[0], unsqueeze(x[1], 1), {.axis = 1})};
      });
  add(
      all, "scatter_add_along_axis", "torch.zeros_like(x[0]).scatter_add(1, x[1], x[0])",
      [](DType d) {
        const Source places{{{0, 0, 1, 3}, {2, 2, 2, 2}, {3, 2, 1, 0}}, true, DType::i64};
        return std::vector{rows(d, 4), places};
      },
      [](const Values& x) {
        return Values{scatter_add_along_axis(x[1], x[0], {.size = {4}, .axis = 1})};
      });
  for (const int k : {3, 4}) {
    const std::string first = "[part[:, :" + std::to_string(k) + "] for part in x[0].sort(";
    add(
        all, "top_k", first + "dim=1, stable=True, descending=True)]",
        [](DType d) { return std::vector{rows(d, 4)}; },
        [=](const Values& x) { return top_k(x[0], {.k = k, .axis = 1}); });
    add(
        all, "top_k", first + "dim=1, stable=True)]",
        [](DType d) { return std::vector{rows(d, 4)}; },
        [=](const Values& x) { return top_k(x[0], {.k = k, .axis = 1, .largest = false}); });
  }
  all.push_back({.name = "one_hot",
                 .torch = "(x[0][:, None] == torch.arange(3)).double()",
                 .sources =
                     [](DType) {
                       return std::vector{numbers(
                           DType::i64, {0, 1, 2, 3, -1, -9007199254740992.0, 4294967296.0})};
                     },
                 .build = [](const Values& x) { return Values{one_hot(x[0], 3)}; },
                 .dtypes = {DType::f32},
                 .differentiable = false});
}

}  // namespace

std::vector<Function> layer_functions() {
  std::vector<Function> all;
  add_products(all);
  add_convolutions(all);
  add_pools(all);
  add_movers(all);
  add_booleans(all);
  add_indices(all);
  return all;
}

}  // namespace trireme::edges
