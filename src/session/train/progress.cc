#include "session/train/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/number_text.h"

namespace trireme {
namespace {

using std::chrono::steady_clock;

constexpr int kBarWidth = 20;
constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(10);

bool colors_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// CheckpointCoordinator UTF-8 text to `width` characters.
std::string shortened(const std::string& text, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (starts && ++characters > width) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string progress_bar(double share, int width) {
  static const char* const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * width * 8);
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += parts[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  return bar + std::string(static_cast<std::size_t>(width - used), ' ');
}

std::string duration_text(double seconds) {
  const auto total = static_cast<std::int64_t>(seconds + 0.5);
  if (total >= 3600) {
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  }
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

Progress::Progress(bool shown, int epochs, std::int64_t steps)
    : shown_(shown), terminal_(::isatty(STDERR_FILENO) == 1), epochs_(epochs), steps_(steps) {}

void Progress::begin_epoch(int epoch) {
  epoch_ = epoch;
  begin_ = steady_clock::now();
  next_ = begin_ + (terminal_ ? steady_clock::duration(kTerminalInterval)
                              : steady_clock::duration(kPlainInterval));
}

double Progress::seconds() const {
  return std::chrono::duration<double>(steady_clock::now() - begin_).count();
}

bool Progress::due() const { return steady_clock::now() >= next_; }

void Progress::clear_line() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::draw(std::int64_t step, std::int64_t examples, const std::string& numbers) {
  const double spent = seconds();
  const double share =
      static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps_, 1));
  const double left = share > 0 ? spent / share - spent : 0;
  const std::string rate = with_thousands(
      static_cast<std::int64_t>(static_cast<double>(examples) / std::max(spent, 1e-9)));
  if (terminal_) {
    std::string bar = progress_bar(share, kBarWidth);
    std::string line = fmt::format("epoch {}/{}  {}  {}/{}  {}  {} samples/s  {} left", epoch_,
                                   epochs_, bar, step, steps_, numbers, rate, duration_text(left));
    line = shortened(line, terminal_width() - 1);
    if (const auto at = line.find(bar); colors_wanted() && at != std::string::npos) {
      line = line.substr(0, at) + "\033[36m" + bar + "\033[0m" + line.substr(at + bar.size());
    }
    std::fputs(("\r\033[K" + line).c_str(), stderr);
    drawn_ = true;
  } else {
    std::fputs(fmt::format("epoch {}/{}  step {}/{}  {}  {} samples/s  {} left\n", epoch_, epochs_,
                           step, steps_, numbers, rate, duration_text(left))
                   .c_str(),
               stderr);
  }
  std::fflush(stderr);
  next_ = steady_clock::now() + (terminal_ ? steady_clock::duration(kTerminalInterval)
                                           : steady_clock::duration(kPlainInterval));
}

void Progress::end_epoch(std::int64_t examples, const std::string& numbers,
                         const std::string& validation) {
  if (!shown_) return;
  clear_line();
  const double spent = seconds();
  std::fputs(fmt::format("epoch {}/{}  {}{}  {} samples/s  {:.1f} s\n", epoch_, epochs_, numbers,
                         validation.empty() ? "" : "  |  validation " + validation,
                         with_thousands(static_cast<std::int64_t>(static_cast<double>(examples) /
                                                                  std::max(spent, 1e-9))),
                         spent)
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

}  // namespace trireme
