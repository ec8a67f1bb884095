#pragma once

// Failed TLS handshakes: of callers without a certificate of the authority of the job.

#include <chrono>
#include <cstdint>
#include <optional>

namespace trireme::distributed {

// Limits the lines of one kind in a log: one in each interval. For one thread at a time.
class LineLimit {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LineLimit(Clock::duration interval) : interval_(interval) {}
  // Returns how many lines were left out before, if this one is due; nothing if it is left out.
  std::optional<std::uint64_t> due(Clock::time_point now);

 private:
  const Clock::duration interval_;
  std::optional<Clock::time_point> last_;
  std::uint64_t left_out_ = 0;
};

// The first call starts counting in this process; server_credentials() makes it. gRPC reports
// failures only in its log (grpc/grpc issue 38665). A process has one log, so it has one count.
void count_failed_handshakes();
// Counts handshakes that either side began, but not connections that end before they send anything.
std::uint64_t failed_handshakes();

}  // namespace trireme::distributed
