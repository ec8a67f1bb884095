#pragma once

// For tests: waiting for what other threads and processes do, with the patience of a busy machine.

#include <chrono>
#include <thread>

namespace trireme {

// Whether it becomes so within a minute.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace trireme
