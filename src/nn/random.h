#pragma once

#include <cstdint>

#include "base/philox.h"

namespace trireme::nn {

// Random numbers of one seed and stream, by position.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  double uniform(std::uint64_t position) const {  // in [0, 1)
    return uniform_53(random_words(seed_, stream_, position));
  }
  double normal(std::uint64_t position) const {  // mean 0, variance 1
    return normal_53(random_words(seed_, stream_, position));
  }

 private:
  std::uint64_t seed_, stream_;
};

}  // namespace trireme::nn
