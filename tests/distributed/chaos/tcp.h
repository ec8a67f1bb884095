#pragma once

// Raw bytes to a port and back.

#include <chrono>
#include <string>

namespace trireme::chaos {

// Connects to "10.0.0.1:80", sends the bytes, closes its side, and reads until the other side
// closes or the time is over. Returns the received bytes; nothing if no process listens there.
std::string tell(const std::string& address, const std::string& bytes,
                 std::chrono::milliseconds timeout);

}  // namespace trireme::chaos
