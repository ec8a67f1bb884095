#pragma once

// The processes of a job, each during the lifetime of its lease, and numbered places among those of
// a role. Keys below the prefix of the job:
//
// - process/ROLE/NAME: a ProcessEntry
// - place/ROLE/2: the name of the process that has this place

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/lease_keeper.h"

namespace trireme::distributed {

struct ProcessEntry {
  std::string name;  // unique among the processes of a role, never reused
  std::string role;
  std::string host = {};
  std::int64_t pid = 0;
  std::int64_t since = 0;         // seconds of Unix time
  std::string metrics = {};       // "127.0.0.1:41234", address of its pages
  std::optional<int> place = {};  // of a parameter server
  std::string address = {};       // for connections of other processes
  // Of a parameter server: differs between processes, also if one gets the address of another. Its
  // first lease is such a number.
  std::int64_t instance = 0;
  bool active = true;       // takes part in the work of its role
  std::int64_t joined = 0;  // revision: larger for later ones; set by readers

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("name", name);
    visit("role", role);
    visit("host", host);
    visit("pid", pid);
    visit("since", since);
    visit("metrics", metrics);
    visit("place", place);
    visit("address", address);
    visit.defaulted("instance", instance);
    visit("active", active);
  }
};
std::string text_of(const ProcessEntry& entry);
// Errors: data, with the key.
ProcessEntry process_of(const std::string& key, const std::string& text);

class ProcessRegistry {
 public:
  // `prefix` is that of the job: "job/". The store outlives the object.
  ProcessRegistry(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  // Joins until the lease ends. A second call with the same lease changes the entry. Errors: usage
  // if another process has the name, or a name is empty or contains '/'; not_found if the lease has
  // ended.
  void join(const ProcessEntry& entry, const LeaseKeeper& lease);
  // The process is not active any more, but runs on.
  void leave(const std::string& role, const std::string& name, const LeaseKeeper& lease);
  // Returns the active processes of a role in the order of joining. Errors: data.
  std::vector<ProcessEntry> list(const std::string& role);
  // Returns all: masters first, then servers, trainers, others; by number. Errors: data.
  std::vector<ProcessEntry> list();

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
  // Claims this place, also again after the lease ended. Returns false if another process has it.
  bool claim(const std::string& role, int place, const LeaseKeeper& lease,
             const std::string& name = "");
  // Returns the taken places, in increasing order. Errors: data.
  std::vector<int> places(const std::string& role);
  // Returns whether all of the first `count` places are taken.
  bool all_taken(const std::string& role, int count);
  // Ends the lease of the process with this name, also if it only has a place. For a process that
  // has certainly ended, so that others need not wait for its lease. Returns whether there was one.
  bool forget(const std::string& role, const std::string& name);

 private:
  std::map<int, Entry> taken_places(const std::string& role);

  Store& store_;
  const std::string prefix_;
};

// The key of a place. Errors: usage.
std::string place_key(const std::string& prefix, const std::string& role, int place);
// The prefix of the keys of a role's processes. Errors: usage.
std::string process_prefix(const std::string& prefix, const std::string& role);

}  // namespace trireme::distributed
