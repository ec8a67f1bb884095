#pragma once

// Training with many processes: [distributed] of a job file, and checks of its settings, which
// flags share.

#include <optional>
#include <string>
#include <vector>

#include "session/job/node.h"
#include "session/job/settings.h"
#include "trireme/job.h"

namespace trireme::job {

struct WrongSetting {
  std::string key;   // "staleness", "eviction.decay"
  std::string text;  // "must be ..."
};
// Returns the first invalid setting.
std::optional<WrongSetting> wrong_setting(const Distribution& distribution);

// Errors: data with the line.
Distribution read_distribution(const Node& node);

// Returns the first setting in [train] that training with many processes does not support in this
// mode.
std::optional<WrongSetting> wrong_training(Distribution::Mode mode, const Optimizer& optimizer,
                                           const UpdateOptions& updates);
// The same for a whole job, `root`. Errors: data with the line.
void check_distributed(const Node& root, const Settings& settings);
// Returns settings that have no effect with many processes: "train.evaluate_every (job.toml:12)".
std::vector<std::string> unused_distributed(const Node& root, const Settings& settings);

}  // namespace trireme::job
