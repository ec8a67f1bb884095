#pragma once

// TLS handshakes that fail: strangers, who have no certificate of the job's authority.

#include <cstdint>

namespace trireme::distributed {

// From the first call on those of this process are counted; server_credentials() makes it. gRPC
// tells nobody of them but its log (grpc/grpc issue 38665), and a process has one log: so it has
// one count, too.
void count_failed_handshakes();
// Whichever side has begun them. Connections that end before they say anything are none.
std::uint64_t failed_handshakes();

}  // namespace trireme::distributed
