#include <fmt/core.h>

#include <algorithm>

#include "runtime/executor.h"

namespace trireme::runtime {

namespace {

constexpr std::size_t kMaxEvents = 200'000;

std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

double Profiler::now_us() const {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_)
      .count();
}

void Profiler::record(Event event) {
  Total& total = totals_[event.name];
  total.kernel = event.kernel;
  ++total.calls;
  total.us += event.duration_us;
  total.operations += event.operations;
  operations_ += event.operations;
  if (events_.size() < kMaxEvents) events_.push_back(std::move(event));
}

std::string Profiler::chrome_trace() const {
  std::string text = "{\"traceEvents\": [";
  const char* separator = "\n";
  for (const Event& event : events_) {
    text += fmt::format(
        "{}{{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3f}, \"dur\": {:.3f}, \"name\": {}, "
        "\"args\": {{\"kernel\": {}, \"layer\": {}, \"operations\": {}}}}}",
        separator, event.start_us, event.duration_us, json_text(event.name),
        json_text(event.kernel), json_text(event.layer), event.operations);
    separator = ",\n";
  }
  return text + "\n], \"displayTimeUnit\": \"ms\"}\n";
}

std::string Profiler::table() const {
  std::vector<std::pair<std::string, Total>> rows(totals_.begin(), totals_.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.us != b.second.us ? a.second.us > b.second.us : a.first < b.first;
  });
  double sum = 0;
  for (const auto& [name, total] : rows) sum += total.us;
  std::string text = fmt::format("{:>8} {:>12} {:>10} {:>7} {:>8}  {:<22} step\n", "calls",
                                 "total ms", "mean us", "share", "Gop/s", "kernel");
  for (const auto& [name, total] : rows) {
    text += fmt::format("{:>8} {:>12.3f} {:>10.1f} {:>6.1f}% {:>8.2f}  {:<22} {}\n", total.calls,
                        total.us / 1000, total.us / static_cast<double>(total.calls),
                        sum > 0 ? 100 * total.us / sum : 0.0,
                        static_cast<double>(total.operations) / (1000 * std::max(total.us, 1e-3)),
                        total.kernel, name);
  }
  return text;
}

}  // namespace trireme::runtime
