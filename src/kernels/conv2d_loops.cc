// Convolution as it is written down. Slow: for f64, where gradients are checked, and for empty
// tensors, where there is nothing to do but to write zeros or the bias.

#include <algorithm>

#include "kernels/conv2d.h"

namespace trireme::kernels {

namespace {

template <class T>
class Loops : public Prepared {
 public:
  explicit Loops(const Conv2d& conv) : c_(conv) {}

  void run(void* const* tensors, void*, device::Device&) override {
    const auto in = [&](int i) { return static_cast<const T*>(tensors[i]); };
    const auto out = [&](int i) { return static_cast<T*>(tensors[i]); };
    switch (c_.kind) {
      case ConvKind::forward:
        return forward(in(0), in(1), c_.bias ? in(2) : nullptr, out(c_.bias ? 3 : 2));
      case ConvKind::input_gradient: return input_gradient(in(0), in(1), out(2));
      case ConvKind::weight_gradient: return weight_gradient(in(0), in(1), out(2));
    }
  }

 private:
  std::int64_t x_at(std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) const {
    return c_.nhwc ? ((n * c_.h + i) * c_.w + j) * c_.c + c
                   : ((n * c_.c + c) * c_.h + i) * c_.w + j;
  }
  std::int64_t y_at(std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j) const {
    return c_.nhwc ? ((n * c_.out_h + i) * c_.out_w + j) * c_.k + k
                   : ((n * c_.k + k) * c_.out_h + i) * c_.out_w + j;
  }

  // Calls f(x index, weight index) for every product that goes into y[n, k, i, j].
  template <class F>
  void each_product(std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j,
                    const F& f) const {
    const std::int64_t first_c = k / c_.group_k() * c_.group_c();
    for (std::int64_t c = 0; c < c_.group_c(); ++c) {
      for (std::int64_t r = 0; r < c_.r; ++r) {
        const std::int64_t row = i * c_.stride_h - c_.top + r * c_.dilation_h;
        if (row < 0 || row >= c_.h) continue;
        for (std::int64_t s = 0; s < c_.s; ++s) {
          const std::int64_t column = j * c_.stride_w - c_.left + s * c_.dilation_w;
          if (column < 0 || column >= c_.w) continue;
          f(x_at(n, first_c + c, row, column), ((k * c_.group_c() + c) * c_.r + r) * c_.s + s);
        }
      }
    }
  }

  // Calls f(n, k, i, j) for every element of y.
  template <class F>
  void each_output(const F& f) const {
    for (std::int64_t n = 0; n < c_.n; ++n) {
      for (std::int64_t k = 0; k < c_.k; ++k) {
        for (std::int64_t i = 0; i < c_.out_h; ++i) {
          for (std::int64_t j = 0; j < c_.out_w; ++j) f(n, k, i, j);
        }
      }
    }
  }

  void forward(const T* x, const T* weight, const T* bias, T* y) const {
    each_output([&](std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j) {
      T sum = bias == nullptr ? T{0} : bias[k];
      each_product(n, k, i, j, [&](std::int64_t a, std::int64_t b) { sum += x[a] * weight[b]; });
      y[y_at(n, k, i, j)] = c_.relu && sum < T{0} ? T{0} : sum;
    });
  }

  void input_gradient(const T* dy, const T* weight, T* dx) const {
    std::fill_n(dx, c_.n * c_.x_image(), T{0});
    each_output([&](std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j) {
      const T g = dy[y_at(n, k, i, j)];
      each_product(n, k, i, j, [&](std::int64_t a, std::int64_t b) { dx[a] += g * weight[b]; });
    });
  }

  void weight_gradient(const T* x, const T* dy, T* dweight) const {
    std::fill_n(dweight, c_.weights(), T{0});
    each_output([&](std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j) {
      const T g = dy[y_at(n, k, i, j)];
      each_product(n, k, i, j, [&](std::int64_t a, std::int64_t b) { dweight[b] += g * x[a]; });
    });
  }

  Conv2d c_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_conv2d_loops(const Conv2d& conv, DType dtype) {
  if (dtype == DType::f32) return std::make_unique<Loops<float>>(conv);
  return std::make_unique<Loops<double>>(conv);
}

}  // namespace trireme::kernels
