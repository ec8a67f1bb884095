#pragma once

// For threads that move data while others compute: they need little processor time, but soon.

#include <cstdint>

namespace trireme::distributed {

// While it exists, the thread that made it and the threads that this one starts run before threads
// that compute: they request short slices from the scheduler (Linux 6.12 and later; no effect
// elsewhere). They do not get more processor time.
class Prompt {
 public:
  Prompt();
  ~Prompt();
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

 private:
  std::uint64_t before_ = 0;  // ns; 0: unchanged
};

}  // namespace trireme::distributed
