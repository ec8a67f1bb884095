#include <fmt/core.h>

#include "base/attributes.h"
#include "kernels/test_calls.h"
#include "trireme/error.h"

namespace trireme::kernels {
namespace {

struct Case {
  std::int64_t n, c, h, w, k, r, s;
  Sizes stride{1}, padding{0}, dilation{1};
  std::int64_t groups = 1;
};

struct Geometry {
  Case c;
  std::int64_t sh, sw, dh, dw, top, bottom, left, right, oh, ow, gc, gk;

  explicit Geometry(const Case& c_) : c(c_) {
    sh = c.stride[0], sw = c.stride.back(), dh = c.dilation[0], dw = c.dilation.back();
    const Sizes& p = c.padding;
    top = p[0];
    bottom = p.size() == 4 ? p[1] : p[0];
    left = p.size() == 4 ? p[2] : p.back();
    right = p.back();
    oh = (c.h + top + bottom - dh * (c.r - 1) - 1) / sh + 1;
    ow = (c.w + left + right - dw * (c.s - 1) - 1) / sw + 1;
    gc = c.c / c.groups, gk = c.k / c.groups;
  }

  // Calls f(x index, weight index, y index) for every product; activations as nchw.
  template <class F>
  void each(const F& f) const {
    for (std::int64_t n = 0; n < c.n; ++n)
      for (std::int64_t k = 0; k < c.k; ++k)
        for (std::int64_t i = 0; i < oh; ++i)
          for (std::int64_t j = 0; j < ow; ++j)
            for (std::int64_t q = 0; q < gc; ++q)
              for (std::int64_t r = 0; r < c.r; ++r)
                for (std::int64_t s = 0; s < c.s; ++s) {
                  const std::int64_t y = i * sh - top + r * dh, x = j * sw - left + s * dw;
                  if (y < 0 || y >= c.h || x < 0 || x >= c.w) continue;
                  const std::int64_t channel = k / gk * gc + q;
                  f(static_cast<std::size_t>(((n * c.c + channel) * c.h + y) * c.w + x),
                    static_cast<std::size_t>(((k * gc + q) * c.r + r) * c.s + s),
                    static_cast<std::size_t>(((n * c.k + k) * oh + i) * ow + j));
                }
  }
};

template <class V>
std::vector<V> to_nhwc(const std::vector<V>& data, std::int64_t n, std::int64_t c, std::int64_t h,
                       std::int64_t w) {
  std::vector<V> result(data.size());
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t p = 0; p < h * w; ++p)
      for (std::int64_t q = 0; q < c; ++q)
        result[static_cast<std::size_t>((b * h * w + p) * c + q)] =
            data[static_cast<std::size_t>((b * c + q) * h * w + p)];
  return result;
}

template <class T>
class Checker {
 public:
  Checker(const Case& c, bool nhwc) : g_(c), nhwc_(nhwc) {
    x_ = random_values<T>(c.n * c.c * c.h * c.w, 1);
    weight_ = random_values<T>(c.k * g_.gc * c.r * c.s, 2);
    dy_ = random_values<T>(c.n * c.k * g_.oh * g_.ow, 3);
    bias_ = random_values<T>(c.k, 4);
    what_ = fmt::format("{}x{}x{}x{} to {}, {}x{}, groups {} {}", c.n, c.c, c.h, c.w, c.k, c.r, c.s,
                        c.groups, nhwc ? "nhwc" : "nchw");
    set_attribute(call_.attributes, "stride", c.stride);
    set_attribute(call_.attributes, "padding", c.padding);
    set_attribute(call_.attributes, "dilation", c.dilation);
    set_attribute(call_.attributes, "groups", std::int64_t{c.groups});
    set_attribute(call_.attributes, "layout", std::string(nhwc ? "nhwc" : "nchw"));
    sum_up();
  }

  void all() {
    forward(false, false);
    forward(true, false);
    forward(true, true);
    forward(false, true);
    input_gradient();
    weight_gradient();
  }

 private:
  static constexpr DType kType = sizeof(T) == 4 ? DType::f32 : DType::f64;

