#include "stop_signal.h"

#include <atomic>
#include <csignal>

namespace {

// The signal received first, 0 before that. Lock-free, so that a signal handler may use it. Atomic,
// because any thread may run the handler, even two threads at once.
std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void record_signal(int signal) {
  int none = 0;
  if (received.compare_exchange_strong(none, signal)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void handle(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

}  // namespace

StopSignals::StopSignals() { handle(record_signal); }
StopSignals::~StopSignals() { handle(SIG_DFL); }

int stop_signal() { return received; }

std::string stop_signal_name() { return received == SIGINT ? "SIGINT" : "SIGTERM"; }
