#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace trireme {

// Shows the progress of an epoch: on a terminal, a line that is redrawn ten times a second;
// otherwise plain lines every ten seconds and at the end of each epoch.
class Progress {
 public:
  Progress(bool shown, int epochs, std::int64_t steps);

  void begin_epoch(int epoch);
  // Call it after a step. It calls `numbers` only if it draws.
  template <class Numbers>
  void step(std::int64_t step, std::int64_t examples, Numbers numbers) {
    if (shown_ && due()) draw(step, examples, numbers());
  }
  // `numbers` of the whole epoch, and the results of validation, which may be empty.
  void end_epoch(std::int64_t examples, const std::string& numbers, const std::string& validation);

 private:
  bool due() const;
  void draw(std::int64_t step, std::int64_t examples, const std::string& numbers);
  double seconds() const;
  void clear_line();

  bool shown_;
  bool terminal_;
  int epochs_;
  std::int64_t steps_;
  int epoch_ = 0;
  bool drawn_ = false;  // the last line of the terminal is ours
  std::chrono::steady_clock::time_point begin_, next_;
};

// Parts of the line, separate for tests.
std::string progress_bar(double share, int width);
std::string duration_text(double seconds);  // "0:03", "1:02:03"

}  // namespace trireme
