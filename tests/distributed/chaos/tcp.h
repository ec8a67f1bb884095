#pragma once

// Bytes to a port and back, by hand.

#include <chrono>
#include <string>

namespace trireme::chaos {

// Connects to "10.0.0.1:80", sends the bytes, says that there are no more, and reads until the
// other side ends or the time is over. What was read; nothing if nobody listens there.
std::string tell(const std::string& address, const std::string& bytes,
                 std::chrono::milliseconds most);

}  // namespace trireme::chaos
