#pragma once

// One leader at a time among those that want to be it. A leader may be cut off and not know it, so
// it writes to the store only under guard(), and tells its epoch to all that it orders about, who
// refuse lower ones.

#include <optional>
#include <string>

#include "distributed/coordination/lease_keeper.h"
#include "trireme/error.h"

namespace trireme::distributed {

struct Leader {
  std::string name;        // what the leader said of itself, such as its address
  std::int64_t epoch = 0;  // larger than that of all leaders before
};

// Another leader has followed: what this one wanted is not done any more.
class Deposed : public Error {
 public:
  Deposed() : Error(ErrorKind::io, "another master leads by now") {}
};

// For a transaction of a leader that was refused. Errors, always one of: Deposed, if the guard does
// not hold (none: it does); Unavailable with `what`, if something else was not as it had been read,
// such as after a change that was not answered and came late: it is to be read again.
[[noreturn]] void fail_refused(Store& store, const std::optional<Condition>& guard,
                               const std::string& what);

class Election {
 public:
  // Elections of one `key` are one. The store outlives the object.
  Election(Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  // Who leads now.
  std::optional<Leader> leader();
  // Tries to become leader with this lease, until it succeeds or the time is over. Whoever leads
  // holds on to it until its lease ends or it resigns. Errors: as Store; not_found, if the lease
  // has ended.
  std::optional<Leader> campaign(const std::string& name, const LeaseKeeper& lease,
                                 Milliseconds most);
  // What every transaction of the leader must have among its conditions.
  Condition guard(const Leader& leader) const;
  // Whether it was still leader.
  bool resign(const Leader& leader);

 private:
  Store& store_;
  const std::string key_;
};

}  // namespace trireme::distributed
