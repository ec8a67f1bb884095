#pragma once

// Failed TLS handshakes: of callers without a certificate of the authority of the job.

#include <cstdint>

namespace trireme::distributed {

// The first call starts counting in this process; server_credentials() makes it. gRPC reports
// failures only in its log (grpc/grpc issue 38665). A process has one log, so it has one count.
void count_failed_handshakes();
// Counts handshakes that either side began, but not connections that end before they send anything.
std::uint64_t failed_handshakes();

}  // namespace trireme::distributed
