#pragma once

// What a launcher prints: the lines of its processes, and how far the job is.

#include <chrono>
#include <string>

namespace trireme::distributed {

// What trainers have done since the job began.
struct Totals {
  double steps = 0, losses = 0;  // the sum of all steps' losses
  long long examples = 0;
};

class Progress {
 public:
  // `terminal`: one line that moves, instead of one every ten seconds.
  explicit Progress(bool terminal) : terminal_(terminal) {}

  // "progress 12 768 0.31": steps, examples and mean loss since the trainer's line before. False:
  // it is another line.
  bool take(const std::string& line);
  // What the trainers of other machines have done; replaces what was said before.
  void set_others(const Totals& others) { others_ = others; }
  const Totals& own() const { return own_; }  // by take()
  Totals all() const;                         // with others

  void say(const std::string& text);
  // The next line of how far it is, when it is time for one.
  void show(const std::string& who);
  void finish(const std::string& how);  // the last line: "done"

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(const std::string& who);

  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  Totals own_, others_, before_;  // `before_`: of all, at the line before
};

}  // namespace trireme::distributed
