#pragma once

// The members of a job: processes of a role, each during the lifetime of its lease, and numbered
// places among them.

#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/lease_keeper.h"

namespace trireme::distributed {

struct Member {
  std::string id;           // unique among the processes of a role, never reused
  std::string address;      // for connections
  std::int64_t joined = 0;  // revision: larger for later members
};

class Membership {
 public:
  // `prefix` is that of the job: "job/". The store outlives the object.
  Membership(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  // Joins until the lease ends. A second call with the same lease only changes the address. Errors:
  // usage if another process has the id, or a name is empty or contains '/'; not_found if the lease
  // has ended.
  void join(const std::string& role, const std::string& id, const std::string& address,
            const LeaseKeeper& lease);
  void leave(const std::string& role, const std::string& id, const LeaseKeeper& lease);
  // Returns the members in the order of joining.
  std::vector<Member> members(const std::string& role);

  // Claims the first free place of `count`, from 0: the number of a process in its role, for
  // instance of a server. Returns the place that the lease already has, if any; nothing if all are
  // taken. `name` is the name of the process, for forget().
  std::optional<int> claim_place(const std::string& role, int count, const LeaseKeeper& lease,
                                 const std::string& name = "") {
    return claim_place(role, 0, count, lease, name);
  }
  // The same among places from `first` to before `end`.
  std::optional<int> claim_place(const std::string& role, int first, int end,
                                 const LeaseKeeper& lease, const std::string& name = "");
  // Claims this place again after the lease ended. Returns false if another process has it now.
  bool claim_again(const std::string& role, int place, const LeaseKeeper& lease,
                   const std::string& name = "");
  // Returns whether all of the first `count` places are taken.
  bool all_taken(const std::string& role, int count);
  // Ends the lease of the member with this id, or of the process that claimed a place with this
  // name. For a process that has certainly ended, so that others need not wait for its lease.
  // Returns whether there was one.
  bool forget(const std::string& role, const std::string& name);

 private:
  std::string key(const char* kind, const std::string& role, const std::string& name) const;

  Store& store_;
  const std::string prefix_;
};

}  // namespace trireme::distributed
