#pragma once

// Threads that move data while others compute: they need little of a core, but at once.

#include <cstdint>

namespace trireme::distributed {

// As long as it lives, the thread that made it, and all that it starts, are woken before threads
// that compute: they ask the scheduler for short slices (Linux 6.12 and later; without effect
// elsewhere). It gives no more of a core to anybody.
class Prompt {
 public:
  Prompt();
  ~Prompt();
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

 private:
  std::uint64_t before_ = 0;  // ns; 0: as it was
};

}  // namespace trireme::distributed
