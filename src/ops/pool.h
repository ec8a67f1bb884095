#pragma once

// Common code of max and average pooling and their gradients. All compute by pulling: an element of
// the result visits the taps of its window, and an element of a gradient visits the windows that
// cover it. Both counts are constants, so the visits are unrolled into one expression.

#include <functional>

#include "ops/window.h"

namespace trireme::ops {

// Returns the type [N, C, P, Q] of sliding the window of `c.attributes` over operand 0.
Type pooled_type(const TypeContext& c);
// Returns the type of the image, from operand 0 [N, C, P, Q] and attribute `size`.
Type unpooled_type(const TypeContext& c);

// One tap (r, s) of the window of the result element.
struct Tap {
  std::int64_t number;        // r * S + s
  std::vector<ExprId> index;  // position in the image
  ExprId inside;              // whether it is in the image; kNoExpr: always
};
std::vector<Tap> taps_of(Lowering& l);

// A window that may cover the image element that is computed.
struct Cover {
  std::vector<ExprId> index;  // position of the window
  ExprId tap;                 // i64 r * S + s of the tap that covers the element
  ExprId covers;              // whether the window exists; kNoExpr: always
};
std::vector<Cover> covers_of(Lowering& l);

// Calls f(index of the window, number of the tap, index in the image) for every tap inside the
// image.
void for_each_tap(const Window& window, const Index& image, const Index& windows,
                  const std::function<void(const Index&, std::int64_t, const Index&)>& f);

// The rule for Op::flops: one operation for each tap of each window.
Dim pooling_flops(const ir::Op& op);

struct PoolCase {
  std::vector<std::int64_t> x, kernel, stride, padding{0, 0, 0, 0};
  std::vector<std::int64_t> y() const;
  Attributes attributes() const;
  Attributes gradient_attributes() const;  // with `size`
};
std::vector<PoolCase> pool_cases();

}  // namespace trireme::ops
