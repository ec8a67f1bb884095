#pragma once

// For tests of this room: random operands, and calls on 1, 2 and 3 threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/call.h"
#include "kernels/library.h"

namespace trireme::kernels {

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

// Runs the kernel of the call on the operands (all tensors but the last) and returns the result. It
// must be equal to the bit on 1, 2 and 3 threads and in a second run.
template <class T>
std::vector<T> run_call(const std::string& kernel, const Call& call,
                        const std::vector<const void*>& operands) {
  const Prepare prepare = find(kernel);
  if (prepare == nullptr) throw std::runtime_error("no kernel " + kernel);
  const auto count = static_cast<std::size_t>(elements(call.tensors.back().shape));
  std::vector<T> first;
  for (const int threads : {1, 2, 3, 2}) {
    const auto device = device::make_cpu_device(threads);
    const std::unique_ptr<KernelInstance> prepared = prepare(call);
    const std::size_t bytes = prepared->workspace_bytes(threads);
    const auto release = [&](void* memory) { device->release(memory, bytes); };
    const std::unique_ptr<void, decltype(release)> workspace(device->allocate(bytes), release);
    std::memset(workspace.get(), 0xff,
                bytes);  // NaN, to detect reads of memory that was not written
    std::vector<T> result(count, static_cast<T>(99));
    std::vector<void*> tensors;
    for (const void* operand : operands) tensors.push_back(const_cast<void*>(operand));
    tensors.push_back(result.data());
    for (int repeat = 0; repeat < 2; ++repeat) {
      prepared->run(tensors.data(), workspace.get(), *device);
      if (first.empty()) first = result;
      EXPECT_TRUE(count == 0 || std::memcmp(first.data(), result.data(), count * sizeof(T)) == 0)
          << kernel << " differs at " << threads << " threads";
    }
  }
  return first;
}

// |a - b| relative to the size of a sum of `terms` products of numbers up to 1.
template <class T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected,
                 std::int64_t terms, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const double epsilon = sizeof(T) == 4 ? 6e-8 : 1.2e-16;
  const double tolerance = 4 * epsilon * static_cast<double>(terms + 4);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance) << what << " at " << i;
  }
}

}  // namespace trireme::kernels
