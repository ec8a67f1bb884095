#include "stop_signal.h"

#include <csignal>

namespace {

// All that a signal handler may touch.
volatile std::sig_atomic_t came = 0;

extern "C" void remember(int signal) {
  if (came != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  came = signal;
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
