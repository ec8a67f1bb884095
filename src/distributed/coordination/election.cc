#include "distributed/coordination/election.h"

namespace trireme::distributed {

void fail_refused(Store& store, const std::optional<Condition>& guard, const std::string& what) {
  if (guard && !store.commit({.when = {*guard}}).succeeded) throw Deposed();
  throw Unavailable(what);
}

std::optional<Leader> Election::leader() {
  const std::optional<Entry> entry = store_.get(key_);
  if (!entry) return std::nullopt;
  return Leader{entry->value, entry->created};
}

std::optional<Leader> Election::campaign(const std::string& name, const LeaseKeeper& lease,
                                         Milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const Outcome outcome = store_.commit({.when = {absent(key_)},
                                           .then = {Put{key_, name, lease.id()}, Get{key_}},
                                           .otherwise = {Get{key_}}});
    const Entry& entry = outcome.got.at(0).at(0);
    // An answer may have been lost, and this be the second attempt.
    const bool ours = entry.lease == lease.id() && entry.value == name;
    if (outcome.succeeded || ours) return Leader{name, entry.created};
    const auto watch = store_.watch(key_, outcome.revision + 1);
    for (bool gone = false; !gone;) {
      const auto left =
          std::chrono::duration_cast<Milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0 || lease.lost()) return std::nullopt;
      const Events events = watch->wait(std::min(left, Milliseconds(500)));
      gone = events.compacted;
      for (const Event& event : events.events)
        gone = gone || (event.erased && event.entry.key == key_);
    }
  }
}

Condition Election::guard(const Leader& leader) const {
  return {key_, Condition::Of::created, Condition::Is::equal, {}, leader.epoch};
}

bool Election::resign(const Leader& leader) {
  return store_.commit({.when = {guard(leader)}, .then = {Erase{key_}}}).succeeded;
}

}  // namespace trireme::distributed
