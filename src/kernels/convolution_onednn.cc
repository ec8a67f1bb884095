// Convolution of f32 by oneDNN. The batch is cut into tiles of a fixed number of images. A tile
// runs on one thread of our pool. Weights are reordered for the primitive once per call.

#include <fmt/core.h>
#include <dnnl.hpp>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "kernels/convolution.h"
#include "kernels/one_thread.h"

namespace trireme::kernels {

namespace {

using Memory = dnnl::memory;
using Tag = Memory::format_tag;

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kFloat = 4;

std::int64_t line_aligned(std::size_t bytes) {
  return (static_cast<std::int64_t>(bytes) + kLine - 1) / kLine * kLine;
}

// Images per tile. Tiles are a power of two in number (one may be cut short), of some 20 us at
// least. Gradients of weights need a copy of the weights per tile: few tiles if those are large.
std::int64_t images_per_tile(const Convolution& conv) {
  constexpr std::int64_t kMinOperations = 2'000'000;
  constexpr std::int64_t kMaxPartialBytes = 16 << 20;
  const bool partial = conv.kind == ConvolutionKind::weight_gradient;
  std::int64_t tiles = 1;
  while (tiles < (partial ? 16 : 64)) {
    const std::int64_t next = tiles * 2;
    if (next > conv.n || conv.operations() * conv.n / next < kMinOperations) break;
    if (partial && next > 2 && next * conv.weights() * kFloat > kMaxPartialBytes) break;
    tiles = next;
  }
  return (conv.n + tiles - 1) / tiles;
}

// The descriptors of a convolution over `images` images.
struct Shapes {
  Memory::desc x, weight, bias, y;  // weight: plain as stored by us
  Memory::desc any_weight;
  Memory::dims stride, dilation, before, after;

  Shapes(const Convolution& c, std::int64_t images) {
    const auto type = Memory::data_type::f32;
    const auto dims = [&](Memory::dims first, std::int64_t Axis::* size) {
      for (std::size_t i = c.first_axis(); i < 3; ++i) first.push_back(c.axes[i].*size);
      return first;
    };
    const Tag first = c.volume ? Tag::ncdhw : Tag::nchw, last = c.volume ? Tag::ndhwc : Tag::nhwc;
    const Tag tag = c.channels_last ? last : first;
    x = {dims({images, c.c}, &Axis::x), type, tag};
    y = {dims({images, c.k}, &Axis::y), type, tag};
    const bool grouped = c.groups > 1;
    const Memory::dims filters =
        dims(grouped ? Memory::dims{c.groups, c.group_k(), c.group_c()} : Memory::dims{c.k, c.c},
             &Axis::window);
    const Tag plain =
        c.volume ? (grouped ? Tag::goidhw : Tag::oidhw) : (grouped ? Tag::goihw : Tag::oihw);
    weight = {filters, type, plain};
    any_weight = {filters, type, Tag::any};
    if (c.bias) bias = {{c.k}, type, Tag::a};
    stride = dims({}, &Axis::stride);
    dilation = dims({}, &Axis::dilation);
    for (std::int64_t& step : dilation) --step;  // oneDNN counts the skipped elements
    before = dims({}, &Axis::before);
    after = dims({}, &Axis::after);
  }
};

// A primitive with the descriptors that matter outside.
struct Tile {
  dnnl::primitive primitive;
  Memory::desc input, output, weight, scratch;  // input and output: the activations
};

class Maker {
 public:
  Maker(const Convolution& conv, const dnnl::engine& engine) : conv_(conv), engine_(engine) {
    attributes_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (conv.relu) {
      dnnl::post_ops post;
      post.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      attributes_.set_post_ops(post);
    }
  }

  // `weight`: the order the weights must have; nothing: the primitive's choice.
  Tile make(std::int64_t images, const std::optional<Memory::desc>& weight) const {
    Shapes shapes(conv_, images);
    if (weight) shapes.any_weight = *weight;
    switch (conv_.kind) {
      case ConvolutionKind::forward: return forward(shapes);
      case ConvolutionKind::input_gradient: return input_gradient(shapes);
      case ConvolutionKind::weight_gradient: return weight_gradient(shapes);
    }
    fail_internal("convolution: no such kind");
  }

 private:
  static constexpr auto kDirect = dnnl::algorithm::convolution_direct;

