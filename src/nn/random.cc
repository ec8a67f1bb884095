#include "nn/random.h"

#include <array>
#include <cmath>

namespace trireme::nn {
namespace {

using Words = std::array<std::uint32_t, 4>;

std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }

Words words(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  Words c{low(position), high(position), low(stream), high(stream)};
  std::uint32_t key0 = low(seed), key1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {high(p1) ^ c[1] ^ key0, low(p1), high(p0) ^ c[3] ^ key1, low(p0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

double unit(std::uint32_t a, std::uint32_t b) { return (a >> 5) * 0x1p-27 + (b >> 6) * 0x1p-53; }

}  // namespace

double Random::uniform(std::uint64_t position) const {
  const Words w = words(seed_, stream_, position);
  return unit(w[0], w[1]);
}

double Random::normal(std::uint64_t position) const {
  const Words w = words(seed_, stream_, position);
  constexpr double kTwoPi = 6.283185307179586;
  return std::sqrt(-2 * std::log(1 - unit(w[0], w[1]))) * std::cos(kTwoPi * unit(w[2], w[3]));
}

}  // namespace trireme::nn
