#include "inference/target.h"

#include <fmt/core.h>

#include <string_view>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace trireme::inference {
namespace {

#if defined(__x86_64__)
constexpr const char* kHere = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kHere = "aarch64";
#else
constexpr const char* kHere = "of another architecture";
#endif

// Whether the processor has all that code for `target`, of its own architecture, may use.
bool is_able(std::string_view target) {
#if defined(__x86_64__)
  if (target == "x86-64-v3") return __builtin_cpu_supports("x86-64-v3");
  const bool v4 = __builtin_cpu_supports("x86-64-v4");
  if (target == "alderlake") {
    return __builtin_cpu_supports("x86-64-v3") && __builtin_cpu_supports("avxvnni");
  }
  if (target == "x86-64-v4") return v4;
  if (target == "cascadelake") return v4 && __builtin_cpu_supports("avx512vnni");
  if (target == "sapphirerapids") {
    return v4 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512fp16") &&
           __builtin_cpu_supports("amx-int8");
  }
#elif defined(__aarch64__)
  if (target == "armv8.2-dotprod") return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#endif
  (void)target;
  return true;
}

}  // namespace

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all{{"x86-64-v3", "x86-64"},       {"alderlake", "x86-64"},
                                        {"x86-64-v4", "x86-64"},       {"cascadelake", "x86-64"},
                                        {"sapphirerapids", "x86-64"},  {"aarch64", "aarch64"},
                                        {"armv8.2-dotprod", "aarch64"}};
  return all;
}

std::string obstacle(const std::string& target) {
  for (const Machine& machine : machines()) {
    if (target != machine.name) continue;
    if (std::string_view(machine.architecture) != kHere) {
      return fmt::format("it is for {}, and this machine is {}", target, kHere);
    }
    if (is_able(target)) return "";
    return fmt::format("it is for {}, and this processor is below that level", target);
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
