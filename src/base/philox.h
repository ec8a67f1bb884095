#pragma once

// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011. A number depends on seed, stream and position alone, so it
// is the same on every device and thread count. ops/philox.h has the same as kernel IR.

#include <array>
#include <cstdint>

namespace trireme {

using PhiloxWords = std::array<std::uint32_t, 4>;

inline constexpr std::uint32_t kPhiloxMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr std::uint32_t kPhiloxKeyStep[2] = {0x9E3779B9u, 0xBB67AE85u};
inline constexpr int kPhiloxRounds = 10;

PhiloxWords philox4x32_10(PhiloxWords counter, std::array<std::uint32_t, 2> key);

// The four words of one element: counter = (position, stream), key = seed, low halves first.
PhiloxWords random_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);

// Mixes a seed and the number of a run into the seed of that run (Steele et al., "Fast splittable
// pseudorandom number generators", 2014: the finalizer of SplitMix).
std::uint64_t seed_of_run(std::uint64_t seed, std::uint64_t run);

// From the words of one element, with 24 random bits (for f32) or 53 (for f64).
double uniform_24(const PhiloxWords& words);  // in [0, 1)
double uniform_53(const PhiloxWords& words);
// Box-Muller, mean 0 and variance 1: the radius of words 0 and 1, the angle of words 2 and 3.
double normal_24(const PhiloxWords& words);
double normal_53(const PhiloxWords& words);

}  // namespace trireme
