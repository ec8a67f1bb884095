// Positions relative to the query, as numbers that are added to scores: first for each distance,
// [distances, heads], and then by gather for each query and key.

#include <bit>
#include <cmath>

#include "nn/sequence.h"
#include "nn/sequences.h"
#include "trireme/attention.h"
#include "trireme/functions.h"

namespace trireme::nn {

namespace {

// The smallest integer that is not below x, where x is an integer if it differs from one by
// rounding only.
double ceiling(double x) {
  const double nearest = std::round(x);
  return std::abs(x - nearest) < 1e-9 * nearest ? nearest : std::ceil(x);
}

}  // namespace

RelativeBias::RelativeBias(Layer& layer, const RelativePositions& options, std::int64_t heads,
                           DType dtype, bool before)
    : layer_(layer), options_(options), heads_(heads), dtype_(dtype), before_(before) {
  if (options.kind == RelativeKind::linear) return;
  const std::int64_t each = before ? options.buckets : options.buckets / 2;
  layer.require(options.buckets >= (before ? 2 : 4) && (before || options.buckets % 2 == 0) &&
                    options.max_distance > each / 2,
                std::to_string(options.buckets) + " buckets up to a distance of " +
                    std::to_string(options.max_distance) + " are not possible",
                "use an even number of buckets, at least 4, and a larger max_distance");
  weight_ =
      layer.parameter("relative.weight", dtype, {options.buckets, heads}, options.weight_init);
}

// Distances are the number of the key minus the number of the query.
Value RelativeBias::bucket(const Value& distance) const {
  const std::int64_t each = before_ ? options_.buckets : options_.buckets / 2;
  const std::int64_t exact = each / 2;
  const Value steps = before_ ? maximum(-distance, 0.0) : abs(distance);
  Value bucket = minimum(steps, static_cast<double>(exact));
  const double ratio = static_cast<double>(options_.max_distance) / static_cast<double>(exact);
  for (std::int64_t i = 1; i < each - exact; ++i) {
    const double power = static_cast<double>(i) / static_cast<double>(each - exact);
    const double from = ceiling(static_cast<double>(exact) * std::pow(ratio, power));
    bucket = bucket + cast(steps >= from, {.dtype = DType::i64});
  }
  if (before_) return bucket;
  return trireme::where(distance > 0.0, bucket + static_cast<double>(each), bucket);
}

Value RelativeBias::by_distance(const Dim& before, const Dim& count) const {
  const auto along = [&](std::int64_t axis, const Shape& shape, DType dtype) {
    return layer_.make("iota", {{"axis", axis}, {"dtype", dtype}, {"shape", shape}});
  };
  const Value first = dim_size(along(0, {before}, DType::i64), {.dtype = DType::i64}) - 1.0;
  const Value distance = along(0, {count}, DType::i64) - first;
  if (weight_) return gather(weight_, bucket(distance));
  const double whole = static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(heads_)));
  const Shape shape{count, heads_};
  const Value head = along(1, shape, dtype_);
  const Value power = trireme::where(head < whole, (head + 1.0) * (-8 / whole),
                                     ((head - whole) * 2.0 + 1.0) * (-4 / whole));
  const Value steps =
      broadcast(cast(abs(distance), {.dtype = dtype_}), {.shape = shape, .axes = {0}});
  return -steps * exp(power * std::log(2.0));
}

Value RelativeBias::bias(const Dim& queries, const Dim& keys) const {
  const Value of_distance = by_distance(queries, queries + keys);
  const Shape shape{queries, keys};
  const auto along = [&](std::int64_t axis) {
    return layer_.make("iota", {{"axis", axis}, {"dtype", DType::i64}, {"shape", shape}});
  };
  const Value last = dim_size(along(0), {.axes = {0}, .dtype = DType::i64}) - 1.0;
  const Value of_each = gather(of_distance, along(1) - along(0) + last);
  return transpose(of_each, {.permutation = {2, 0, 1}});
}

Value RelativeBias::bias_of(const Value& distance, std::int64_t limit) const {
  const Value of_distance = by_distance(limit, 2 * limit);
  const Value of_each = gather(of_distance, distance + static_cast<double>(limit - 1));
  return unsqueeze(transpose(of_each, {.permutation = {0, 2, 1}}), 2);
}

}  // namespace trireme::nn
