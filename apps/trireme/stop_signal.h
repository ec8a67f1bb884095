#pragma once

#include <string>

// While it lives, SIGINT and SIGTERM are remembered instead of ending the process; a second one
// ends it at once. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

bool stop_signal_came();
std::string stop_signal_name();  // "SIGTERM"
