#include "writers.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace trireme::chaos {

using namespace distributed;

namespace {

constexpr Milliseconds kPause{50}, kLong{100};

double between(std::chrono::steady_clock::time_point from,
               std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Writer::Writer(std::unique_ptr<Store> store, std::string key)
    : store_(std::move(store)), key_(std::move(key)), thread_([this] { run(); }) {}

void Writer::run() {
  bool away = false;
  for (long long count = 0; !stop_; std::this_thread::sleep_for(kPause)) {
    const auto start = std::chrono::steady_clock::now();
    try {
      store_->put(key_, std::to_string(++count));
    } catch (const Unavailable&) {
      away = true;
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!std::exchange(away, false) && now - start < kLong) continue;
    const std::chrono::nanoseconds time = now.time_since_epoch();
    std::printf("writes %lld\n", static_cast<long long>(time.count()));
    std::fflush(stdout);
  }
}

Writer::~Writer() {
  stop_ = true;
  thread_.join();
}

void WriterWatch::away(const std::vector<std::string>& names) {
  give_up();
  waited_for_ = {names.begin(), names.end()};
  away_ = Steady::now();
  back_.reset();
  last_ = 0;
}

bool WriterWatch::hear(const std::string& name, const std::string& line) {
  long long time = 0;
  if (std::sscanf(line.c_str(), "writes %lld", &time) != 1) return false;
  const Steady::time_point when{std::chrono::nanoseconds(time)};
  if (when < away_ || waited_for_.erase(name) == 0) return true;
  if (back_) last_ = std::max(last_, between(*back_, when));
  if (waited_for_.empty()) waits_.push_back(last_);
  return true;
}

void WriterWatch::give_up() {
  if (!waited_for_.empty() && back_) waits_.push_back(between(*back_, Steady::now()));
  waited_for_.clear();
}

}  // namespace trireme::chaos
