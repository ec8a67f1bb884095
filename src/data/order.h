#pragma once

#include <cstdint>
#include <vector>

namespace trireme::data {

// A random order of 0 ... n-1 that depends on n, seed and epoch alone: the same on every platform.
std::vector<std::int64_t> permutation(std::int64_t n, std::uint64_t seed, std::uint64_t epoch);

}  // namespace trireme::data
