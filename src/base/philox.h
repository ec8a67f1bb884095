#pragma once

// Philox, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers:
// As Easy as 1, 2, 3", SC 2011. A number depends only on seed, stream and position, so it is equal
// on every device and for every number of threads. ops/philox.h builds the same in kernel IR.

#include <array>
#include <cstdint>
#include <string_view>

namespace trireme {

using PhiloxWords = std::array<std::uint32_t, 4>;

inline constexpr std::uint32_t kPhiloxMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr std::uint32_t kPhiloxKeyStep[2] = {0x9E3779B9u, 0xBB67AE85u};
inline constexpr int kPhiloxRounds = 10;

inline constexpr std::uint32_t kPhilox2Multiplier = 0xD256D193u;
inline constexpr std::uint32_t kPhilox2KeyStep = 0x9E3779B9u;
inline constexpr int kPhilox2Rounds = 7;  // the fewest that pass TestU01's BigCrush

PhiloxWords philox4x32_10(PhiloxWords counter, std::array<std::uint32_t, 2> key);
std::array<std::uint32_t, 2> philox2x32(std::array<std::uint32_t, 2> counter, std::uint32_t key,
                                        int rounds);

// Returns the four words of one element: counter = (position, stream), key = seed, low halves
// first.
PhiloxWords random_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);
// Returns one word of an element, at a third of the cost: the first of
// philox2x32(position ^ (0, b), a), where a and b are random_words(seed, stream, 2^64 - 1)[0, 1].
std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);
inline constexpr std::uint64_t kPhiloxKeyPosition = ~std::uint64_t{0};

// Returns the seed of a run from a seed and the number of the run (Steele et al., "Fast splittable
// pseudorandom number generators", 2014: the finalizer of SplitMix).
std::uint64_t seed_of_run(std::uint64_t seed, std::uint64_t run);

// Returns the stream of a layer or a parameter, from its name (FNV-1a).
std::uint64_t stream_named(std::string_view name);

// A number from the words of one element, with 24 random bits (for f32) or 53 (for f64).
double uniform_24(const PhiloxWords& words);  // in [0, 1)
double uniform_53(const PhiloxWords& words);
// Box-Muller, mean 0 and variance 1: the radius of words 0 and 1, the angle of words 2 and 3.
double normal_24(const PhiloxWords& words);
double normal_53(const PhiloxWords& words);

}  // namespace trireme
