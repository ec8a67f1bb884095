#pragma once

// Shared by the benchmark programs: clock, synthetic numbers, peak memory, lists in JSON.
// compare/batches.py is the same for the peers.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <trireme/tensor.h>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Number i of stream `seed`, in [0, 1) and a multiple of 2^-24: splitmix64 (Steele et al. 2014).
inline float uniform(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = (seed << 40U) + (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  z ^= z >> 31U;
  return static_cast<float>(z >> 40U) / 16777216.0F;
}

// A tensor with element i = make(uniform(seed, i)).
template <class T, class Make>
trireme::Tensor made_up(std::vector<std::int64_t> shape, std::uint64_t seed, const Make& make) {
  trireme::Tensor result = trireme::Tensor::uninitialized(trireme::dtype_of<T>, std::move(shape));
  T* data = result.data<T>();
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    data[i] = static_cast<T>(make(uniform(seed, static_cast<std::uint64_t>(i))));
  }
  return result;
}

struct Timing {
  double first_step_seconds = 0;
  double steps_per_second = 0;
};

// Calls step(i) for i = 0, 1 ... The first quarter of the time, and at least 3 steps, is warm-up.
// The rest is cut into 3 or more windows of at least 0.2 s each, and the result is their median.
template <class Step>
Timing measure(double seconds, const Step& step) {
  std::int64_t i = 0;
  const auto run = [&](double min_seconds, int min_steps) {
    const double start = now();
    int count = 0;
    while (count < min_steps || now() - start < min_seconds) {
      step(i++);
      ++count;
    }
    return count / (now() - start);
  };
  Timing timing;
  timing.first_step_seconds = 1 / run(0, 1);
  run(seconds / 4, 2);
  std::vector<double> rates;
  const double end = now() + seconds * 0.75;
  while (rates.size() < 3 || now() < end) rates.push_back(run(0.2, 1));
  std::sort(rates.begin(), rates.end());
  timing.steps_per_second = rates[rates.size() / 2];
  return timing;
}

// The peak memory of this process in MB; 0 if /proc does not have it.
inline double peak_memory_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024 / 1e6;
  }
  return 0;
}

inline std::string list(const std::vector<float>& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  }
  return text + "]";
}

}  // namespace bench
