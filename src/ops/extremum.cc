#include "ops/extremum.h"

namespace trireme::ops {
namespace {

// A constant, also broadcast or converted.
bool is_number(const Value& x) {
  const ir::Op* op = x.get()->producer;
  while (op != nullptr && !op->has(Trait::constant) && op->operands.size() == 1 &&
         (op->has(Trait::broadcast) || op->has(Trait::reshape))) {
    op = op->operands[0]->producer;
  }
  return op != nullptr && op->has(Trait::constant);
}

}  // namespace

// Compares one operand with the result where that is enough, so that relu need not keep the other.
void extremum_of_two_gradient(GradientContext& c, bool is_maximum) {
  const Value a = c.operand(0), b = c.operand(1), g = c.gradient(), result = c.result();
  const Value zero = filled_like(g, 0);
  const auto loses = [&](const Value& x) { return is_maximum ? x < result : result < x; };
  if (is_number(b)) {
    const Value a_wins = loses(b);
    if (c.needs_gradient(0)) c.accumulate(0, trireme::where(a_wins, g, zero));
    if (c.needs_gradient(1)) c.accumulate(1, trireme::where(a_wins, zero, g));
    return;
  }
  if (is_number(a)) {
    const Value b_wins = loses(a);
    if (c.needs_gradient(0)) c.accumulate(0, trireme::where(b_wins, zero, g));
    if (c.needs_gradient(1)) c.accumulate(1, trireme::where(b_wins, g, zero));
    return;
  }
  const Value half = g * 0.5;
  const auto share = [&](const Value& mine, const Value& other) {
    return trireme::where(loses(other), g, trireme::where(loses(mine), zero, half));
  };
  if (c.needs_gradient(0)) c.accumulate(0, share(a, b));
  if (c.needs_gradient(1)) c.accumulate(1, share(b, a));
}

}  // namespace trireme::ops
