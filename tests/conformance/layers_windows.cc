#include "layers.h"
#include "trireme/convolution.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::conformance {
namespace {

void add_lines(std::vector<Case>& cases) {
  cases.push_back(layer(
      "conv1d same", {{{2, 3, 11}}},
      [](auto& x) {
        return nn::conv1d(x[0], {.channels = 4, .padding = "same", .activation = nn::relu});
      },
      "F.relu(F.conv1d(x[0], x[1], x[2], padding='same'))"));
  cases.push_back(layer(
      "conv1d strided groups", {{{2, 4, 12}}},
      [](auto& x) {
        return nn::conv1d(x[0], {.channels = 6,
                                 .kernel = 4,
                                 .stride = 2,
                                 .padding = {1, 2},
                                 .dilation = 2,
                                 .groups = 2,
                                 .bias = false});
      },
      "F.conv1d(F.pad(x[0], (1, 2)), x[1], None, stride=2, dilation=2, groups=2)"));
  cases.push_back(layer(
      "conv_transpose1d", {{{2, 4, 6}}},
      [](auto& x) {
        return nn::conv_transpose1d(
            x[0], {.channels = 6, .stride = 3, .padding = 1, .output_padding = 2, .groups = 2});
      },
      "F.conv_transpose1d(x[0], x[1], x[2], stride=3, padding=1, output_padding=2, groups=2)"));
}

void add_transposed(std::vector<Case>& cases) {
  cases.push_back(layer(
      "conv_transpose2d", {{{2, 3, 4, 5}}},
      [](auto& x) { return nn::conv_transpose2d(x[0], {.channels = 4, .activation = nn::relu}); },
      "F.relu(F.conv_transpose2d(x[0], x[1], x[2]))"));
  cases.push_back(layer(
      "conv_transpose2d strided", {{{2, 4, 4, 5}}},
      [](auto& x) {
        return nn::conv_transpose2d(x[0], {.channels = 2,
                                           .kernel = {3, 2},
                                           .stride = {2, 3},
                                           .padding = 1,
                                           .output_padding = {1, 2},
                                           .groups = 2,
                                           .bias = false});
      },
      "F.conv_transpose2d(x[0], x[1], None, (2, 3), 1, (1, 2), 2)"));
  cases.push_back(layer(
      "conv_transpose2d dilated", {{{1, 2, 4, 4}}},
      [](auto& x) { return nn::conv_transpose2d(x[0], {.channels = 3, .dilation = 2}); },
      "F.conv_transpose2d(x[0], x[1], x[2], dilation=2)"));
  cases.push_back(layer(
      "conv_transpose2d same", {{{2, 2, 3, 4}}},
      [](auto& x) {
        return nn::conv_transpose2d(x[0],
                                    {.channels = 3, .kernel = 4, .stride = 2, .padding = "same"});
      },
      "F.conv_transpose2d(x[0], x[1], x[2], 2, 1)"));
}

// Windows, strides and paddings of which the last window is added, and of which it is not.
void add_ceil_pools(std::vector<Case>& cases) {
  struct Form {
    std::int64_t kernel, stride, padding;
  };
  for (const Form f : {Form{2, 2, 0}, {3, 2, 1}, {2, 3, 1}, {3, 3, 0}}) {
    const std::string text = std::to_string(f.kernel) + ", " + std::to_string(f.stride) + ", " +
                             std::to_string(f.padding) + ", ceil_mode=True";
    const nn::PoolOptions flat{
        .kernel = f.kernel, .stride = nn::Pair(f.stride), .padding = f.padding, .ceil_mode = true};
    const nn::Pool3dOptions deep{.kernel = f.kernel,
                                 .stride = nn::Triple(f.stride),
                                 .padding = f.padding,
                                 .ceil_mode = true};
    cases.push_back(layer(
        "max_pool " + text, {{{2, 3, 7, 6}}}, [flat](auto& x) { return nn::max_pool(x[0], flat); },
        "F.max_pool2d(x[0], " + text + ")"));
    cases.push_back(layer(
        "max_pool3d " + text, {{{2, 2, 5, 7, 6}}},
        [deep](auto& x) { return nn::max_pool3d(x[0], deep); },
        "F.max_pool3d(x[0], " + text + ")"));
    for (const bool count : {true, false}) {
      const std::string all = text + ", count_include_pad=" + (count ? "True" : "False");
      cases.push_back(layer(
          "avg_pool " + all, {{{2, 3, 7, 6}}},
          [flat, count](auto& x) {
            nn::PoolOptions options = flat;
            options.count_include_pad = count;
            return nn::avg_pool(x[0], options);
          },
          "F.avg_pool2d(x[0], " + all + ")"));
      cases.push_back(layer(
          "avg_pool3d " + all, {{{2, 2, 5, 7, 6}}},
          [deep, count](auto& x) {
            nn::Pool3dOptions options = deep;
            options.count_include_pad = count;
            return nn::avg_pool3d(x[0], options);
          },
          "F.avg_pool3d(x[0], " + all + ")"));
    }
  }
}

void add_pools(std::vector<Case>& cases) {
  add_ceil_pools(cases);
  cases.push_back(layer(
      "global_max_pool", {{{2, 3, 5, 4}}}, [](auto& x) { return nn::global_max_pool(x[0]); },
      "x[0].amax((2, 3))"));
  const std::vector<std::pair<nn::Pair, std::string>> sizes = {{{4, 3}, "(4, 3)"},
                                                               {{5, 12}, "(5, 12)"},
                                                               {{7, 2}, "(7, 2)"},
                                                               {{1, 1}, "(1, 1)"},
                                                               {{10, 9}, "(10, 9)"}};
  for (const auto& [size, text] : sizes) {
    const Input images{{2, 3, 10, 9}};
    cases.push_back(layer(
        "adaptive_avg_pool to " + text, {images},
        [s = size](auto& x) { return nn::adaptive_avg_pool(x[0], s); },
        "F.adaptive_avg_pool2d(x[0], " + text + ")"));
    cases.push_back(layer(
        "adaptive_max_pool to " + text, {images},
        [s = size](auto& x) { return nn::adaptive_max_pool(x[0], s); },
        "F.adaptive_max_pool2d(x[0], " + text + ")"));
  }
}

void add_line_pools(std::vector<Case>& cases) {
  const Input lines{{2, 3, 11}};
  cases.push_back(layer(
      "max_pool1d", {lines},
      [](auto& x) { return nn::max_pool1d(x[0], {.kernel = 3, .stride = 2, .padding = 1}); },
      "F.max_pool1d(x[0], 3, 2, 1)"));
  cases.push_back(layer(
      "max_pool1d with ceil_mode", {{{2, 3, 10}}},
      [](auto& x) { return nn::max_pool1d(x[0], {.kernel = 3, .ceil_mode = true}); },
      "F.max_pool1d(x[0], 3, ceil_mode=True)"));
  cases.push_back(layer(
      "max_pool1d same", {lines},
      [](auto& x) { return nn::max_pool1d(x[0], {.kernel = 4, .stride = 3, .padding = "same"}); },
      "F.max_pool1d(F.pad(x[0], (1, 1), value=-math.inf), 4, 3)"));
  for (const bool count : {true, false}) {
    const std::string text = count ? "True" : "False";
    cases.push_back(layer(
        "avg_pool1d, count_include_pad=" + text, {{{2, 3, 10}}},
        [count](auto& x) {
          return nn::avg_pool1d(x[0], {.kernel = 3,
                                       .stride = 2,
                                       .padding = 1,
                                       .ceil_mode = true,
                                       .count_include_pad = count});
        },
        "F.avg_pool1d(x[0], 3, 2, 1, True, " + text + ")"));
  }
  cases.push_back(layer(
      "global pooling of lines", {lines},
      [](auto& x) { return nn::global_avg_pool1d(x[0]) * nn::global_max_pool1d(x[0]); },
      "x[0].mean(2) * x[0].amax(2)"));
  for (const std::int64_t size : {1, 4, 11, 15}) {
    const std::string text = std::to_string(size);
    cases.push_back(layer(
        "adaptive_avg_pool1d to " + text, {lines},
        [size](auto& x) { return nn::adaptive_avg_pool1d(x[0], size); },
        "F.adaptive_avg_pool1d(x[0], " + text + ")"));
    cases.push_back(layer(
        "adaptive_max_pool1d to " + text, {lines},
        [size](auto& x) { return nn::adaptive_max_pool1d(x[0], size); },
        "F.adaptive_max_pool1d(x[0], " + text + ")"));
  }
}

void add_volume_pools(std::vector<Case>& cases) {
  const Input volumes{{2, 2, 4, 5, 6}};
  cases.push_back(layer(
      "global pooling of volumes", {volumes},
      [](auto& x) { return nn::global_avg_pool3d(x[0]) * nn::global_max_pool3d(x[0]); },
      "x[0].mean((2, 3, 4)) * x[0].amax((2, 3, 4))"));
  const std::vector<std::pair<nn::Triple, std::string>> sizes = {
      {{2, 5, 3}, "(2, 5, 3)"}, {{3, 2, 4}, "(3, 2, 4)"}, {1, "1"}, {{4, 7, 6}, "(4, 7, 6)"}};
  for (const auto& [size, text] : sizes) {
    cases.push_back(layer(
        "adaptive_avg_pool3d to " + text, {volumes},
        [s = size](auto& x) { return nn::adaptive_avg_pool3d(x[0], s); },
        "F.adaptive_avg_pool3d(x[0], " + text + ")"));
    cases.push_back(layer(
        "adaptive_max_pool3d to " + text, {volumes},
        [s = size](auto& x) { return nn::adaptive_max_pool3d(x[0], s); },
        "F.adaptive_max_pool3d(x[0], " + text + ")"));
  }
}

// One vector of the unpooled maxima and of the positions of the maxima.
Value unpooled_and_places(const Value& unpooled, const Value& places) {
  return concat({reshape(unpooled, {-1}), reshape(cast(places, unpooled.dtype()), {-1})}, 0);
}

// `sizes` are the arguments of PyTorch's functions of `rank` axes, and `size` the unpooled size.
std::string torch_unpooling(const std::string& rank, const std::string& sizes,
                            const std::string& size) {
  return "(lambda v, i: torch.cat([F.max_unpool" + rank + "(v, i, " + sizes +
         ", output_size=" + size + ").flatten(), i.flatten()]))(*F.max_pool" + rank + "(x[0], " +
         sizes + ", return_indices=True))";
}

void add_unpooling(std::vector<Case>& cases) {
  cases.push_back(layer(
      "max_unpool", {{{2, 3, 7, 8}}},
      [](auto& x) {
        const auto y = nn::max_pool_with_indices(
            x[0], {.kernel = {3, 2}, .stride = nn::Pair(3, 2), .padding = {1, 0}});
        return unpooled_and_places(nn::max_unpool(y.values, y.indices, {7, 8}), y.indices);
      },
      torch_unpooling("2d", "(3, 2), (3, 2), (1, 0)", "(7, 8)")));
  cases.push_back(layer(
      "max_unpool1d", {{{2, 3, 11}}},
      [](auto& x) {
        const auto y = nn::max_pool1d_with_indices(x[0], {.kernel = 2, .stride = 3});
        return unpooled_and_places(nn::max_unpool1d(y.values, y.indices, 11), y.indices);
      },
      torch_unpooling("1d", "2, 3, 0", "(11,)")));
  cases.push_back(layer(
      "max_unpool3d", {{{2, 2, 4, 5, 6}}},
      [](auto& x) {
        const auto y = nn::max_pool3d_with_indices(
            x[0], {.kernel = {2, 3, 2}, .stride = nn::Triple(2, 3, 2), .padding = {0, 1, 0}});
        return unpooled_and_places(nn::max_unpool3d(y.values, y.indices, {4, 5, 6}), y.indices);
      },
      torch_unpooling("3d", "(2, 3, 2), (2, 3, 2), (0, 1, 0)", "(4, 5, 6)")));
  // Windows that share elements.
  cases.push_back(layer(
      "max_pool_with_indices", {{{2, 3, 7, 8}}},
      [](auto& x) {
        const auto y = nn::max_pool_with_indices(
            x[0], {.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true});
        return unpooled_and_places(y.values, y.indices);
      },
      "(lambda v, i: torch.cat([v.flatten(), i.flatten()]))"
      "(*F.max_pool2d(x[0], 3, 2, 1, ceil_mode=True, return_indices=True))"));
  cases.push_back(layer(
      "max_pool3d_with_indices", {{{2, 2, 4, 5, 6}}},
      [](auto& x) {
        const auto y = nn::max_pool3d_with_indices(x[0], {.kernel = 3, .stride = 2, .padding = 1});
        return unpooled_and_places(y.values, y.indices);
      },
      "(lambda v, i: torch.cat([v.flatten(), i.flatten()]))"
      "(*F.max_pool3d(x[0], 3, 2, 1, return_indices=True))"));
}

// Of positive numbers for odd powers, where PyTorch adds up x^p and not |x|^p.
void add_norm_pools(std::vector<Case>& cases) {
  cases.push_back(layer(
      "lp_pool", {{{2, 3, 6, 7}}}, [](auto& x) { return nn::lp_pool(x[0], {}); },
      "F.lp_pool2d(x[0], 2, 2)"));
  cases.push_back(layer(
      "lp_pool of power 3", {{{2, 3, 6, 7}, f32, 0.5, 2}},
      [](auto& x) {
        return nn::lp_pool(x[0], {.power = 3, .kernel = {2, 3}, .stride = nn::Pair(1, 2)});
      },
      "F.lp_pool2d(x[0], 3, (2, 3), (1, 2))"));
  cases.push_back(layer(
      "lp_pool of power 1.5", {{{2, 3, 6, 7}}},
      [](auto& x) { return nn::lp_pool(x[0], {.power = 1.5, .kernel = 3}); },
      "F.lp_pool2d(x[0].abs(), 1.5, 3)"));
  cases.push_back(layer(
      "lp_pool1d of power 1", {{{2, 3, 9}}},
      [](auto& x) { return nn::lp_pool1d(x[0], {.power = 1, .kernel = 4, .stride = 3}); },
      "F.lp_pool1d(x[0].abs(), 1, 4, 3)"));
}

void add_transposed_volumes(std::vector<Case>& cases) {
  cases.push_back(layer(
      "conv_transpose3d", {{{2, 4, 3, 4, 3}}},
      [](auto& x) {
        return nn::conv_transpose3d(x[0], {.channels = 6,
                                           .kernel = {2, 3, 3},
                                           .stride = {2, 1, 3},
                                           .padding = {0, 1, 1},
                                           .output_padding = {1, 0, 2},
                                           .groups = 2,
                                           .activation = nn::relu});
      },
      "F.relu(F.conv_transpose3d(x[0], x[1], x[2], (2, 1, 3), (0, 1, 1), (1, 0, 2), 2))"));
  cases.push_back(layer(
      "conv_transpose3d same, dilated", {{{1, 2, 3, 3, 4}}},
      [](auto& x) {
        return nn::conv_transpose3d(
            x[0], {.channels = 3, .padding = "same", .dilation = 2, .bias = false});
      },
      "F.conv_transpose3d(x[0], x[1], None, padding=2, dilation=2)"));
}

void add_folds(std::vector<Case>& cases) {
  cases.push_back(layer(
      "fold of patches", {{{2, 8, 18}}},
      [](auto& x) { return nn::fold(x[0], {.size = {6, 8}, .kernel = {3, 2}}); },
      "F.fold(x[0].transpose(1, 2), (6, 8), (3, 2), stride=(3, 2))"));
  cases.push_back(layer(
      "fold overlapping", {{{2, 16, 18}}},
      [](auto& x) {
        return nn::fold(x[0], {.size = {7, 6},
                               .kernel = 3,
                               .stride = nn::Pair(2, 1),
                               .padding = 1,
                               .dilation = {1, 2}});
      },
      "F.fold(x[0].transpose(1, 2), (7, 6), 3, (1, 2), 1, (2, 1))"));
  cases.push_back(layer(
      "fold of windows that leave gaps", {{{2, 4, 2}}},
      [](auto& x) {
        return nn::fold(x[0], {.size = {5, 6}, .kernel = 1, .stride = nn::Pair(4, 4)});
      },
      "F.fold(x[0].transpose(1, 2), (5, 6), 1, stride=4)"));
}

void add_volumes(std::vector<Case>& cases) {
  cases.push_back(layer(
      "conv3d same", {{{2, 3, 4, 5, 6}}},
      [](auto& x) {
        return nn::conv3d(x[0], {.channels = 4, .padding = "same", .activation = nn::relu});
      },
      "F.relu(F.conv3d(x[0], x[1], x[2], padding='same'))"));
  cases.push_back(layer(
      "conv3d strided groups", {{{2, 4, 5, 6, 7}}},
      [](auto& x) {
        return nn::conv3d(x[0], {.channels = 6,
                                 .kernel = {2, 3, 3},
                                 .stride = {2, 1, 2},
                                 .padding = {0, 1, 2},
                                 .groups = 2});
      },
      "F.conv3d(x[0], x[1], x[2], (2, 1, 2), (0, 1, 2), groups=2)"));
  cases.push_back(layer(
      "conv3d twice and mean", {{{2, 3, 4, 5, 6}}},
      [](auto& x) {
        const Value y = nn::conv3d(x[0], {.channels = 4, .padding = 1, .activation = nn::relu});
        return mean(nn::conv3d(y, {.channels = 5}), {.axes = {2, 3, 4}});
      },
      "F.conv3d(F.relu(F.conv3d(x[0], x[1], x[2], padding=1)), x[3], x[4]).mean((2, 3, 4))"));
  cases.push_back(layer(
      "max_pool3d", {{{2, 3, 5, 6, 7}}},
      [](auto& x) {
        return nn::max_pool3d(
            x[0], {.kernel = {2, 3, 2}, .stride = nn::Triple(1, 2, 2), .padding = {0, 1, 1}});
      },
      "F.max_pool3d(x[0], (2, 3, 2), (1, 2, 2), (0, 1, 1))"));
  cases.push_back(layer(
      "avg_pool3d", {{{2, 3, 5, 6, 7}}},
      [](auto& x) {
        return nn::avg_pool3d(x[0],
                              {.kernel = 3, .stride = 2, .padding = 1, .count_include_pad = false});
      },
      "F.avg_pool3d(x[0], 3, 2, 1, count_include_pad=False)"));
}

void add_sequences(std::vector<Case>& cases) {
  cases.push_back(layer(
      "im2sequence of patches", {{{2, 3, 6, 8}}},
      [](auto& x) { return nn::im2sequence(x[0], {.kernel = {3, 2}}); },
      "F.unfold(x[0], (3, 2), stride=(3, 2)).transpose(1, 2)"));
  cases.push_back(layer(
      "im2sequence overlapping", {{{2, 2, 7, 6}}},
      [](auto& x) {
        return nn::im2sequence(
            x[0], {.kernel = 3, .stride = nn::Pair(2, 1), .padding = 1, .dilation = {1, 2}});
      },
      "F.unfold(x[0], 3, (1, 2), 1, (2, 1)).transpose(1, 2)"));
}

}  // namespace

void add_windows(std::vector<Case>& cases) {
  add_lines(cases);
  add_transposed(cases);
  add_pools(cases);
  add_volumes(cases);
  add_sequences(cases);
  add_line_pools(cases);
  add_volume_pools(cases);
  add_norm_pools(cases);
  add_unpooling(cases);
  add_transposed_volumes(cases);
  add_folds(cases);
}

}  // namespace trireme::conformance
