#pragma once

// All events of a run and all lines of its processes, with seconds since its start: in a file,
// which is kept if the run fails.

#include <chrono>
#include <fstream>
#include <string>

namespace trireme::chaos {

// For one thread.
class RunLog {
 public:
  // `print`: also prints everything, after `label`, which distinguishes concurrent runs.
  RunLog(std::string file, bool print, std::string label)
      : file_(std::move(file)), print_(print), label_(std::move(label)), stream_(file_) {}

  void say(const std::string& text);
  double seconds() const;  // since the start
  // Copies it into a folder, which is made. Returns the path.
  std::string keep(const std::string& folder, const std::string& name);

 private:
  const std::string file_;
  const bool print_;
  const std::string label_;
  std::ofstream stream_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace trireme::chaos
