#include "distributed/coordination/memory_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

bool matches(std::int64_t a, Condition::Is is, std::int64_t b) {
  switch (is) {
    case Condition::Is::equal: return a == b;
    case Condition::Is::not_equal: return a != b;
    case Condition::Is::less: return a < b;
    case Condition::Is::greater: return a > b;
  }
  return false;
}

// What the watches of a store share with it; it outlives the store while there are watches.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Entry> entries;
  std::int64_t revision = 1;
  std::deque<Event> history;
  std::int64_t first = 2;  // the first revision whose changes are all in the history
};

class MemoryWatch : public Watch {
 public:
  MemoryWatch(std::shared_ptr<Shared> shared, std::string prefix, std::int64_t from)
      : shared_(std::move(shared)),
        prefix_(std::move(prefix)),
        next_(std::max<std::int64_t>(from, 1)) {}

  Events wait(Milliseconds timeout) override {
    const auto until = Clock::now() + timeout;
    std::unique_lock lock(shared_->mutex);
    for (;;) {
      Events events = take();
      if (!events.events.empty() || events.compacted) return events;
      if (shared_->changed.wait_until(lock, until) == std::cv_status::timeout) return take();
    }
  }

 private:
  Events take() {
    Events result;
    if (next_ < shared_->first && shared_->first > 2) {
      next_ = shared_->revision + 1;
      result.compacted = true;
      return result;
    }
    const auto begin = std::lower_bound(
        shared_->history.begin(), shared_->history.end(), next_,
        [](const Event& event, std::int64_t revision) { return event.entry.modified < revision; });
    for (auto event = begin; event != shared_->history.end(); ++event) {
      if (event->entry.key.starts_with(prefix_)) result.events.push_back(*event);
    }
    next_ = shared_->revision + 1;
    return result;
  }

  std::shared_ptr<Shared> shared_;
  std::string prefix_;
  std::int64_t next_;
};

class MemoryStore : public Store {
 public:
  explicit MemoryStore(const MemoryStoreOptions& options)
      : options_(options), shared_(std::make_shared<Shared>()), expiring_([this] { expire(); }) {}

  ~MemoryStore() override {
    {
      const std::lock_guard lock(shared_->mutex);
      stop_ = true;
    }
    wake_.notify_all();
    expiring_.join();
  }

  Outcome commit(const Transaction& transaction) override {
    check(transaction);
    const std::lock_guard lock(shared_->mutex);
    end_leases();
    Outcome outcome;
    outcome.succeeded = std::all_of(transaction.when.begin(), transaction.when.end(),
                                    [&](const Condition& condition) { return holds(condition); });
    const std::vector<Action>& branch =
        outcome.succeeded ? transaction.then : transaction.otherwise;
    for (const Action& action : branch) {
      const auto* put = std::get_if<Put>(&action);
      if (put != nullptr && put->lease != 0 && !leases_.contains(put->lease)) {
        fail(ErrorKind::not_found, fmt::format("the lease {} has ended", put->lease));
      }
    }
    begin_change();
    for (const Action& action : branch) run(action, outcome);
    end_change();
    outcome.revision = shared_->revision;
    return outcome;
  }

  std::int64_t grant(std::int64_t seconds) override {
    check_lease(seconds);
    const std::lock_guard lock(shared_->mutex);
    const std::int64_t id = next_lease_++;
    leases_[id] = {std::chrono::seconds(seconds), now() + std::chrono::seconds(seconds), {}};
    wake_.notify_all();
    return id;
  }

  bool keep_alive(std::int64_t lease) override {
    const std::lock_guard lock(shared_->mutex);
    end_leases();
    const auto found = leases_.find(lease);
    if (found == leases_.end()) return false;
    found->second.ends = now() + found->second.time;
    return true;
  }

