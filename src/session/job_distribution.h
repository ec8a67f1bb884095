#pragma once

// How many processes train together: [distributed] of a job file, and what makes sense of it whoever says it.

#include <optional>
#include <string>

#include "session/job_node.h"
#include "trireme/job.h"

namespace trireme::job {

struct WrongSetting {
  std::string key;   // "staleness", "eviction.decay"
  std::string text;  // "must be ..."
};
// The first one that makes no sense.
std::optional<WrongSetting> wrong_setting(const Distribution& distribution);

// Errors: data, naming the line.
Distribution read_distribution(const Node& node);

}  // namespace trireme::job
