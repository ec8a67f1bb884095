#include "distributed/launch/progress.h"

#include <fmt/core.h>

#include <cstdio>

namespace trireme::distributed {

bool Progress::take(const std::string& line) {
  long long steps = 0, examples = 0;
  double loss = 0;
  if (std::sscanf(line.c_str(), "progress %lld %lld %lf", &steps, &examples, &loss) != 3) {
    return false;
  }
  own_.steps += static_cast<double>(steps);
  own_.losses += loss * static_cast<double>(steps);
  own_.examples += examples;
  return true;
}

Totals Progress::all() const {
  return {own_.steps + others_.steps, own_.losses + others_.losses,
          own_.examples + others_.examples};
}

std::string Progress::line(const std::string& who) {
  const auto now = Clock::now();
  const Totals all = this->all();
  const double steps = all.steps - before_.steps;
  const std::string loss =
      steps > 0 ? fmt::format("{:.4g}", (all.losses - before_.losses) / steps) : "-";
  const double seconds = std::chrono::duration<double>(now - shown_).count();
  std::string text =
      fmt::format("{:6.1f} s  {} examples, {:.0f}/s  loss {}  {}",
                  std::chrono::duration<double>(now - start_).count(), all.examples,
                  static_cast<double>(all.examples - before_.examples) / seconds, loss, who);
  before_ = all;
  shown_ = now;
  return text;
}

void Progress::say(const std::string& text) {
  std::printf("%s%s\n", terminal_ ? "\r\033[K" : "", text.c_str());
  std::fflush(stdout);
}

void Progress::show(const std::string& who) {
  const auto pause = terminal_ ? std::chrono::milliseconds(500) : std::chrono::seconds(10);
  if (Clock::now() - shown_ < pause) return;
  const std::string text = line(who);
  if (!terminal_) return say(text);
  std::printf("\r\033[K%s", text.c_str());
  std::fflush(stdout);
}

void Progress::finish(const std::string& how) { say(line(how)); }

}  // namespace trireme::distributed
