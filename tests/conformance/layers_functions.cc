// Functions composed of ops: trireme/indexing.h, numeric.h, shorthand.h, linalg.h and fft.h.

#include "layers.h"
#include "trireme/fft.h"
#include "trireme/indexing.h"
#include "trireme/linalg.h"
#include "trireme/numeric.h"

namespace trireme::conformance {
namespace {

Value eye_like(const Value& x) {
  const Value last = ones_like(x);
  return tril(last) * triu(last);
}

void add_short_forms(std::vector<Case>& cases) {
  cases.push_back(layer(
      "sum(x, 1)", {{{3, 5, 4}}}, [](auto& x) { return sum(x[0], 1) * mean(x[0], -2); },
      "x[0].sum(1) * x[0].mean(-2)"));
  cases.push_back(layer(
      "mean(x, {0, 2}, true)", {{{3, 5, 4}}}, [](auto& x) { return mean(x[0], {0, 2}, true); },
      "x[0].mean((0, 2), keepdim=True)"));
  cases.push_back(layer(
      "reshape(x, {-1, 4})", {{{3, 5, 4}}}, [](auto& x) { return reshape(x[0], {-1, 4}); },
      "x[0].reshape(-1, 4)"));
  cases.push_back(layer(
      "transpose and swap_axes", {{{3, 5, 4}}},
      [](auto& x) {
        return transpose(x[0], {2, 0, 1}) * swap_axes(transpose(x[0], {0, 2, 1}), 0, 1);
      },
      "x[0].permute(2, 0, 1) * x[0].permute(0, 2, 1).transpose(0, 1)"));
  cases.push_back(layer(
      "mse with a number", {{{3, 5}}}, [](auto& x) { return nn::mse(x[0], 1); },
      "(x[0] - 1) ** 2"));
}

void add_indexing(std::vector<Case>& cases) {
  cases.push_back(layer(
      "index by ranges", {{{4, 7, 6}}},
      [](auto& x) { return index(x[0], {slice(1, 3), slice({}, {}, -2), slice(-4, -1)}); },
      "x[0][1:3].flip(1)[:, ::2, -4:-1]"));
  cases.push_back(layer(
      "index by negative steps", {{{9, 5}}},
      [](auto& x) { return index(x[0], {slice(7, 1, -3), slice(-2, {}, -1)}); },
      "x[0][[7, 4]][:, [3, 2, 1, 0]]"));
  cases.push_back(layer(
      "index by numbers and new axes", {{{4, 3, 5}}},
      [](auto& x) { return index(x[0], {newaxis, 1, ellipsis, newaxis, -2}); },
      "x[0][None, 1, ..., None, -2]"));
  cases.push_back(layer(
      "index by a Value", {{{4, 6, 3}}, {{2, 5}, i64, -6, 6}},
      [](auto& x) { return index(x[0], {slice(), x[1], 0}); }, "x[0][:, x[1], 0]"));
  cases.push_back(layer(
      "roll", {{{4, 6}}}, [](auto& x) { return roll(x[0], 2) * roll(x[0], -9, 0); },
      "x[0].roll(2, 1) * x[0].roll(-9, 0)"));
  cases.push_back(layer(
      "repeat_interleave", {{{4, 3}}},
      [](auto& x) { return repeat_interleave(repeat_interleave(x[0], 2, 0), 3); },
      "x[0].repeat_interleave(2, 0).repeat_interleave(3, 1)"));
  cases.push_back(layer(
      "broadcast_to", {{{3, 1, 5}}}, [](auto& x) { return broadcast_to(x[0], {2, -1, 4, 5}); },
      "x[0].expand(2, -1, 4, 5)"));
  cases.push_back(layer(
      "meshgrid", {{{4}}, {{3}}},
      [](auto& x) {
        const auto grid = meshgrid(x);
        return grid[0] * grid[1] + grid[0];
      },
      "x[0][:, None] * x[1] + x[0][:, None]"));
  for (const int k : {-6, -2, 0, 1, 4, 9}) {
    const std::string n = std::to_string(k);
    cases.push_back(layer(
        "tril and triu " + n, {{{2, 5, 4}}},
        [k](auto& x) { return tril(x[0], k) * 2.0 + triu(x[0], k) * x[0]; },
        "x[0].tril(" + n + ") * 2 + x[0].triu(" + n + ") * x[0]"));
    if (k < -5 || k > 4) continue;  // PyTorch refuses these
    cases.push_back(layer(
        "diagonal " + n, {{{2, 5, 4}}}, [k](auto& x) { return diagonal(x[0], k); },
        "x[0].diagonal(" + n + ", -2, -1)"));
    cases.push_back(layer(
        "diag_embed " + n, {{{2, 3}}}, [k](auto& x) { return diag_embed(x[0], k); },
        "torch.diag_embed(x[0], " + n + ")"));
  }
  cases.push_back(layer(
      "diag and trace", {{{5, 5}}}, [](auto& x) { return diag(diag(x[0], 1)) * trace(x[0]); },
      "torch.diag(torch.diag(x[0], 1)) * x[0].trace()"));
}

void add_statistics(std::vector<Case>& cases) {
  cases.push_back(layer(
      "variance", {{{3, 5, 4}}},
      [](auto& x) { return variance(x[0], 1) * variance(x[0], {.keep = true, .ddof = 1}); },
      "x[0].var(1, unbiased=False)[None] * x[0].var()"));
  cases.push_back(layer(
      "stddev", {{{3, 5, 4}}},
      [](auto& x) { return stddev(x[0], {.axes = {0, -1}, .keep = true, .ddof = 1}); },
      "x[0].std((0, 2), unbiased=True, keepdim=True)"));
  cases.push_back(layer(
      "logsumexp", {{{3, 5, 4}, f32, -90, 90}}, [](auto& x) { return logsumexp(x[0], 1); },
      "x[0].logsumexp(1)"));
  cases.push_back(layer(
      "logsumexp of all", {{{3, 5}}}, [](auto& x) { return logsumexp(x[0]); },
      "x[0].logsumexp((0, 1))"));
  for (const std::string p : {"0", "0.5", "1", "2", "3.5", "inf", "-inf"}) {
    cases.push_back(layer(
        "vector_norm " + p, {{{4, 7}}},
        [p](auto& x) { return vector_norm(x[0], std::stod(p), {.axes = {1}}); },
        "torch.linalg.vector_norm(x[0], float('" + p + "'), 1) + 0 * x[0].sum()"));
  }
  cases.push_back(
      layer("cumprod", {{{3, 6, 2}}}, [](auto& x) { return cumprod(x[0], 1); }, "x[0].cumprod(1)"));
  cases.push_back(layer(
      "searchsorted", {{{6}, f32, -2, 2}, {{3, 5}}},
      [](auto& x) { return cast(searchsorted(sort(x[0])[0], x[1]), f32) * x[1]; },
      "torch.searchsorted(x[0].detach().sort()[0], x[1].detach()) * x[1] + 0 * x[0].sum()"));
}

void add_elementwise(std::vector<Case>& cases) {
  cases.push_back(layer(
      "lerp", {{{4, 5}}, {{5}}, {{4, 1}, f32, 0, 1}},
      [](auto& x) { return lerp(x[0], x[1], x[2]) + lerp(x[0], 1.0, 0.75); },
      "torch.lerp(x[0], x[1], x[2].expand(4, 5)) + torch.lerp(x[0], torch.ones(4, 5).double(), "
      "0.75)"));
  cases.push_back(layer(
      "hypot", {{{4, 5}}, {{5}}}, [](auto& x) { return hypot(x[0], x[1]) * hypot(x[0], 2.0); },
      "torch.hypot(x[0], x[1]) * torch.sqrt(x[0] ** 2 + 4)"));
  cases.push_back(layer(
      "logaddexp", {{{4, 5}}, {{5}}},
      [](auto& x) { return logaddexp(x[0], x[1]) * logaddexp(x[0], 0.5); },
      "torch.logaddexp(x[0], x[1]) * torch.log(torch.exp(x[0]) + math.exp(0.5))"));
  cases.push_back(layer(
      "floor_divide", {{{4, 5}, f32, -9, 9}, {{5}, f32, 0.5, 2}},
      [](auto& x) { return floor_divide(x[0], x[1]) * x[0]; },
      "torch.floor_divide(x[0].detach(), x[1].detach()) * x[0] + 0 * x[1].sum()"));
}

void add_products(std::vector<Case>& cases) {
  using Shape = std::vector<std::int64_t>;
  const std::vector<std::pair<Shape, Shape>> shapes = {{{4}, {4}},
                                                       {{4}, {2, 4, 3}},
                                                       {{2, 5, 4}, {4}},
                                                       {{3, 1, 5, 4}, {2, 4, 6}},
                                                       {{5, 4}, {2, 4, 3}},
                                                       {{1, 5, 4}, {2, 4, 3}},
                                                       {{2, 5, 4}, {1, 4, 3}},
                                                       {{1, 5, 4}, {4, 3}}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    cases.push_back(layer(
        "broadcast_matmul " + std::to_string(i), {{shapes[i].first}, {shapes[i].second}},
        [](auto& x) { return broadcast_matmul(x[0], x[1]); }, "torch.matmul(x[0], x[1])"));
  }
  cases.push_back(layer(
      "outer", {{{4}}, {{2, 3}}}, [](auto& x) { return outer(x[0], x[1]); },
      "x[0][:, None, None] * x[1]"));
  const std::vector<std::pair<std::string, std::vector<Shape>>> sums = {
      {"bhqd,bhkd->bhqk", {{2, 3, 5, 4}, {2, 3, 6, 4}}},
      {"ij,jk,kl->li", {{3, 4}, {4, 2}, {2, 5}}},
      {"iij,j->i", {{4, 4, 3}, {3}}},
      {"...ij,...jk->...ik", {{3, 1, 2, 4}, {5, 4, 2}}},
      {"i,j,ij->", {{3}, {4}, {3, 4}}},
      {"abc->cb", {{3, 4, 2}}}};
  for (const auto& [equation, operands] : sums) {
    std::vector<Input> inputs;
    for (const Shape& shape : operands) inputs.push_back({shape});
    cases.push_back(layer(
        "einsum " + equation, inputs, [e = equation](auto& x) { return einsum(e, x); },
        "torch.einsum('" + equation + "', *x[:" + std::to_string(operands.size()) + "])"));
  }
}

// Matrices with the eigenvalues that their factors need.
void add_linear_algebra(std::vector<Case>& cases) {
  cases.push_back(layer(
      "inverse", {{{2, 4, 4}}}, [](auto& x) { return inverse(x[0]); }, "torch.linalg.inv(x[0])"));
  cases.push_back(
      layer("det", {{{3, 4, 4}}}, [](auto& x) { return det(x[0]); }, "torch.linalg.det(x[0])"));
  cases.push_back(layer(
      "cholesky", {{{2, 4, 6}}},
      [](auto& x) {
        const Value square = matmul(x[0], x[0], {.transpose_b = true});
        return cholesky(square + eye_like(square));
      },
      "torch.linalg.cholesky(x[0] @ x[0].mT + torch.eye(4))"));
  cases.push_back(layer(
      "cholesky of a sum of parts", {{{3, 3}}},
      [](auto& x) { return cholesky(x[0] + eye_like(x[0]) * 9.0); },
      "torch.linalg.cholesky((x[0] + x[0].mT) / 2 + 9 * torch.eye(3))"));
}

// `call` is a function of torch.fft; x[0] is complex where `from` is.
void add_transform(std::vector<Case>& cases, const std::string& call, std::vector<Input> inputs,
                   std::function<Value(const Value&)> build, bool from, bool to) {
  const std::string x = from ? "torch.view_as_complex(x[0].contiguous())" : "x[0]";
  const std::size_t bracket = call.find('(') + 1;
  std::string text = "torch.fft." + call.substr(0, bracket) + x + call.substr(bracket);
  if (to) text = "torch.view_as_real(" + text + ")";
  cases.push_back(layer(call, std::move(inputs), [build](auto& v) { return build(v[0]); }, text));
}

void add_transforms(std::vector<Case>& cases) {
  add_transform(
      cases, "fft(, dim=0)", {{{6, 3, 2}}}, [](auto& x) { return fft(x, {.axis = 0}); }, true,
      true);
  add_transform(
      cases, "fft(, n=4, norm='ortho')", {{{3, 6, 2}}},
      [](auto& x) { return fft(x, {.n = 4, .norm = FftNorm::ortho}); }, true, true);
  add_transform(
      cases, "ifft(, n=9)", {{{3, 6, 2}}}, [](auto& x) { return ifft(x, {.n = 9}); }, true, true);
  add_transform(
      cases, "ifft(, norm='forward')", {{{3, 6, 2}}},
      [](auto& x) { return ifft(x, {.norm = FftNorm::forward}); }, true, true);
  add_transform(
      cases, "rfft(, n=5, dim=-2, norm='forward')", {{{3, 6, 2}}},
      [](auto& x) { return rfft(x, {.n = 5, .axis = -2, .norm = FftNorm::forward}); }, false, true);
  add_transform(
      cases, "rfft(, n=8)", {{{3, 6}}}, [](auto& x) { return rfft(x, {.n = 8}); }, false, true);
  add_transform(
      cases, "irfft(, norm='ortho')", {{{3, 6, 2}}},
      [](auto& x) { return irfft(x, {.norm = FftNorm::ortho}); }, true, false);
  add_transform(
      cases, "irfft(, n=7, dim=0)", {{{3, 2, 2}}},
      [](auto& x) { return irfft(x, {.n = 7, .axis = 0}); }, true, false);
  add_transform(
      cases, "fft2(, norm='ortho')", {{{2, 4, 5, 2}}},
      [](auto& x) { return fft2(x, {.norm = FftNorm::ortho}); }, true, true);
  add_transform(
      cases, "ifft2(, s=(3, 6), dim=(0, 2))", {{{2, 4, 5, 2}}},
      [](auto& x) { return ifft2(x, {.s = {3, 6}, .axes = {0, 2}}); }, true, true);
  add_transform(
      cases, "rfft2(, dim=(1, 0))", {{{5, 4, 3}}},
      [](auto& x) { return rfft2(x, {.axes = {1, 0}}); }, false, true);
  add_transform(
      cases, "irfft2(, s=(4, 7))", {{{2, 4, 5, 2}}},
      [](auto& x) { return irfft2(x, {.s = {4, 7}}); }, true, false);
}

}  // namespace

void add_functions(std::vector<Case>& cases) {
  add_short_forms(cases);
  add_indexing(cases);
  add_statistics(cases);
  add_elementwise(cases);
  add_products(cases);
  add_linear_algebra(cases);
  add_transforms(cases);
}

}  // namespace trireme::conformance
