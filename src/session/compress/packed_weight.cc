#include "session/compress/packed_weight.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace trireme::compression {
namespace {

// The elements of a weight, unit by unit.
std::vector<float> by_units(const Tensor& weight, int axis, std::int64_t units) {
  const float* from = weight.data<float>();
  if (axis < 0) return {from, from + weight.elements()};
  std::int64_t inner = 1;
  for (int i = axis + 1; i < weight.rank(); ++i) inner *= weight.dim(i);
  const std::int64_t outer = weight.elements() / (units * inner);
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(weight.elements()));
  for (std::int64_t u = 0; u < units; ++u) {
    for (std::int64_t o = 0; o < outer; ++o) {
      const float* run = from + (o * units + u) * inner;
      result.insert(result.end(), run, run + inner);
    }
  }
  return result;
}

float largest_of(const float* unit, std::int64_t size) {
  float largest = 0;
  for (std::int64_t i = 0; i < size; ++i) largest = std::max(largest, std::fabs(unit[i]));
  return largest;
}

// Divides each unit by its scale: its largest absolute value, or 1. Returns the different results;
// empty if there are too many, or if a product with the scale differs from its element.
std::set<float> divide(std::vector<float>& elements, PackedTensor& p, bool scaled,
                       std::size_t limit) {
  std::set<float> different;
  for (std::int64_t u = 0; u < p.units; ++u) {
    float* unit = elements.data() + u * p.rest;
    const float largest = scaled ? largest_of(unit, p.rest) : 1;
    p.scales.data<float>()[u] = largest;
    if (largest == 0) continue;  // any codes
    for (std::int64_t i = 0; i < p.rest; ++i) {
      const float ratio = unit[i] / largest;
      if (!std::isfinite(ratio) || ratio * largest != unit[i]) return {};
      unit[i] = ratio;
      different.insert(ratio);
      if (different.size() > limit) return {};
    }
  }
  if (different.empty()) different.insert(1);
  return different;
}

}  // namespace

std::int64_t PackedTensor::bytes() const {
  return static_cast<std::int64_t>(words.size_bytes() + scales.size_bytes() +
                                   table.size() * sizeof(float));
}

std::optional<PackedTensor> packed(const Tensor& weight, int axis, int max_bits) {
  PackedTensor p;
  p.axis = axis;
  p.units = axis < 0 ? 1 : weight.dim(axis);
  if (weight.elements() == 0) return std::nullopt;
  p.rest = weight.elements() / p.units;
  p.scales = Tensor(f32, {p.units});
  const std::vector<float> original = by_units(weight, axis, p.units);
  std::vector<float> elements = original;
  std::set<float> different = divide(elements, p, true, std::size_t{1} << max_bits);
  if (different.empty() && axis < 0) {  // a few numbers without a common factor
    elements = original;
    different = divide(elements, p, false, std::size_t{1} << max_bits);
  }
  if (different.empty()) return std::nullopt;
  p.table.assign(different.begin(), different.end());
  p.bits = std::max(1, static_cast<int>(std::bit_width(p.table.size() - 1)));
  // One number, such as that of a weight of ones: the code of -1 stays free, so that 1 is bit 1.
  if (p.table.size() == 1) p.table.insert(p.table.begin(), -p.table[0]);
  std::sort(p.table.begin(), p.table.end());
  const std::int64_t codes = p.codes_of_word();
  p.words = Tensor(DType::u32, {p.units, (p.rest + codes - 1) / codes});
  auto* words = p.words.data<std::uint32_t>();
  for (std::int64_t u = 0; u < p.units; ++u) {
    const bool empty = p.scales.data<float>()[u] == 0;
    for (std::int64_t i = 0; i < p.rest && !empty; ++i) {
      const auto found = std::lower_bound(p.table.begin(), p.table.end(),
                                          elements[static_cast<std::size_t>(u * p.rest + i)]);
      const auto code = static_cast<std::uint32_t>(found - p.table.begin());
      words[u * p.words_of_unit() + i / codes] |= code << (i % codes * p.bits);
    }
  }
  p.table.resize(std::size_t{1} << p.bits, 0.0f);
  if (p.bytes() >= static_cast<std::int64_t>(weight.size_bytes())) return std::nullopt;
  return p;
}

}  // namespace trireme::compression