  dnnl::convolution_forward::primitive_desc forward_description(const Shapes& s) const {
    using Forward = dnnl::convolution_forward;
    const auto training = dnnl::prop_kind::forward_training;
    const auto desc = conv_.bias ? Forward::desc(training, kDirect, s.x, s.any_weight, s.bias, s.y,
                                                 s.stride, s.dilation, s.before, s.after)
                                 : Forward::desc(training, kDirect, s.x, s.any_weight, s.y,
                                                 s.stride, s.dilation, s.before, s.after);
    return {desc, attributes_, engine_};
  }

  Tile forward(const Shapes& s) const {
    const auto pd = forward_description(s);
    return {dnnl::convolution_forward(pd), s.x, s.y, pd.weights_desc(), pd.scratchpad_desc()};
  }

  Tile input_gradient(const Shapes& s) const {
    using Backward = dnnl::convolution_backward_data;
    const Backward::desc desc(kDirect, s.x, s.any_weight, s.y, s.stride, s.dilation, s.before,
                              s.after);
    const Backward::primitive_desc pd(desc, attributes_, engine_, forward_description(s));
    return {Backward(pd), s.y, s.x, pd.weights_desc(), pd.scratchpad_desc()};
  }

  Tile weight_gradient(const Shapes& s) const {
    using Backward = dnnl::convolution_backward_weights;
    const Backward::desc desc(kDirect, s.x, s.any_weight, s.y, s.stride, s.dilation, s.before,
                              s.after);
    const Backward::primitive_desc pd(desc, attributes_, engine_, forward_description(s));
    return {Backward(pd), s.x, s.y, pd.diff_weights_desc(), pd.scratchpad_desc()};
  }

  const Convolution& conv_;
  const dnnl::engine& engine_;
  dnnl::primitive_attr attributes_;
};

// What the three kinds share: tiles, threads' scratch memory, the order of weights.
class OneDnn : public KernelInstance {
 public:
  explicit OneDnn(const Convolution& conv)
      : conv_(conv), engine_(dnnl::engine::kind::cpu, 0), images_(images_per_tile(conv)) {
    const OneOpenMpThread one_thread;
    const Maker maker(conv_, engine_);
    tiles_ = (conv.n + images_ - 1) / images_;
    whole_ = maker.make(images_, std::nullopt);
    const std::int64_t left = conv.n - (tiles_ - 1) * images_;
    last_ = left == images_ ? whole_ : maker.make(left, whole_.weight);
    plain_weight_ = Shapes(conv_, images_).weight;
    reordered_ = whole_.weight != plain_weight_;
    scratch_ = line_aligned(std::max(whole_.scratch.get_size(), last_.scratch.get_size()));
    weight_bytes_ = line_aligned(whole_.weight.get_size());
  }

 protected:
  // Runs `body(tile, first image, stream, scratch)` for every tile, on all threads.
  template <class Body>
  void each_tile(device::Device& device, char* scratch, const Body& body) {
    device.run(tiles_, 1, tiles_ > 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      const OneOpenMpThread one_thread;
      dnnl::stream stream(engine_);
      for (std::int64_t i = begin; i < end; ++i) {
        const Tile& tile = i + 1 == tiles_ ? last_ : whole_;
        Memory memory(tile.scratch, engine_, scratch + thread * scratch_);
        body(tile, i, stream, memory);
      }
      stream.wait();
    });
  }

  Memory at(const Memory::desc& desc, const void* data) const {
    return Memory(desc, engine_, const_cast<void*>(data));
  }

  void reorder(const Memory& from, Memory to) const {
    const OneOpenMpThread one_thread;
    dnnl::stream stream(engine_);
    Memory source = from;
    dnnl::reorder(source, to).execute(stream, source, to);
    stream.wait();
  }

  Convolution conv_;
  dnnl::engine engine_;
  std::int64_t images_, tiles_ = 0;
  Tile whole_, last_;
  Memory::desc plain_weight_;
  bool reordered_ = false;         // the primitive wants the weights in another order than ours
  std::int64_t scratch_ = 0;       // bytes per thread
  std::int64_t weight_bytes_ = 0;  // in the primitive's order
};

// Forward and the gradient of the input: activations and weights to activations.
class Through : public OneDnn {
 public:
  using OneDnn::OneDnn;

