// Muon.

#include <algorithm>
#include <cmath>

#include "nn/updates.h"
#include "trireme/functions.h"

namespace trireme::nn {
namespace {

bool is_for_adamw(const Muon& options, const Slot& slot) {
  if (slot.rows || slot.p.rank() < 2) return true;
  const std::string& name = slot.parameter.get()->name;
  return std::any_of(options.adamw_parameters.begin(), options.adamw_parameters.end(),
                     [&](const std::string& pattern) { return ir::matches(pattern, name); });
}

// Returns x with singular values of about 1, by products of the smaller of x x^T and x^T x.
Value orthogonal(const Value& x, bool is_wide, int iterations) {
  constexpr double kA = 3.4445, kB = -4.775, kC = 2.0315;
  Value y = x / maximum(norm(x), 1e-7);
  for (int i = 0; i < iterations; ++i) {
    const Value square = matmul(y, y, {.transpose_a = !is_wide, .transpose_b = is_wide});
    const Value polynomial = square * kB + matmul(square, square) * kC;
    y = y * kA + (is_wide ? matmul(polynomial, y) : matmul(y, polynomial));
  }
  return y;
}

}  // namespace

void update(const Muon& options, const Updates& updates, const Slot& slot) {
  if (is_for_adamw(options, slot)) {
    Slot other = slot;
    other.settings.learning_rate *= options.adamw_factor;
    const AdamW adamw{.beta1 = options.beta1,
                      .beta2 = options.beta2,
                      .epsilon = options.epsilon,
                      .weight_decay = options.weight_decay};
    return update(adamw, updates, other);
  }
  const Value state = updates.state(slot, "muon");
  const Value m = running_mean(state, slot.g, options.momentum);
  const Value u = options.nesterov ? running_mean(m, slot.g, options.momentum) : m;
  const Shape& shape = slot.p.shape();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i].constant();
  const std::int64_t columns = shape.back().constant();
  const auto tall = static_cast<double>(rows), wide = static_cast<double>(columns);
  const double scale = options.match_rms_adamw
                           ? 0.2 * std::sqrt(std::max(tall, wide))
                           : std::sqrt(std::max(1.0, wide / std::max(tall, 1.0)));
  const Value matrix = reshape(u, {.shape = {rows, columns}});
  const Value change =
      reshape(orthogonal(matrix, rows < columns, options.iterations), {.shape = shape}) * scale;
  updates.set_parameter(slot,
                        updates.decayed(slot, options.weight_decay) - change * updates.rate(slot));
  updates.set(state, m);
}

}  // namespace trireme::nn
