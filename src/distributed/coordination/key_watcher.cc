#include "distributed/coordination/key_watcher.h"

#include <utility>

namespace trireme::distributed {
namespace {

constexpr Milliseconds kStopCheck{100};  // between two looks at whether the watcher must end
constexpr Milliseconds kReadAgain{200};  // while the store is unavailable

}  // namespace

KeyWatcher::KeyWatcher(Store& store, std::string prefix, OnChange on_change)
    : store_(store), prefix_(std::move(prefix)), on_change_(std::move(on_change)) {
  thread_ = std::thread([this] { run(); });
}

KeyWatcher::~KeyWatcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::optional<Entry> KeyWatcher::get(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void KeyWatcher::wait(Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, timeout, [this] { return changes_ != waited_ || failure_ != nullptr; });
  waited_ = changes_;
}

void KeyWatcher::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void KeyWatcher::run() {
  for (;;) {
    try {
      follow();
    } catch (const Unavailable&) {  // reads everything again
    } catch (const Error&) {
      {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
      }
      wake_.notify_all();
      return;
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kReadAgain, [this] { return stop_; })) return;
  }
}

// Returns when the watch has missed changes, or at the end.
void KeyWatcher::follow() {
  const Store::Listing listing = store_.list(prefix_);
  const auto watch = store_.watch(prefix_, listing.revision + 1);
  {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    for (const Entry& entry : listing.entries) entries_.emplace(entry.key, entry);
  }
  changed();
  for (;;) {
    const Events events = watch->wait(kStopCheck);
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      for (const Event& event : events.events) {
        if (event.erased) entries_.erase(event.entry.key);
        else entries_.insert_or_assign(event.entry.key, event.entry);
      }
    }
    if (!events.events.empty()) changed();
    if (events.compacted) return;
  }
}

void KeyWatcher::changed() {
  if (on_change_) on_change_(entries_);  // this thread is the only one that writes them
  {
    const std::lock_guard lock(mutex_);
    ++changes_;
  }
  wake_.notify_all();
}

}  // namespace trireme::distributed