  TensorDescription x_shape() const {
    const Case& c = g_.c;
    return {kType, nhwc_ ? Sizes{c.n, c.h, c.w, c.c} : Sizes{c.n, c.c, c.h, c.w}};
  }
  TensorDescription y_shape() const {
    const Case& c = g_.c;
    return {kType, nhwc_ ? Sizes{c.n, g_.oh, g_.ow, c.k} : Sizes{c.n, c.k, g_.oh, g_.ow}};
  }
  TensorDescription weight_shape() const { return {kType, {g_.c.k, g_.gc, g_.c.r, g_.c.s}}; }
  template <class V>
  std::vector<V> x_layout(const std::vector<V>& data) const {
    return nhwc_ ? to_nhwc(data, g_.c.n, g_.c.c, g_.c.h, g_.c.w) : data;
  }
  template <class V>
  std::vector<V> y_layout(const std::vector<V>& data) const {
    return nhwc_ ? to_nhwc(data, g_.c.n, g_.c.k, g_.oh, g_.ow) : data;
  }

  // All three sums in one pass, which is what the test takes its time for.
  void sum_up() {
    y_sums_.assign(dy_.size(), 0);
    x_sums_.assign(x_.size(), 0);
    weight_sums_.assign(weight_.size(), 0);
    const T *x = x_.data(), *weight = weight_.data(), *dy = dy_.data();
    double *of_y = y_sums_.data(), *of_x = x_sums_.data(), *of_weight = weight_sums_.data();
    g_.each([&](std::size_t i, std::size_t w, std::size_t j) {
      of_y[j] += static_cast<double>(x[i]) * weight[w];
      of_x[i] += static_cast<double>(dy[j]) * weight[w];
      of_weight[w] += static_cast<double>(dy[j]) * x[i];
    });
  }

  void forward(bool bias, bool relu) {
    std::vector<double> expected = y_sums_;
    const auto image = static_cast<std::size_t>(g_.oh * g_.ow);
    for (std::size_t i = 0; bias && i < expected.size(); ++i) {
      expected[i] += bias_[i / image % static_cast<std::size_t>(g_.c.k)];
    }
    for (double& value : expected) value = relu ? std::max(value, 0.0) : value;
    Call call = call_;
    call.tensors = {x_shape(), weight_shape()};
    const auto x = x_layout(x_);
    std::vector<const void*> operands{x.data(), weight_.data()};
    if (bias) {
      set_attribute(call.attributes, "has_bias", true);
      call.tensors.push_back({kType, {g_.c.k}});
      operands.push_back(bias_.data());
    }
    if (relu) set_attribute(call.attributes, "epilogue", std::string("relu"));
    call.tensors.push_back(y_shape());
    expect_near(run_call<T>("convolution", call, operands), y_layout(expected),
                g_.gc * g_.c.r * g_.c.s, "forward " + what_);
  }

  void input_gradient() {
    Call call = call_;
    call.tensors = {y_shape(), weight_shape(), x_shape()};
    const auto dy = y_layout(dy_);
    expect_near(run_call<T>("convolution_input_gradient", call, {dy.data(), weight_.data()}),
                x_layout(x_sums_), g_.gk * g_.c.r * g_.c.s, "input gradient " + what_);
  }

  void weight_gradient() {
    Call call = call_;
    call.tensors = {x_shape(), y_shape(), weight_shape()};
    const auto x = x_layout(x_);
    const auto dy = y_layout(dy_);
    expect_near(run_call<T>("convolution_weight_gradient", call, {x.data(), dy.data()}),
                weight_sums_, g_.c.n * g_.oh * g_.ow, "weight gradient " + what_);
  }

