// Preloaded into processes: the time of day is that of the kernel plus a difference in the file
// TRIREME_CHAOS_CLOCK, which may change at any moment. CLOCK_MONOTONIC does not change. Futex waits
// for a time of day, as in the lock library of gRPC, follow the shifted clock, as they would if the
// clock of the machine was set. pthread_cond_timedwait does not, because these processes do not use
// it.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t kSecond = 1000000000, kPiece = kSecond / 20;

const std::atomic<std::int64_t>* difference = nullptr;

std::int64_t shift() { return difference != nullptr ? difference->load() : 0; }

// The C library's function of that name, which this library hides. Several threads may look it up.
// There is no guarded static variable here: a thread that waits for the guard calls syscall(), that
// is this library again, without end.
template <class Function>
Function real(std::atomic<Function>& found, const char* name) {
  Function function = found.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
    found.store(function, std::memory_order_relaxed);
  }
  return function;
}

using SystemCall = long (*)(long, ...);
constinit std::atomic<SystemCall> found_syscall{nullptr};
SystemCall real_syscall() { return real(found_syscall, "syscall"); }

// As in the C library, mostly without a system call, because processes read the time often.
using GetTime = int (*)(clockid_t, timespec*);
constinit std::atomic<GetTime> found_gettime{nullptr};
GetTime real_gettime() { return real(found_gettime, "clock_gettime"); }

__attribute__((constructor)) void open_clock() {
  const char* const name = std::getenv("TRIREME_CHAOS_CLOCK");
  const int file = name != nullptr ? ::open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* const mapped = ::mmap(nullptr, sizeof *difference, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped != MAP_FAILED) difference = static_cast<const std::atomic<std::int64_t>*>(mapped);
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
timespec time_of(std::int64_t nanoseconds) {
  return {nanoseconds / kSecond, static_cast<long>(nanoseconds % kSecond)};
}

// Waits for a time of the shifted clock, which may be shifted meanwhile: in pieces, after which the
// caller repeats it.
long wait(long word, long operation, long value, const timespec& until, long mask) {
  timespec now{};
  real_gettime()(CLOCK_REALTIME, &now);
  const std::int64_t end = nanoseconds(until) - shift(), piece = nanoseconds(now) + kPiece;
  const timespec first = time_of(end < piece ? (end > 0 ? end : 0) : piece);
  const long result = real_syscall()(SYS_futex, word, operation, value, &first, nullptr, mask);
  if (result == -1 && errno == ETIMEDOUT && end > piece) errno = EINTR;
  return result;
}

}  // namespace

// Exported although the build hides symbols.
#pragma GCC visibility push(default)
extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = real_gettime()(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *time = time_of(nanoseconds(*time) + shift());
  }
  return result;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* also) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (also != nullptr) *also = now.tv_sec;
  return now.tv_sec;
}

long syscall(long number, ...) noexcept {
  long words[6];
  va_list list;
  va_start(list, number);
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  constexpr long kTimed = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
  const auto* const until = reinterpret_cast<const timespec*>(words[3]);
  if (number == SYS_futex && (words[1] & ~FUTEX_PRIVATE_FLAG) == kTimed && until != nullptr) {
    return wait(words[0], words[1], words[2], *until, words[5]);
  }
  return real_syscall()(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
#pragma GCC visibility pop
