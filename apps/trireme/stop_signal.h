#pragma once

#include <string>

// While an object exists, the first SIGINT or SIGTERM is recorded and does not end the process; a
// second one ends it at once. Only one object may exist at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

int stop_signal();               // 0 before
std::string stop_signal_name();  // "SIGINT" or "SIGTERM"
