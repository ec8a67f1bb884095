#pragma once

#include <cstdint>

namespace trireme::nn {

// Random numbers by position: Philox4x32-10 (Salmon et al. 2011) keyed by seed and stream. The same
// words as ops/philox.h, which this room may not include.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  double uniform(std::uint64_t position) const;  // in [0, 1), 53 random bits
  double normal(std::uint64_t position) const;   // mean 0, variance 1

 private:
  std::uint64_t seed_, stream_;
};

}  // namespace trireme::nn
