#include "clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace trireme::chaos {

Clock::Clock(const std::string& file) : file_(file) {
  const int opened = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (opened < 0 || ::ftruncate(opened, sizeof *nanoseconds_) != 0) fail_io("no file " + file);
  void* const mapped =
      ::mmap(nullptr, sizeof *nanoseconds_, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  ::close(opened);
  if (mapped == MAP_FAILED) fail_io("no memory for the clock of a run");
  nanoseconds_ = static_cast<std::atomic<std::int64_t>*>(mapped);
}

Clock::~Clock() { ::munmap(nanoseconds_, sizeof *nanoseconds_); }

bool Clock::has_shim() {
#ifdef TRIREME_CHAOS_SHIM
  return true;
#else
  return false;
#endif
}

std::map<std::string, std::string> Clock::environment() const {
#ifdef TRIREME_CHAOS_SHIM
  return {{"LD_PRELOAD", TRIREME_CHAOS_SHIM}, {"TRIREME_CHAOS_CLOCK", file_}};
#else
  return {};
#endif
}

void Clock::jump(double seconds) { *nanoseconds_ += static_cast<std::int64_t>(seconds * 1e9); }
double Clock::difference() const { return static_cast<double>(nanoseconds_->load()) / 1e9; }

}  // namespace trireme::chaos