  std::size_t workspace_bytes(int threads) const override {
    return static_cast<std::size_t>((reordered_ ? weight_bytes_ : 0) + threads * scratch_);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    auto* scratch = static_cast<char*>(workspace);
    Memory weight = at(plain_weight_, tensors[1]);
    if (reordered_) {
      const Memory ordered = at(whole_.weight, scratch);
      reorder(weight, ordered);
      weight = ordered;
      scratch += weight_bytes_;
    }
    const bool forward = conv_.kind == ConvolutionKind::forward;
    Memory bias;
    if (conv_.bias) bias = at({{conv_.k}, Memory::data_type::f32, Tag::a}, tensors[2]);
    const auto* from = static_cast<const float*>(tensors[0]);
    auto* to = static_cast<float*>(tensors[conv_.bias ? 3 : 2]);
    const std::int64_t from_image = forward ? conv_.x_image() : conv_.y_image();
    const std::int64_t to_image = forward ? conv_.y_image() : conv_.x_image();
    each_tile(
        device, scratch,
        [&](const Tile& tile, std::int64_t i, dnnl::stream& stream, const Memory& scratch_memory) {
          const Memory input = at(tile.input, from + i * images_ * from_image);
          const Memory output = at(tile.output, to + i * images_ * to_image);
          if (forward) {
            std::unordered_map<int, Memory> arguments{{DNNL_ARG_SRC, input},
                                                      {DNNL_ARG_WEIGHTS, weight},
                                                      {DNNL_ARG_DST, output},
                                                      {DNNL_ARG_SCRATCHPAD, scratch_memory}};
            if (conv_.bias) arguments.emplace(DNNL_ARG_BIAS, bias);
            tile.primitive.execute(stream, arguments);
          } else {
            tile.primitive.execute(stream, {{DNNL_ARG_DIFF_DST, input},
                                            {DNNL_ARG_WEIGHTS, weight},
                                            {DNNL_ARG_DIFF_SRC, output},
                                            {DNNL_ARG_SCRATCHPAD, scratch_memory}});
          }
        });
  }
};

// The gradient of the weights: every tile has a sum of its own; they are added in order of tiles.
class WeightGradient : public OneDnn {
 public:
  using OneDnn::OneDnn;

  std::size_t workspace_bytes(int threads) const override {
    return static_cast<std::size_t>(tiles_ * weight_bytes_ + threads * scratch_);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const auto* x = static_cast<const float*>(tensors[0]);
    const auto* dy = static_cast<const float*>(tensors[1]);
    auto* sums = static_cast<char*>(workspace);
    const bool direct = tiles_ == 1 && !reordered_;
    each_tile(
        device, sums + tiles_ * weight_bytes_,
        [&](const Tile& tile, std::int64_t i, dnnl::stream& stream, const Memory& scratch_memory) {
          void* sum = direct ? tensors[2] : sums + i * weight_bytes_;
          tile.primitive.execute(
              stream, {{DNNL_ARG_SRC, at(tile.input, x + i * images_ * conv_.x_image())},
                       {DNNL_ARG_DIFF_DST, at(tile.output, dy + i * images_ * conv_.y_image())},
                       {DNNL_ARG_DIFF_WEIGHTS, at(tile.weight, sum)},
                       {DNNL_ARG_SCRATCHPAD, scratch_memory}});
        });
    if (direct) return;
    auto* total = reinterpret_cast<float*>(reordered_ ? sums : static_cast<char*>(tensors[2]));
    add_up(reinterpret_cast<const float*>(sums), total, device);
    if (reordered_) reorder(at(whole_.weight, sums), at(plain_weight_, tensors[2]));
  }

 private:
  // total = sum of the tiles' sums; total may be the first of them.
  void add_up(const float* sums, float* total, device::Device& device) const {
    const std::int64_t stride = weight_bytes_ / kFloat;
    const auto count = static_cast<std::int64_t>(whole_.weight.get_size()) / kFloat;
    constexpr std::int64_t kMin = 16384;
    device.run(count, kMin, tiles_ * count > 2 * kMin,
               [&](std::int64_t begin, std::int64_t end, int) {
                 if (total != sums) std::copy(sums + begin, sums + end, total + begin);
                 for (std::int64_t t = 1; t < tiles_; ++t) {
                   const float* sum = sums + t * stride;
                   for (std::int64_t i = begin; i < end; ++i) total[i] += sum[i];
                 }
               });
  }
};

}  // namespace

std::unique_ptr<KernelInstance> prepare_convolution_onednn(const Convolution& conv) {
  try {
    if (conv.kind == ConvolutionKind::weight_gradient)
      return std::make_unique<WeightGradient>(conv);
    return std::make_unique<Through>(conv);
  } catch (const dnnl::error& error) {
    fail_internal(
        fmt::format("oneDNN refused a convolution of {} images: {}", conv.n, error.message));
  }
}

}  // namespace trireme::kernels
