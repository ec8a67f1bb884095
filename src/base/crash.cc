#include "trireme/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace trireme {

#ifdef TRIREME_SANITIZED

void report_crashes(const char*) {}

#else

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kMaxCalls = 64;

const char* program_name = "";

// A stack of its own, because the first one may be used up.
alignas(16) std::array<std::byte, 64 * 1024> crash_stack;

void print(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(2, text, std::strlen(text));
}

void print_number(int number) {
  char digits[12];
  std::size_t at = sizeof digits;
  digits[--at] = '\0';
  do digits[--at] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  print(digits + at);
}

// Calls only functions that a handler may call; backtrace() has been called before, so that it
// loads no library here.
void on_crash(int signal) {
  print(program_name);
  print(": signal ");
  print_number(signal);
  print(" ended this process. This is a bug; please report it with these lines:\n");
  void* calls[kMaxCalls];
  ::backtrace_symbols_fd(calls, ::backtrace(calls, kMaxCalls), 2);
  ::raise(signal);  // SA_RESETHAND: as without this handler
}

}  // namespace

void report_crashes(const char* program) {
  program_name = program;
  void* calls[1];
  ::backtrace(calls, 1);
  stack_t stack{};
  stack.ss_sp = crash_stack.data();
  stack.ss_size = crash_stack.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

#endif

}  // namespace trireme
