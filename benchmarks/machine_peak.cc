// machine_peak THREADS: measures the limits of the machine and prints one JSON line: float32
// operations per second of fused multiply-adds in registers, and bytes per second, read and
// written, of copying 128 MiB per thread. The result is the best of several tries, since other
// programs can only make it slower.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "measuring.h"

namespace {

constexpr int kChains = 12;  // independent chains: enough to hide the latency of all units
constexpr int kRounds = 1 << 20;

// Computes x = x * factor + term kRounds times in kChains vectors of Lanes floats. Returning the
// sum keeps the compiler from removing the work.
#define TRIREME_CHAINS(name, Lanes, ...)                                                          \
  __VA_ARGS__ float name() {                                                                      \
    typedef float Vector __attribute__((vector_size((Lanes) * sizeof(float))));                   \
    Vector x[kChains];                                                                            \
    for (int c = 0; c < kChains; ++c) x[c] = Vector{} + static_cast<float>(c);                    \
    volatile float factor_source = 0.5F;                                                          \
    const Vector factor = Vector{} + factor_source, term = Vector{} + factor_source;              \
    for (int i = 0; i < kRounds; ++i) {                                                           \
      _Pragma("GCC unroll 12") for (int c = 0; c < kChains; ++c) { x[c] = x[c] * factor + term; } \
    }                                                                                             \
    float total = 0;                                                                              \
    for (int c = 0; c < kChains; ++c) total += x[c][0];                                           \
    return total;                                                                                 \
  }
#ifdef __x86_64__
TRIREME_CHAINS(chains16, 16, __attribute__((target("avx512f"))))
TRIREME_CHAINS(chains8, 8, __attribute__((target("avx2,fma"))))
#endif
TRIREME_CHAINS(chains4, 4)

struct Chains {
  float (*run)();
  int lanes;
};

Chains widest() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") != 0) return {chains16, 16};
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    return {chains8, 8};
  }
#endif
  return {chains4, 4};
}

// The minimum over `tries` of the seconds that `work(thread)` takes when all threads start
// together.
double min_seconds(int threads, int tries, const std::function<void(int)>& work) {
  double best = 1e9;
  for (int i = 0; i < tries; ++i) {
    std::atomic<int> waiting{threads};
    std::vector<double> begins(static_cast<std::size_t>(threads)), ends = begins;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        waiting.fetch_sub(1);
        while (waiting.load() > 0) {
        }
        begins[static_cast<std::size_t>(t)] = bench::now();
        work(t);
        ends[static_cast<std::size_t>(t)] = bench::now();
      });
    }
    for (std::thread& thread : all) thread.join();
    const double took = *std::max_element(ends.begin(), ends.end()) -
                        *std::min_element(begins.begin(), begins.end());
    best = std::min(best, took);
  }
  return best;
}

double flops_per_second(int threads) {
  const Chains chains = widest();
  std::vector<float> sums(static_cast<std::size_t>(threads));
  const double seconds =
      min_seconds(threads, 10, [&](int t) { sums[static_cast<std::size_t>(t)] = chains.run(); });
  for (const float sum : sums) {
    if (sum != sum) std::abort();
  }
  return 2.0 * chains.lanes * kChains * kRounds * threads / seconds;
}

double bytes_per_second(int threads) {
  constexpr std::size_t kBytes = 128 << 20;
  std::vector<std::unique_ptr<char[]>> from, to;
  for (int t = 0; t < threads; ++t) {
    from.push_back(std::make_unique<char[]>(kBytes));
    to.push_back(std::make_unique<char[]>(kBytes));
  }
  const double seconds = min_seconds(threads, 10, [&](int t) {
    const auto i = static_cast<std::size_t>(t);
    std::memcpy(to[i].get(), from[i].get(), kBytes);
  });
  return 2.0 * static_cast<double>(kBytes) * threads / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::cerr << "usage: machine_peak THREADS\n";
    return 2;
  }
  std::cout << "{\"threads\": " << threads << ", \"gflops\": " << flops_per_second(threads) / 1e9
            << ", \"copy_gb_per_s\": " << bytes_per_second(threads) / 1e9 << "}\n";
  return 0;
}
