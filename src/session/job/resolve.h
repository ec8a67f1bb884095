#pragma once

#include <string>

#include "session/job/node.h"
#include "session/job/settings.h"

namespace trireme::job {

// Returns the job as a TOML file with the defaults of all options. It reads back as the same job.
std::string resolved_text(const Node& root, const Settings& settings);

}  // namespace trireme::job
