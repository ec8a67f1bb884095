#pragma once

// What the leader of a job says of it to all others, in one key: which servers there are and what
// each has, and who trains.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/store.h"
#include "distributed/server/client.h"

namespace trireme::distributed {

struct JobView {
  ServerView servers;
  // Of the members, as servers know it: ends when members change (synchronous jobs), or when
  // servers go back to a checkpoint.
  std::uint32_t generation = 0;
  std::uint32_t rollbacks = 0;  // how often they have: what was taken before is to be forgotten
  // Synchronous jobs: the step that all have finished, how many steps up to it have changed
  // something, and the names of the trainers by rank.
  std::uint64_t step = 0, updates = 0;
  std::vector<std::string> members;
  // By how many ticks rows have grown old, and how many the queue of tasks stood for then: ticks.h.
  std::int64_t ticks = 0, ticks_seen = 0;

  // The place of a name among the members.
  std::optional<std::uint32_t> rank_of(const std::string& name) const;
  bool operator==(const JobView&) const;
};

std::string text_of(const JobView& view);
// Errors: data, for what is none.
JobView job_view_of(const std::string& text);
inline std::string view_key(const std::string& prefix) { return prefix + "view"; }
std::optional<JobView> read_job_view(Store& store, const std::string& prefix);

}  // namespace trireme::distributed
