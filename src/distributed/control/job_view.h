#pragma once

// The published view of a job, in one key: the servers, their slots, and the trainers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/store.h"
#include "distributed/server/client.h"

namespace trireme::distributed {

struct JobView {
  ServerView servers;
  std::vector<std::int64_t> instances;  // ProcessEntry::instance of each of the servers
  // Of the members, as servers know it: changes with the members (synchronous jobs) and with
  // rollbacks of the servers.
  std::uint32_t generation = 0;
  std::uint32_t rollbacks = 0;  // number of rollbacks: tasks taken before are void
  // Synchronous jobs: the last step that all have finished, the number of steps up to it that
  // changed parameters, and the names of the trainers by rank.
  std::uint64_t step = 0, updates = 0;
  std::vector<std::string> members;
  // The ticks by which rows have aged, and the ticks of the queue of tasks at that time: ticks.h.
  std::int64_t ticks = 0, ticks_seen = 0;

  // The rank of a name among the members.
  std::optional<std::uint32_t> rank_of(const std::string& name) const;
  bool operator==(const JobView&) const;
};

std::string text_of(const JobView& view);
// Errors: data for another text.
JobView job_view_of(const std::string& text);
inline std::string view_key(const std::string& prefix) { return prefix + "view"; }
std::optional<JobView> read_job_view(Store& store, const std::string& prefix);

}  // namespace trireme::distributed
