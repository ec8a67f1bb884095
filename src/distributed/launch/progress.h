#pragma once

// The output of a launcher: the lines of its processes, and the progress of the job.

#include <chrono>
#include <string>

namespace trireme::distributed {

// The progress of trainers since the start of the job.
struct Totals {
  double steps = 0, losses = 0;  // `losses`: sum over all steps
  long long examples = 0;
};

class Progress {
 public:
  // `terminal`: one line that is redrawn, instead of one every ten seconds.
  explicit Progress(bool terminal) : terminal_(terminal) {}

  // Parses "progress 12 768 0.31": steps, examples and mean loss since the last such line of the
  // trainer. Returns false for another line.
  bool take(const std::string& line);
  // Replaces the progress of trainers of other launchers.
  void set_others(const Totals& others) { others_ = others; }
  const Totals& own() const { return own_; }  // of take()
  Totals all() const;                         // with the others

  void say(const std::string& text);
  // Prints the next line of progress when it is due.
  void show(const std::string& who);
  void finish(const std::string& how);  // the last line: "done"

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(const std::string& who);

  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  Totals own_, others_, before_;  // `before_`: of all at the last line
};

}  // namespace trireme::distributed
