#pragma once

// The environment that a launcher gives a program of a user that it starts as a trainer.

#include <map>
#include <optional>
#include <string>

#include "distributed/launch/role.h"

namespace trireme::distributed {

// TRIREME_JOB_STORE and so on, and TRIREME_NUM_THREADS; without the token of the job, which all its
// processes get.
std::map<std::string, std::string> member_environment(const RoleOptions& options,
                                                      const RoleAccess& access);
// The inverse, for the environment of this process; nothing if no launcher started it. Errors:
// usage for invalid values; as secure().
std::optional<RoleOptions> launched_member();

}  // namespace trireme::distributed
