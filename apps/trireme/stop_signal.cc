#include "stop_signal.h"

#include <atomic>
#include <csignal>

namespace {

// All that a signal handler may touch. Atomic, since any thread may run the handler, two threads
// even at once.
std::atomic<int> came = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void remember(int signal) {
  int none = 0;
  if (came.compare_exchange_strong(none, signal)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void handle(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

}  // namespace

StopSignals::StopSignals() { handle(remember); }
StopSignals::~StopSignals() { handle(SIG_DFL); }

bool stop_signal_came() { return came != 0; }

std::string stop_signal_name() { return came == SIGINT ? "SIGINT" : "SIGTERM"; }
