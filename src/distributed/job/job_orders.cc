#include "distributed/job/job_orders.h"

#include <fmt/core.h>

#include <utility>

#include "distributed/control/job_control.h"
#include "distributed/master/task_queue.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

bool OrdersState::ends() const {
  if (stopped) return true;
  if (!stop) return false;
  return stop->checkpoint.count() == 0 || !begun || last ||
         Clock::now() >= since + stop->checkpoint;
}

std::optional<LastCheckpoint> OrdersState::last_checkpoint() const {
  if (!stop || stop->checkpoint.count() == 0) return std::nullopt;
  if (last) return last_checkpoint_of(last->value);
  if (!begun) return LastCheckpoint{.why = "nothing has been learned yet"};
  return LastCheckpoint{
      .why = lost_since(fmt::format("it was not there after {} s", stop->checkpoint.count()))};
}

JobOrders::JobOrders(Store& store, const std::string& prefix, std::function<void()> on_change)
    : store_(store),
      prefix_(prefix),
      on_change_(std::move(on_change)),
      watcher_(store, orders_prefix(prefix),
               [this](const KeyWatcher::Entries& entries) { read(entries); }) {}

OrdersState JobOrders::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void JobOrders::read(const KeyWatcher::Entries& entries) {
  const auto entry = [&](const std::string& key) {
    const auto found = entries.find(key);
    return found == entries.end() ? std::nullopt : std::optional(found->second);
  };
  OrdersState next = state();
  next.wanted = entry(wanted_key(prefix_));
  next.stopped = entry(stopped_key(prefix_)).has_value();
  next.last = entry(last_checkpoint_key(prefix_));
  next.drained.clear();
  const std::string drained = drained_prefix(prefix_);
  for (auto i = entries.lower_bound(drained); i != entries.end() && i->first.starts_with(drained);
       ++i) {
    next.drained.push_back(i->second);
  }
  if (const std::optional<Entry> stop = entry(stop_key(prefix_))) {
    if (!next.stop) {
      next.begun = store_.get(TaskQueue::epoch_key(prefix_ + "task/")).has_value();
      next.since = Clock::now();
    }
    next.stop = stop_order_of(stop->value);
  }
  {
    const std::lock_guard lock(mutex_);
    state_ = std::move(next);
  }
  if (on_change_) on_change_();
}

}  // namespace trireme::distributed
