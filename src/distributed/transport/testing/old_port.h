#pragma once

#include <thread>

#include "base/error.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed::testing {

// Returns the result of make(), which listens at a port that was used before. The port may be in
// use for a moment, for instance by an old connection to it.
template <class Make>
auto at_old_port(const Make& make) {
  for (int attempt = 0;; ++attempt) {
    try {
      return make();
    } catch (const Error&) {
      if (attempt == 100) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

}  // namespace trireme::distributed::testing
