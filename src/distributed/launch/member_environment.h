#pragma once

// What a launcher tells a program of a user's that it starts as a trainer, by the program's
// environment.

#include <map>
#include <optional>
#include <string>

#include "distributed/launch/role.h"

namespace trireme::distributed {

// TRIREME_JOB_STORE and so on, and TRIREME_NUM_THREADS; without the job's token, which all its
// processes get.
std::map<std::string, std::string> member_environment(const RoleOptions& options,
                                                      const RoleAccess& access);
// The same from this process's environment; nothing, if no launcher has started it. Errors: usage,
// for what no launcher says; as secure().
std::optional<RoleOptions> launched_member();

}  // namespace trireme::distributed