  void revoke(std::int64_t lease) override {
    const std::lock_guard lock(shared_->mutex);
    const auto found = leases_.find(lease);
    if (found != leases_.end()) end_lease(found);
  }

  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    return std::make_unique<MemoryWatch>(shared_, prefix, from);
  }

 private:
  struct Lease {
    std::chrono::seconds time;
    Clock::time_point ends;
    std::set<std::string> keys;
  };
  using Leases = std::map<std::int64_t, Lease>;

  Clock::time_point now() const { return options_.now ? options_.now() : Clock::now(); }

  bool holds(const Condition& condition) const {
    const auto found = shared_->entries.find(condition.key);
    const bool there = found != shared_->entries.end();
    const Entry none;
    const Entry& entry = there ? found->second : none;
    switch (condition.of) {
      case Condition::Of::value: {
        if (!there) return false;  // as etcd has it: there is nothing to compare
        const int order = entry.value.compare(condition.value);
        return matches(order, condition.is, 0);
      }
      case Condition::Of::created: return matches(entry.created, condition.is, condition.number);
      case Condition::Of::modified: return matches(entry.modified, condition.is, condition.number);
      case Condition::Of::version: return matches(entry.version, condition.is, condition.number);
    }
    return false;
  }

  // --- Changes: all those of one transaction have one revision.

  void begin_change() { changing_ = false; }
  std::int64_t revision_of_change() {
    if (!changing_) ++shared_->revision;
    changing_ = true;
    return shared_->revision;
  }
  void end_change() {
    if (!changing_) return;
    while (shared_->history.size() > options_.history) {
      const std::int64_t gone = shared_->history.front().entry.modified;
      while (!shared_->history.empty() && shared_->history.front().entry.modified == gone) {
        shared_->history.pop_front();
      }
      shared_->first = gone + 1;
    }
    shared_->changed.notify_all();
  }

  void run(const Action& action, Outcome& outcome) {
    if (const auto* put = std::get_if<Put>(&action)) return write(*put);
    if (const auto* get = std::get_if<Get>(&action)) return outcome.got.push_back(read(*get));
    const auto& erase = std::get<Erase>(action);
    auto at = shared_->entries.lower_bound(erase.key);
    while (at != shared_->entries.end() &&
           (erase.prefix ? at->first.starts_with(erase.key) : at->first == erase.key)) {
      remove(at++);
    }
  }

  void write(const Put& put) {
    Entry& entry = shared_->entries[put.key];
    entry.modified = revision_of_change();
    if (entry.version == 0) entry.created = entry.modified;
    ++entry.version;
    entry.key = put.key;
    entry.value = put.value;
    move_to_lease(entry, put.lease);
    shared_->history.push_back({false, entry});
  }

  void move_to_lease(Entry& entry, std::int64_t lease) {
    const auto old = leases_.find(entry.lease);
    if (old != leases_.end()) old->second.keys.erase(entry.key);
    entry.lease = lease;
    if (lease != 0) leases_.at(lease).keys.insert(entry.key);
  }

  void remove(std::map<std::string, Entry>::iterator at) {
    const auto lease = leases_.find(at->second.lease);
    if (lease != leases_.end()) lease->second.keys.erase(at->first);
    Event event{true, {}};
    event.entry.key = at->first;
    event.entry.modified = revision_of_change();
    shared_->history.push_back(std::move(event));
    shared_->entries.erase(at);
  }

  std::vector<Entry> read(const Get& get) const {
    std::vector<Entry> result;
    const bool further = get.prefix && get.after > get.key;
    auto at =
        further ? shared_->entries.upper_bound(get.after) : shared_->entries.lower_bound(get.key);
    if (get.prefix && get.after == get.key && at != shared_->entries.end() && at->first == get.key)
      ++at;
    const auto limit = static_cast<std::size_t>(get.limit);
    for (; at != shared_->entries.end(); ++at) {
      if (!(get.prefix ? at->first.starts_with(get.key) : at->first == get.key)) break;
      if (get.prefix && limit > 0 && result.size() == limit) break;
      result.push_back(at->second);
    }
    return result;
  }

  // --- Leases

  Leases::iterator end_lease(Leases::iterator lease) {
    const std::set<std::string> keys = lease->second.keys;
    begin_change();
    for (const std::string& key : keys) remove(shared_->entries.find(key));
    end_change();
    return leases_.erase(lease);
  }

  void end_leases() {
    const Clock::time_point at = now();
    for (auto lease = leases_.begin(); lease != leases_.end();) {
      lease = lease->second.ends <= at ? end_lease(lease) : std::next(lease);
    }
  }

  // Watches are notified of ended leases even if there are no calls.
  void expire() {
    std::unique_lock lock(shared_->mutex);
    while (!stop_) {
      end_leases();
      Clock::time_point next = now() + std::chrono::seconds(1);
      for (const auto& [id, lease] : leases_) next = std::min(next, lease.ends);
      // A clock of a test's own is looked at often; the other one when something ends.
      const auto timeout = options_.now ? Clock::now() + Milliseconds(5) : next;
      wake_.wait_until(lock, timeout);
    }
  }

  const MemoryStoreOptions options_;
  std::shared_ptr<Shared> shared_;
  Leases leases_;
  std::int64_t next_lease_ = 1;
  bool changing_ = false, stop_ = false;
  std::condition_variable wake_;
  std::thread expiring_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(const MemoryStoreOptions& options) {
  return std::make_unique<MemoryStore>(options);
}

}  // namespace trireme::distributed
