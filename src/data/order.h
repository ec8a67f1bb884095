#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace trireme::data {

// Returns a random order of 0 ... n-1 that depends only on n, seed and epoch, on every platform.
std::vector<std::int64_t> permutation(std::int64_t n, std::uint64_t seed, std::uint64_t epoch);

// Rows for training and for the test, both in the order of the file.
struct Parts {
  std::vector<std::int64_t> train, test;
  std::vector<std::int64_t> of(std::string_view split) const {
    return split == "test" ? test : train;
  }
};

// Holds out `test_rows` of n rows: a fixed random choice.
Parts hold_out(std::int64_t n, std::int64_t test_rows, std::uint64_t seed);

}  // namespace trireme::data
