#include "ops/conv.h"

#include <algorithm>

namespace trireme::ops {

Convolution convolution_of(const Attributes& attributes, const Shape& weight) {
  Convolution convolution{window_of(attributes), ir::get<std::int64_t>(attributes, "groups")};
  require(convolution.groups > 0, "groups must be at least 1");
  if (weight.size() == 4 && weight[2].is_constant() && weight[3].is_constant()) {
    convolution.window.kernel = {weight[2].constant(), weight[3].constant()};
  }
  return convolution;
}

void require_convolution(const Convolution& convolution, const Type& x, const Type& weight,
                         const std::string& x_text, const std::string& weight_text) {
  require_image(x, x_text);
  require(weight.rank() == 4 && is_constant(weight.shape) && weight.dtype == x.dtype,
          weight_text + " is not a weight [K, C/groups, R, S] of the dtype of " + x_text);
  const std::int64_t channels = weight.shape[1].constant() * convolution.groups;
  require(x.shape[1] == Dim(channels),
          "the channels differ: " + x_text + ", while " + weight_text + " with groups = " +
              std::to_string(convolution.groups) + " takes " + std::to_string(channels),
          "the weight is [out channels, in channels / groups, height, width]");
  require(weight.shape[0].constant() % convolution.groups == 0,
          "the out channels of " + weight_text + " cannot be divided into " +
              std::to_string(convolution.groups) + " groups");
  require(weight.shape[2].constant() > 0 && weight.shape[3].constant() > 0,
          weight_text + " has an empty window");
}

Type result_type(const Convolution& convolution, const Type& x, const Type& weight,
                 const std::string& x_text) {
  return {x.dtype, windows_shape(x.shape, weight.shape[0], convolution.window, x_text), x.ragged};
}

void require_result(const Convolution& convolution, const Type& x, const Type& weight,
                    const Type& y, const std::string& y_text) {
  const Type expected = result_type(convolution, x, weight, x.str());
  require(y.shape == expected.shape && y.dtype == expected.dtype,
          y_text + " is not the type of the convolution's result, " + expected.str());
}

void for_each_product(const Convolution& convolution, const Index& x, const Index& weight,
                      const Index& y,
                      const std::function<void(const Index&, const Index&, const Index&)>& f) {
  const Window& window = convolution.window;
  const std::int64_t out_per_group = weight[0] / convolution.groups;
  for_each_index(y, [&](const Index& i) {
    const std::int64_t first_channel = i[1] / out_per_group * weight[1];
    for_each_index({weight[1], weight[2], weight[3]}, [&](const Index& tap) {
      const std::int64_t h =
          i[2] * window.stride[0] + tap[1] * window.dilation[0] - window.before(0);
      const std::int64_t w =
          i[3] * window.stride[1] + tap[2] * window.dilation[1] - window.before(1);
      if (h < 0 || h >= x[2] || w < 0 || w >= x[3]) return;
      f({i[0], first_channel + tap[0], h, w}, {i[1], tap[0], tap[1], tap[2]}, i);
    });
  });
}

std::vector<std::int64_t> ConvolutionCase::y() const {
  Window window;
  std::copy(stride.begin(), stride.end(), window.stride.begin());
  std::copy(padding.begin(), padding.end(), window.padding.begin());
  std::copy(dilation.begin(), dilation.end(), window.dilation.begin());
  window.kernel = {weight[2], weight[3]};
  return {x[0], weight[0], window.count(0, x[2]), window.count(1, x[3])};
}

Attributes ConvolutionCase::attributes() const {
  return {{"dilation", dilation}, {"groups", groups}, {"padding", padding}, {"stride", stride}};
}

std::vector<ConvolutionCase> convolution_cases() {
  return {
      {.x = {2, 3, 7, 6}, .weight = {4, 3, 3, 2}},
      {.x = {1, 1, 5, 5}, .weight = {1, 1, 5, 5}},
      {.x = {2, 2, 8, 9}, .weight = {3, 2, 3, 3}, .stride = {2, 3}, .padding = {1, 1, 1, 1}},
      {.x = {1, 2, 6, 7}, .weight = {2, 2, 2, 3}, .padding = {0, 1, 2, 0}},
      {.x = {2, 2, 9, 8}, .weight = {2, 2, 3, 3}, .padding = {2, 2, 2, 2}, .dilation = {2, 2}},
      {.x = {2, 4, 5, 5}, .weight = {6, 2, 3, 3}, .padding = {1, 1, 1, 1}, .groups = 2},
      {.x = {1, 4, 5, 4}, .weight = {4, 1, 3, 3}, .padding = {1, 1, 1, 1}, .groups = 4},
      {.x = {2, 3, 4, 4}, .weight = {5, 3, 1, 1}},
      {.x = {1, 2, 7, 7}, .weight = {2, 2, 1, 1}, .stride = {2, 2}},
      {.x = {0, 2, 4, 4}, .weight = {3, 2, 3, 3}},
  };
}

}  // namespace trireme::ops
