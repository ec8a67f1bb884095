#pragma once

// How many processes train together: [distributed] of a job file, and what makes sense of it whoever says it.

#include <optional>
#include <string>
#include <vector>

#include "session/job_node.h"
#include "session/job_settings.h"
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

// The first thing that training by many processes in this mode cannot keep to, by its name in [train].
std::optional<WrongSetting> wrong_training(Distribution::Mode mode, const Optimizer& optimizer,
                                           const UpdateOptions& updates);
// The same of a whole job, `root`. Errors: data, naming the line.
void check_distributed(const Node& root, const Settings& settings);
// What the job says that many processes have no use for, though results are the same: "train.evaluate_every (job.toml:12)".
std::vector<std::string> unused_distributed(const Node& root, const Settings& settings);

}  // namespace trireme::job
