#pragma once

#include <cstdint>

#include "base/philox.h"

namespace trireme::data {

// The random numbers of one example. The n-th depends only on seed, stream, example and n.
class ExampleRandom {
 public:
  ExampleRandom(std::uint64_t seed, std::uint64_t stream, std::int64_t example)
      : seed_(seed), stream_(stream), position_(static_cast<std::uint64_t>(example) << 16) {}

  PhiloxWords words() { return random_words(seed_, stream_, position_++); }
  double uniform() { return uniform_53(words()); }  // in [0, 1)
  double normal() { return normal_53(words()); }
  // In [0, n); the bias is below n / 2^53.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_;
};

// One stream for each epoch and place in a chain of augmentations.
inline std::uint64_t random_stream(std::int64_t epoch, std::uint64_t stage) {
  return static_cast<std::uint64_t>(epoch) << 16 | (stage & 0xffff);
}

}  // namespace trireme::data
