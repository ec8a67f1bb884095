#pragma once

// All that happens in a run and all that its processes say, with the seconds since it began: in a
// file, which is kept if the run has gone wrong.

#include <chrono>
#include <fstream>
#include <string>

namespace trireme::chaos {

// One thread calls all functions.
class RunLog {
 public:
  // `print`: everything is printed, too, behind `label`, which tells runs at the same time from
  // each other.
  RunLog(std::string file, bool print, std::string label)
      : file_(std::move(file)), print_(print), label_(std::move(label)), stream_(file_) {}

  void say(const std::string& text);
  double seconds() const;  // since the beginning
  // Copies it into a folder, which is made. The path there.
  std::string keep(const std::string& folder, const std::string& name);

 private:
  const std::string file_;
  const bool print_;
  const std::string label_;
  std::ofstream stream_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace trireme::chaos
