#pragma once

// Who takes part: processes of a role, each there as long as its lease lives, and numbered places
// among them.

#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/lease_keeper.h"

namespace trireme::distributed {

struct Member {
  std::string id;           // one name for each process of a role, not used again
  std::string address;      // where it can be reached
  std::int64_t joined = 0;  // revision: larger for who came later
};

class Membership {
 public:
  // `prefix` is the job's: "job/". The store outlives the object.
  Membership(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  // Joins, until the lease ends. Again with the same lease changes nothing but the address. Errors:
  // usage, if another process has the id, or a name has '/' or nothing in it; not_found, if the
  // lease has ended.
  void join(const std::string& role, const std::string& id, const std::string& address,
            const LeaseKeeper& lease);
  void leave(const std::string& role, const std::string& id, const LeaseKeeper& lease);
  // The first that came first.
  std::vector<Member> members(const std::string& role);

  // The first place of `count` that nobody has, from 0: a process's number among those of its role,
  // as servers have. The one that the lease has already, if it does; nothing if all are taken.
  // `name`: of the process, for forget().
  std::optional<int> claim_place(const std::string& role, int count, const LeaseKeeper& lease,
                                 const std::string& name = "") {
    return claim_place(role, 0, count, lease, name);
  }
  // The same among those from `first` to before `end`.
  std::optional<int> claim_place(const std::string& role, int first, int end,
                                 const LeaseKeeper& lease, const std::string& name = "");
  // This very place, for who has had it until its lease ended. Whether nobody else has it by now.
  bool claim_again(const std::string& role, int place, const LeaseKeeper& lease,
                   const std::string& name = "");
  // Whether all of the first `count` places are somebody's.
  bool all_taken(const std::string& role, int count);
  // Ends the lease of a member with this id, or of who has claimed a place by this name: of a
  // process that is known to have ended, so that nobody waits for its lease. Whether there was one.
  bool forget(const std::string& role, const std::string& name);

 private:
  std::string key(const char* kind, const std::string& role, const std::string& name) const;

  Store& store_;
  const std::string prefix_;
};

}  // namespace trireme::distributed
