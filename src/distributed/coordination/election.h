#pragma once

// Elects one leader at a time among candidates. A leader may be disconnected without knowing it. So
// it writes to the store only under guard(), and sends its epoch with every command; receivers
// refuse lower epochs.

#include <optional>
#include <string>

#include "distributed/coordination/lease_keeper.h"
#include "trireme/error.h"

namespace trireme::distributed {

struct Leader {
  std::string name;        // set by the leader, such as its address
  std::int64_t epoch = 0;  // larger than those of all earlier leaders
};

// Another leader has been elected: commands of this one have no effect any more.
class Deposed : public Error {
 public:
  Deposed() : Error(ErrorKind::io, "another master leads by now") {}
};

// Throws the reason why a transaction of a leader was refused. Deposed if the guard does not hold
// (no guard: it holds). Otherwise Unavailable with `what`: another key differs from the read state,
// for instance because an unanswered change arrived late; the caller reads it again.
[[noreturn]] void fail_refused(Store& store, const std::optional<Condition>& guard,
                               const std::string& what);

class Election {
 public:
  // Objects with one `key` belong to one election. The store outlives the object.
  Election(Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  // Returns the current leader.
  std::optional<Leader> leader();
  // Tries to become leader with this lease until it succeeds or the time is over. A leader stays
  // leader until its lease ends or it resigns. Errors: as Store; not_found if the lease has ended.
  std::optional<Leader> campaign(const std::string& name, const LeaseKeeper& lease,
                                 Milliseconds timeout);
  // The condition that every transaction of the leader must contain.
  Condition guard(const Leader& leader) const;
  // Returns whether it was still the leader.
  bool resign(const Leader& leader);

 private:
  Store& store_;
  const std::string key_;
};

}  // namespace trireme::distributed