  Geometry g_;
  bool nhwc_;
  std::vector<T> x_, weight_, dy_, bias_;
  std::vector<double> y_sums_, x_sums_, weight_sums_;
  std::string what_;
  Call call_;
};

void check(const Case& c) {
  for (const bool nhwc : {false, true}) {
    Checker<float>(c, nhwc).all();
    Checker<double>(c, nhwc).all();
  }
}

TEST(Convolution, OddShapes) {
  check({1, 1, 1, 1, 1, 1, 1});
  check({3, 1, 9, 7, 6, 5, 5});
  check({2, 6, 8, 9, 16, 3, 2});
  check({5, 3, 7, 7, 17, 1, 1});
}

TEST(Convolution, StridePaddingDilation) {
  check({3, 4, 11, 13, 5, 3, 3, {2}, {1}});
  check({2, 4, 12, 10, 5, 3, 2, {2, 1}, {1, 2}, {1, 3}});
  check({2, 16, 9, 9, 16, 3, 3, {1}, {0, 1, 2, 3}, {2}});
  check({1, 3, 6, 6, 4, 4, 4, {3}, {3}});
}

TEST(Convolution, Groups) {
  check({2, 6, 8, 8, 9, 3, 3, {1}, {1}, {1}, 3});
  check({2, 16, 8, 8, 16, 3, 3, {1}, {1}, {1}, 16});
  check({3, 32, 6, 6, 64, 3, 3, {2}, {1}, {1}, 2});
}

TEST(Convolution, ManyTilesOfWhichTheLastIsShort) {
  for (const bool nhwc : {false, true}) {
    Checker<float>({13, 8, 12, 12, 16, 3, 3, {1}, {1}}, nhwc).all();
    Checker<float>({19, 1, 28, 28, 20, 5, 5}, nhwc).all();
  }
}

TEST(Convolution, EmptyTensors) {
  check({0, 3, 7, 7, 4, 3, 3});
  check({2, 0, 7, 7, 4, 3, 3});
  check({2, 3, 7, 7, 0, 3, 3});
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  Call call;
  call.tensors = {
      {DType::f32, {2, 3, 8, 8}}, {DType::f32, {4, 3, 3, 3}}, {DType::f32, {2, 4, 6, 6}}};
  EXPECT_NO_THROW(find("convolution")(call));
  set_attribute(call.attributes, "stride", std::int64_t{2});
  EXPECT_THROW(find("convolution")(call), Error);
  set_attribute(call.attributes, "stride", Sizes{1, 1, 1});
  EXPECT_THROW(find("convolution")(call), Error);
  EXPECT_EQ(find("conv3d"), nullptr);
}

// Sums of products written down once more, for three axes: y[n, k, d, h, w].
TEST(Convolution, Volumes) {
  const Sizes x_shape{5, 3, 6, 9, 8}, w_shape{4, 3, 2, 3, 3}, y_shape{5, 4, 3, 9, 4};
  const auto x = random_values<float>(elements(x_shape), 1);
  const auto weight = random_values<float>(elements(w_shape), 2);
  std::vector<double> expected(static_cast<std::size_t>(elements(y_shape)), 0);
  const auto at = [](const Sizes& shape, const Sizes& index) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + index[i];
    return static_cast<std::size_t>(place);
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Sizes o(5);
    for (std::size_t axis = 5, rest = i; axis-- > 0;) {
      o[axis] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(y_shape[axis]));
      rest /= static_cast<std::size_t>(y_shape[axis]);
    }
    for (std::int64_t j = 0; j < 3 * 2 * 3 * 3; ++j) {
      const std::int64_t c = j / 18, q = j / 9 % 2, r = j / 3 % 3, s = j % 3;
      const std::int64_t d = 2 * o[2] + q, h = o[3] - 1 + r, w = 2 * o[4] - 1 + s;
      if (h < 0 || h >= 9 || w < 0 || w >= 8) continue;
      expected[i] += static_cast<double>(x[at(x_shape, {o[0], c, d, h, w})]) *
                     weight[at(w_shape, {o[1], c, q, r, s})];
    }
  }
  Call call;
  call.attributes = {{"padding", Sizes{0, 0, 1, 1, 1, 0}}, {"stride", Sizes{2, 1, 2}}};
  call.tensors = {{DType::f32, x_shape}, {DType::f32, w_shape}, {DType::f32, y_shape}};
  expect_near(run_call<float>("convolution", call, {x.data(), weight.data()}), expected, 54,
              "volume");
}

}  // namespace
}  // namespace trireme::kernels
