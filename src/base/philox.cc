#include "base/philox.h"

#include <cmath>

namespace trireme {
namespace {

std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }

double normal(double u, double turn) {  // 1 - u is in (0, 1]
  constexpr double kTwoPi = 6.283185307179586;
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(kTwoPi * turn);
}

PhiloxWords second_half(const PhiloxWords& words) { return {words[2], words[3], 0, 0}; }

}  // namespace

PhiloxWords philox4x32_10(PhiloxWords c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxMultiplier[0]} * c[0];
    const std::uint64_t p1 = std::uint64_t{kPhiloxMultiplier[1]} * c[2];
    c = {high(p1) ^ c[1] ^ key[0], low(p1), high(p0) ^ c[3] ^ key[1], low(p0)};
    key = {key[0] + kPhiloxKeyStep[0], key[1] + kPhiloxKeyStep[1]};
  }
  return c;
}

std::array<std::uint32_t, 2> philox2x32(std::array<std::uint32_t, 2> c, std::uint32_t key,
                                        int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t p = std::uint64_t{kPhilox2Multiplier} * c[0];
    c = {high(p) ^ key ^ c[1], low(p)};
    key += kPhilox2KeyStep;
  }
  return c;
}

PhiloxWords random_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  return philox4x32_10({low(position), high(position), low(stream), high(stream)},
                       {low(seed), high(seed)});
}

std::uint64_t seed_of_run(std::uint64_t seed, std::uint64_t run) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (run + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  const PhiloxWords keys = random_words(seed, stream, kPhiloxKeyPosition);
  return philox2x32({low(position), high(position) ^ keys[1]}, keys[0], kPhilox2Rounds)[0];
}

std::uint64_t stream_named(std::string_view name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

double uniform_24(const PhiloxWords& words) { return (words[0] >> 8) * 0x1p-24; }

double uniform_53(const PhiloxWords& words) {
  return (words[0] >> 5) * 0x1p-27 + (words[1] >> 6) * 0x1p-53;
}

double normal_24(const PhiloxWords& words) {
  return normal(uniform_24(words), uniform_24(second_half(words)));
}

double normal_53(const PhiloxWords& words) {
  return normal(uniform_53(words), uniform_53(second_half(words)));
}

}  // namespace trireme
