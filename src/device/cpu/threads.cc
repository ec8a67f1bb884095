#include "device/cpu/threads.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme::device {

namespace {

constexpr std::int64_t kMaxThreads = 1024;

int processors_by_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The quota of control group v2, rounded up to whole processors; absent if there is none.
std::optional<int> processors_by_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) return std::nullopt;
  const std::optional<double> microseconds = parse_float(quota);  // "max": no quota
  if (!microseconds || *microseconds <= 0) return std::nullopt;
  return std::max(1, static_cast<int>((*microseconds + period - 1) / period));
}

}  // namespace

int available_processors() {
  const int by_affinity = processors_by_affinity();
  return std::min(by_affinity, processors_by_quota().value_or(by_affinity));
}

int choose_threads(int requested) {
  if (requested > kMaxThreads || requested < 0) {
    fail_usage(
        fmt::format("{} threads were requested; give a number from 1 to {}, or 0 for as many "
                    "as there are processors",
                    requested, kMaxThreads));
  }
  if (requested > 0) return requested;
  const char* text = std::getenv("TRIREME_NUM_THREADS");
  if (text == nullptr || *text == '\0') return available_processors();
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value || *value < 1 || *value > kMaxThreads) {
    fail_usage(fmt::format("TRIREME_NUM_THREADS is '{}'; it must be a number from 1 to {}", text,
                           kMaxThreads));
  }
  return static_cast<int>(*value);
}

}  // namespace trireme::device
