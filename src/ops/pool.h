#pragma once

// What max and average pooling and their gradients share. All work by pulling: a result element
// visits the taps of its window, an element of a gradient the windows that cover it. Both numbers
// are constants, so the visits are unrolled into one expression.

#include <functional>

#include "ops/window.h"

namespace trireme::ops {

// The result type [N, C, P, Q] of sliding the window of `c.attributes` over operand 0.
Type pooled_type(const TypeContext& c);
// The type of the image, from operand 0 [N, C, P, Q] and attribute `size`.
Type unpooled_type(const TypeContext& c);

// One tap (r, s) of the window of the element being lowered.
struct Tap {
  std::int64_t number;        // r * S + s
  std::vector<ExprId> index;  // in the image
  ExprId inside;              // whether it is in the image; kNoExpr: always
};
std::vector<Tap> taps_of(Lowering& l);

// A window that may cover the image element being lowered.
struct Cover {
  std::vector<ExprId> index;  // of the window
  ExprId tap;                 // r * S + s, i64: as which tap it covers the element
  ExprId covers;              // whether there is such a window; kNoExpr: always
};
std::vector<Cover> covers_of(Lowering& l);

// Calls f(index of the window, number of the tap, index in the image) for every tap that is inside.
void for_each_tap(const Window& window, const Index& image, const Index& windows,
                  const std::function<void(const Index&, std::int64_t, const Index&)>& f);

struct PoolCase {
  std::vector<std::int64_t> x, kernel, stride, padding{0, 0, 0, 0};
  std::vector<std::int64_t> y() const;
  Attributes attributes() const;
  Attributes gradient_attributes() const;  // with `size`
};
std::vector<PoolCase> pool_cases();

}  // namespace trireme::ops
