#include <array>

#include "ops/common.h"
#include "ops/window.h"

// Winograd's algorithm F(2x2, 3x3) from Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks" (CVPR 2016): y = A' (sum over c of (G w G') * (B' d B)) A for each tile d of 4x4
// pixels. It computes 2x2 elements of the result with 16 products instead of 36.

namespace trireme::ops {
namespace {

using Four = std::array<double, 4>;
using Tile = std::array<Four, 4>;

std::array<std::int64_t, 4> padding_of(const Attributes& attributes) {
  const Window window = window_of(attributes);
  return {window.padding[0], window.padding[1], window.padding[2], window.padding[3]};
}

std::vector<Type> winograd_conv2d_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& weight = c.operands[1];
  require(x.rank() == 4 && is_arithmetic_float(x.dtype) && x.shape[1].is_constant() &&
              x.shape[2].is_constant() && x.shape[3].is_constant(),
          c.operand_texts[0] + " is not an image [N, H, W, C] of floats");
  require(weight.rank() == 3 && is_constant(weight.shape) && weight.dtype == x.dtype &&
              weight.shape[0] == Dim(16) && weight.shape[1] == x.shape[3],
          c.operand_texts[1] + " is not a weight [16, C, K] for " + c.operand_texts[0]);
  const auto padding = padding_of(c.attributes);
  const std::int64_t height = x.shape[1].constant() + padding[0] + padding[1] - 2;
  const std::int64_t width = x.shape[2].constant() + padding[2] + padding[3] - 2;
  require(height > 0 && width > 0 && height % 2 == 0 && width % 2 == 0,
          "the result of " + c.operand_texts[0] + " would be " + std::to_string(height) + " by " +
              std::to_string(width),
          "its height and width must be even");
  return {Type{x.dtype, {x.shape[0], height, width, weight.shape[2]}}};
}

Four input_line(const Four& d) { return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]}; }

Tile transposed(const Tile& t) {
  Tile result;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) result[i][j] = t[j][i];
  }
  return result;
}

// Returns B' d B.
Tile input_tile(Tile d) {
  for (int side = 0; side < 2; ++side) {
    for (Four& line : d) line = input_line(line);
    d = transposed(d);
  }
  return d;
}

// Returns element [a, b] of A' m A, where A' is {1, 1, 1, 0}, {0, 1, -1, -1}.
double output_element(const Tile& m, std::size_t a, std::size_t b) {
  static constexpr double kRows[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) sum += kRows[a][i] * m[i][j] * kRows[b][j];
  }
  return sum;
}

void winograd_conv2d_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const RefTensor& weight = *r.operands[1];
  RefTensor& y = *r.results[0];
  const auto padding = padding_of(r.op.attributes);
  const std::int64_t channels = x.shape[3];
  for_each_index({y.shape[0], y.shape[1] / 2, y.shape[2] / 2}, [&](const Index& tile) {
    std::vector<Tile> inputs(static_cast<std::size_t>(channels), Tile{});
    for_each_index({4, 4, channels}, [&](const Index& i) {
      const std::int64_t h = 2 * tile[1] + i[0] - padding[0], w = 2 * tile[2] + i[1] - padding[2];
      if (h < 0 || h >= x.shape[1] || w < 0 || w >= x.shape[2]) return;
      inputs[static_cast<std::size_t>(i[2])][static_cast<std::size_t>(i[0])]
            [static_cast<std::size_t>(i[1])] = at(x, {tile[0], h, w, i[2]});
    });
    for (Tile& input : inputs) input = input_tile(input);
    for (std::int64_t k = 0; k < y.shape[3]; ++k) {
      Tile sums{};
      for_each_index({channels, 4, 4}, [&](const Index& i) {
        const auto a = static_cast<std::size_t>(i[1]), b = static_cast<std::size_t>(i[2]);
        sums[a][b] +=
            inputs[static_cast<std::size_t>(i[0])][a][b] * at(weight, {4 * i[1] + i[2], i[0], k});
      });
      for_each_index({2, 2}, [&](const Index& i) {
        at(y, {tile[0], 2 * tile[1] + i[0], 2 * tile[2] + i[1], k}) =
            output_element(sums, static_cast<std::size_t>(i[0]), static_cast<std::size_t>(i[1]));
      });
    }
  });
}

Contraction contraction(const ir::Op& op) {
  return {
      .windows = true, .winograd = true, .kernel = {3, 3}, .padding = padding_of(op.attributes)};
}

Sample winograd_conv2d_sample(std::vector<std::int64_t> x, std::int64_t channels,
                              std::vector<std::int64_t> padding) {
  Sample s;
  s.operands = {type_of(x), type_of({16, x[3], channels})};
  s.attributes = {{"padding", std::move(padding)}};
  s.tolerance = 1e-4;  // sums of up to a thousand products that cancel each other
  return s;
}

}  // namespace

Op winograd_conv2d() {
  Op op("winograd_conv2d(x, weight; padding: ints = [0, 0, 0, 0])");
  op.doc =
      "The convolution of images x [N, H, W, C] with windows of 3 by 3 and stride 1.\n"
      "It uses Winograd's algorithm F(2x2, 3x3), with 4 products for every 9 of the direct "
      "method.\n"
      "`weight` [16, C, K] is G w G' of the window [3, 3, C, K].\n"
      "G' is [[1, 1/2, 1/2, 0], [0, 1/2, -1/2, 0], [0, 1/2, 1/2, 1]].\n"
      "The height and width of the result [N, P, Q, K] are even.\n"
      "It always becomes a generated kernel, fused with the elementwise ops that follow it.\n"
      "The compiler replaces conv2d with it where that is faster.\n"
      "It does so after differentiation; the op has no gradient.";
  op.traits = Trait::contraction | Trait::internal;
  op.no_gradient_reason = "the compiler makes it after differentiation";
  op.type = winograd_conv2d_type;
  op.contraction = contraction;
  op.reference = winograd_conv2d_reference;
  op.torch_reference =
      "(lambda B, A, d: torch.einsum('ai,nhwkij,bj->nhawbk', A, "
      "torch.einsum('nhwcij,ijck->nhwkij', "
      "torch.einsum('is,nhwcst,jt->nhwcij', B, d, B), x[1].reshape([4, 4] + "
      "list(x[1].shape[1:]))), A).reshape([d.shape[0], 2 * d.shape[1], 2 * d.shape[2], "
      "x[1].shape[2]]))("
      "torch.tensor([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], "
      "dtype=x[0].dtype), torch.tensor([[1, 1, 1, 0], [0, 1, -1, -1]], dtype=x[0].dtype), "
      "torch.nn.functional.pad(x[0], [0, 0] + padding[2:] + padding[:2])"
      ".unfold(1, 4, 2).unfold(2, 4, 2))";
  op.samples = {winograd_conv2d_sample({2, 6, 8, 16}, 16, {1, 1, 1, 1}),
                winograd_conv2d_sample({1, 4, 4, 3}, 5, {0, 0, 0, 0}),
                winograd_conv2d_sample({1, 8, 26, 17}, 40, {1, 1, 1, 1}),
                winograd_conv2d_sample({2, 5, 3, 33}, 16, {2, 1, 1, 2}),
                winograd_conv2d_sample({1, 30, 6, 64}, 96, {1, 1, 1, 1}),
                winograd_conv2d_sample({0, 4, 4, 16}, 16, {1, 1, 1, 1})};
  return op;
}

}  // namespace trireme::ops
