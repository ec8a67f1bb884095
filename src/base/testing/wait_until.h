#pragma once

// For tests: waits for other threads and processes, long enough for a busy machine.

#include <chrono>
#include <thread>

namespace trireme {

// Returns whether the condition becomes true within a minute.
template <class Condition>
bool wait_until(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace trireme
