// Test cases of convolutions.

#include "ops/conv.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

Ints spatial_sizes(const Ints& shape) { return {shape.begin() + 2, shape.end()}; }

std::vector<ConvolutionCase> image_cases() {
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
      {.x = {1, 16, 4, 6}, .weight = {17, 16, 3, 3}, .padding = {1, 1, 1, 1}},
  };
}

std::vector<ConvolutionCase> volume_cases() {
  const Ints ones{1, 1, 1}, none{0, 0, 0, 0, 0, 0};
  return {
      {.x = {2, 2, 3, 4, 4},
       .weight = {3, 2, 2, 3, 2},
       .stride = ones,
       .padding = none,
       .dilation = ones},
      {.x = {1, 1, 3, 3, 3},
       .weight = {1, 1, 3, 3, 3},
       .stride = ones,
       .padding = none,
       .dilation = ones},
      {.x = {1, 2, 5, 4, 7},
       .weight = {3, 2, 3, 3, 3},
       .stride = {2, 1, 3},
       .padding = {1, 0, 1, 1, 0, 2},
       .dilation = ones},
      {.x = {1, 2, 5, 5, 6},
       .weight = {2, 2, 3, 2, 3},
       .stride = ones,
       .padding = {2, 2, 0, 0, 2, 2},
       .dilation = {2, 1, 2}},
      {.x = {1, 4, 3, 3, 3},
       .weight = {4, 2, 2, 3, 3},
       .stride = ones,
       .padding = {0, 1, 1, 1, 1, 1},
       .dilation = ones,
       .groups = 2},
      {.x = {1, 4, 3, 4, 4},
       .weight = {4, 1, 3, 3, 3},
       .stride = ones,
       .padding = {1, 1, 1, 1, 1, 1},
       .dilation = ones,
       .groups = 4},
      {.x = {2, 3, 2, 3, 4},
       .weight = {5, 3, 1, 1, 1},
       .stride = ones,
       .padding = none,
       .dilation = ones},
      {.x = {0, 2, 4, 4, 4},
       .weight = {3, 2, 3, 3, 3},
       .stride = ones,
       .padding = none,
       .dilation = ones},
  };
}

Sample conv_cases_sample(const ConvolutionCase& test_case, const Ints& a, const Ints& b,
                         const char* extra_attribute = nullptr, const Ints& sizes = {}) {
  Sample s;
  s.operands = {type_of(a), type_of(b)};
  s.attributes = test_case.attributes();
  if (extra_attribute != nullptr) s.attributes.push_back({extra_attribute, sizes});
  return s;
}

}  // namespace

Ints ConvolutionCase::y() const {
  Window window(x.size() - 2);
  window.stride = stride;
  window.padding = padding;
  window.dilation = dilation;
  window.kernel = spatial_sizes(weight);
  Ints shape{x[0], weight[0]};
  for (std::size_t i = 0; i < window.axes(); ++i) shape.push_back(window.count(i, x[2 + i]));
  return shape;
}

Attributes ConvolutionCase::attributes() const {
  return {{"dilation", dilation}, {"groups", groups}, {"padding", padding}, {"stride", stride}};
}

std::vector<ConvolutionCase> convolution_cases(std::size_t axes) {
  return axes == 3 ? volume_cases() : image_cases();
}

std::vector<Sample> convolution_samples(std::size_t axes) {
  std::vector<Sample> samples;
  for (const ConvolutionCase& test_case : convolution_cases(axes)) {
    samples.push_back(conv_cases_sample(test_case, test_case.x, test_case.weight));
  }
  return samples;
}

std::vector<Sample> input_gradient_samples(std::size_t axes) {
  std::vector<Sample> samples;
  for (const ConvolutionCase& test_case : convolution_cases(axes)) {
    samples.push_back(conv_cases_sample(test_case, test_case.y(), test_case.weight, "size",
                                        spatial_sizes(test_case.x)));
  }
  return samples;
}

std::vector<Sample> weight_gradient_samples(std::size_t axes) {
  std::vector<Sample> samples;
  for (const ConvolutionCase& test_case : convolution_cases(axes)) {
    samples.push_back(conv_cases_sample(test_case, test_case.x, test_case.y(), "kernel",
                                        spatial_sizes(test_case.weight)));
  }
  return samples;
}

}  // namespace trireme::ops
