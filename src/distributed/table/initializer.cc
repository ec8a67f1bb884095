#include "distributed/table/initializer.h"

#include <algorithm>
#include <cmath>

#include "base/checksum.h"
#include "base/philox.h"

namespace trireme::distributed {
namespace {

double unit(std::uint32_t word) { return (word >> 8) * 0x1p-24; }  // in [0, 1)

void four_uniform(const PhiloxWords& words, const RowInitializer& range, float* to) {
  for (std::size_t i = 0; i < 4; ++i) {
    to[i] = static_cast<float>(range.low + (range.high - range.low) * unit(words[i]));
  }
}

void four_normal(const PhiloxWords& words, const RowInitializer& shape, float* to) {
  constexpr double kTwoPi = 6.283185307179586;
  for (std::size_t i = 0; i < 4; i += 2) {
    const double radius = shape.high * std::sqrt(-2 * std::log(1 - unit(words[i])));
    const double angle = kTwoPi * unit(words[i + 1]);
    to[i] = static_cast<float>(shape.low + radius * std::cos(angle));
    to[i + 1] = static_cast<float>(shape.low + radius * std::sin(angle));
  }
}

}  // namespace

Initializer::Initializer(const RowInitializer& description, std::uint64_t seed,
                         const std::string& name)
    : description_(description), key_(seed_of_run(seed, hash64(name))) {}

void Initializer::fill(Id id, float* weights, std::size_t width) const {
  if (description_.kind == RowInitializer::Kind::zeros) {
    std::fill_n(weights, width, 0.0f);
    return;
  }
  const bool normal = description_.kind == RowInitializer::Kind::normal;
  for (std::size_t first = 0; first < width; first += 4) {
    const PhiloxWords words =
        philox4x32_10({static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32),
                       static_cast<std::uint32_t>(first / 4), 0},
                      {static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)});
    float four[4];
    (normal ? four_normal : four_uniform)(words, description_, four);
    std::copy_n(four, std::min<std::size_t>(4, width - first), weights + first);
  }
}

}  // namespace trireme::distributed
