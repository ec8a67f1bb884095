#include "hand_outs.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace trireme::chaos {

using namespace distributed;

void HandOuts::see(const Event& event) {
  if (!event.entry.key.starts_with(prefix_)) return;
  const std::string name = event.entry.key.substr(prefix_.size());
  if (name == "epoch") {
    if (!event.erased) epoch_ = std::atoll(event.entry.value.c_str());
    return;
  }
  if (event.erased) {
    tasks_.erase(name);
    return;
  }
  const std::string& text = event.entry.value;  // "p 2 1 trainer_3 data"
  const Task now{text.empty() ? 't' : text[0], text.size() < 3 ? 0 : std::atoll(text.c_str() + 2)};
  const auto [known, is_new] = tasks_.try_emplace(name, now);
  const Task before = std::exchange(known->second, now);
  // All tasks of an epoch are written before one is handed out, with the earlier attempts after a
  // rollback. A leader may write several hand-outs of a task later as one.
  const std::int64_t from = !is_new ? before.attempt : now.state == 'p' ? 0 : now.attempt;
  if (now.attempt > from) times_[{epoch_, std::atoll(name.c_str())}] += now.attempt - from;
  handed_ += std::max<std::int64_t>(now.attempt - from, 0);
  done_ += !is_new && now.state == 'd' && before.state != 'd' ? 1 : 0;
  failed_ += !is_new && now.state == 'f' && before.state != 'f' ? 1 : 0;
}

std::int64_t HandOuts::again(std::int64_t epoch, std::int64_t task) const {
  const auto found = times_.find({epoch, task}), lost = lost_.find({epoch, task});
  return std::max<std::int64_t>(found == times_.end() ? 0 : found->second - 1, 0) +
         (lost == lost_.end() ? 0 : lost->second);
}

std::int64_t HandOuts::again() const {
  std::int64_t all = handed_ - static_cast<std::int64_t>(times_.size());
  for (const auto& [task, times] : lost_) all += times;
  return all;
}

HandOutWatch::HandOutWatch(std::unique_ptr<Store> store, const std::string& job)
    : store_(std::move(store)),
      prefix_(job + "task/"),
      seen_(prefix_),
      thread_([this] { run(); }) {}

HandOutWatch::~HandOutWatch() {
  stop_ = true;
  thread_.join();
}

HandOuts HandOutWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HandOutWatch::lose(std::int64_t epoch, std::int64_t task) {
  const std::lock_guard lock(mutex_);
  seen_.lose(epoch, task);
}

HandOutWatch::Clock::time_point HandOutWatch::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void HandOutWatch::run() {
  std::unique_ptr<Watch> watch;
  while (!stop_) {
    try {
      if (!watch) watch = store_->watch(prefix_, 1);
      const Events events = watch->wait(Milliseconds(200));
      missed_ = missed_ || events.compacted;
      const std::lock_guard lock(mutex_);
      const std::int64_t before = seen_.done() + seen_.handed();
      for (const Event& event : events.events) seen_.see(event);
      if (seen_.done() + seen_.handed() > before) progress_ = Clock::now();
    } catch (const Unavailable&) {  // the watch continues afterwards
      std::this_thread::sleep_for(Milliseconds(50));
    }
  }
}

}  // namespace trireme::chaos
