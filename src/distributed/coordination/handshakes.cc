#include "distributed/coordination/handshakes.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <utility>

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kInterval{10};  // of lines on failed handshakes

std::atomic<std::uint64_t> failed{0};

// Anybody who reaches a port can make handshakes fail, as often as the network allows.
std::optional<std::uint64_t> due_now() {
  static std::mutex mutex;
  static LineLimit limit(kInterval);
  const std::lock_guard lock(mutex);
  return limit.due(LineLimit::Clock::now());
}

// Lines that are not kept back by GRPC_VERBOSITY; errors are not by default.
void hear(gpr_log_func_args* line) {
  std::uint64_t left_out = 0;
  if (std::string_view(line->message).starts_with("Handshake failed")) {
    ++failed;
    const std::optional<std::uint64_t> due = due_now();
    if (!due) return;
    left_out = *due;
  }
  const std::string_view file(line->file);
  std::fprintf(stderr, "gRPC, %s:%d: %s\n", file.substr(file.rfind('/') + 1).data(), line->line,
               line->message);
  if (left_out > 0) {
    std::fprintf(stderr, "gRPC: %llu such lines were left out before\n",
                 static_cast<unsigned long long>(left_out));
  }
}

}  // namespace

std::optional<std::uint64_t> LineLimit::due(Clock::time_point now) {
  if (last_ && now - *last_ < interval_) {
    ++left_out_;
    return std::nullopt;
  }
  last_ = now;
  return std::exchange(left_out_, 0);
}

void count_failed_handshakes() { gpr_set_log_function(hear); }
std::uint64_t failed_handshakes() { return failed; }

}  // namespace trireme::distributed
