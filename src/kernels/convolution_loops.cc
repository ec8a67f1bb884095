// Convolution as it is written down. Slow: for f64, where gradients are checked, and for empty
// tensors, where there is nothing to do but to write zeros or the bias.

#include <algorithm>

#include "kernels/convolution.h"

namespace trireme::kernels {

namespace {

template <class T>
class Loops : public KernelInstance {
 public:
  explicit Loops(const Convolution& conv) : c_(conv) {}

  void run(void* const* tensors, void*, device::Device&) override {
    const auto in = [&](int i) { return static_cast<const T*>(tensors[i]); };
    const auto out = [&](int i) { return static_cast<T*>(tensors[i]); };
    switch (c_.kind) {
      case ConvolutionKind::forward:
        return forward(in(0), in(1), c_.bias ? in(2) : nullptr, out(c_.bias ? 3 : 2));
      case ConvolutionKind::input_gradient: return input_gradient(in(0), in(1), out(2));
      case ConvolutionKind::weight_gradient: return weight_gradient(in(0), in(1), out(2));
    }
  }

 private:
  struct Place {
    std::int64_t n, channel, d, h, w;
  };

  // Where the element stands in x, or in y.
  std::int64_t position(const Place& p, std::int64_t channels, std::int64_t Axis::* size) const {
    const std::int64_t depth = c_.axes[0].*size, height = c_.axes[1].*size,
                       width = c_.axes[2].*size;
    return c_.channels_last
               ? (((p.n * depth + p.d) * height + p.h) * width + p.w) * channels + p.channel
               : (((p.n * channels + p.channel) * depth + p.d) * height + p.h) * width + p.w;
  }
  std::int64_t x_at(const Place& p) const { return position(p, c_.c, &Axis::x); }
  std::int64_t y_at(const Place& p) const { return position(p, c_.k, &Axis::y); }

  // Calls f(tap, place in x) for the taps of window `o` that are inside.
  template <class F>
  static void each_tap(const Axis& axis, std::int64_t o, const F& f) {
    for (std::int64_t tap = 0; tap < axis.window; ++tap) {
      const std::int64_t place = o * axis.stride - axis.before + tap * axis.dilation;
      if (place >= 0 && place < axis.x) f(tap, place);
    }
  }

  // Calls f(x index, weight index) for every product that goes into y at `o`.
  template <class F>
  void each_product(const Place& o, const F& f) const {
    const auto& [depth, height, width] = c_.axes;
    const std::int64_t first_c = o.channel / c_.group_k() * c_.group_c();
    for (std::int64_t c = 0; c < c_.group_c(); ++c) {
      const std::int64_t filter = o.channel * c_.group_c() + c;
      each_tap(depth, o.d, [&](std::int64_t q, std::int64_t d) {
        each_tap(height, o.h, [&](std::int64_t r, std::int64_t h) {
          each_tap(width, o.w, [&](std::int64_t s, std::int64_t w) {
            f(x_at({o.n, first_c + c, d, h, w}),
              ((filter * c_.axes[0].window + q) * c_.axes[1].window + r) * c_.axes[2].window + s);
          });
        });
      });
    }
  }

  // Calls f(place) for every element of y.
  template <class F>
  void each_output(const F& f) const {
    Place o{};
    for (o.n = 0; o.n < c_.n; ++o.n) {
      for (o.channel = 0; o.channel < c_.k; ++o.channel) {
        for (o.d = 0; o.d < c_.axes[0].y; ++o.d) {
          for (o.h = 0; o.h < c_.axes[1].y; ++o.h) {
            for (o.w = 0; o.w < c_.axes[2].y; ++o.w) f(o);
          }
        }
      }
    }
  }

  void forward(const T* x, const T* weight, const T* bias, T* y) const {
    each_output([&](const Place& o) {
      T sum = bias == nullptr ? T{0} : bias[o.channel];
      each_product(o, [&](std::int64_t a, std::int64_t b) { sum += x[a] * weight[b]; });
      y[y_at(o)] = c_.relu && sum < T{0} ? T{0} : sum;
    });
  }

  void input_gradient(const T* dy, const T* weight, T* dx) const {
    std::fill_n(dx, c_.n * c_.x_image(), T{0});
    each_output([&](const Place& o) {
      const T g = dy[y_at(o)];
      each_product(o, [&](std::int64_t a, std::int64_t b) { dx[a] += g * weight[b]; });
    });
  }

  void weight_gradient(const T* x, const T* dy, T* dweight) const {
    std::fill_n(dweight, c_.weights(), T{0});
    each_output([&](const Place& o) {
      const T g = dy[y_at(o)];
      each_product(o, [&](std::int64_t a, std::int64_t b) { dweight[b] += g * x[a]; });
    });
  }

  Convolution c_;
};

}  // namespace

std::unique_ptr<KernelInstance> prepare_convolution_loops(const Convolution& conv, DType dtype) {
  if (dtype == DType::f32) return std::make_unique<Loops<float>>(conv);
  return std::make_unique<Loops<double>>(conv);
}

}  // namespace trireme::kernels
