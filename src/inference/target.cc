#include "inference/target.h"

#include <fmt/format.h>

#include <utility>

namespace trireme::inference {
namespace {

#if defined(__x86_64__)
constexpr const char* kHere = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kHere = "aarch64";
#else
constexpr const char* kHere = "of another architecture";
#endif

// The first feature of the processor that code for `target` may use and that is not there.
std::string missing_feature(const std::string& target) {
#if defined(__x86_64__)
  const std::pair<const char*, bool> v3[] = {{"avx2", __builtin_cpu_supports("avx2")},
                                             {"bmi", __builtin_cpu_supports("bmi")},
                                             {"bmi2", __builtin_cpu_supports("bmi2")},
                                             {"fma", __builtin_cpu_supports("fma")}};
  const std::pair<const char*, bool> v4[] = {{"avx512f", __builtin_cpu_supports("avx512f")},
                                             {"avx512bw", __builtin_cpu_supports("avx512bw")},
                                             {"avx512cd", __builtin_cpu_supports("avx512cd")},
                                             {"avx512dq", __builtin_cpu_supports("avx512dq")},
                                             {"avx512vl", __builtin_cpu_supports("avx512vl")}};
  for (const auto& [name, there] : v3) {
    if (!there) return name;
  }
  for (const auto& [name, there] : v4) {
    if (target == "x86-64-v4" && !there) return name;
  }
#else
  (void)target;
#endif
  return "";
}

}  // namespace

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all{
      {"x86-64-v3", "x86-64"}, {"x86-64-v4", "x86-64"}, {"aarch64", "aarch64"}};
  return all;
}

std::string obstacle(const std::string& target) {
  for (const Machine& machine : machines()) {
    if (target != machine.name) continue;
    if (std::string_view(machine.architecture) != kHere) {
      return fmt::format("it is for {}, and this machine is {}", target, kHere);
    }
    const std::string missing = missing_feature(target);
    if (missing.empty()) return "";
    return fmt::format("it is for {}, and this processor has no {}", target, missing);
  }
  return fmt::format("it is for \"{}\", which this version of Trireme does not know", target);
}

std::string native_target() {
  std::string best;
  for (const Machine& machine : machines()) {
    if (obstacle(machine.name).empty()) best = machine.name;
  }
  return best;
}

}  // namespace trireme::inference
