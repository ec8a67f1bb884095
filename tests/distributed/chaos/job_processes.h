#pragma once

// The processes of a job that `trireme launch` has started, as this machine knows them.

#include <sys/types.h>

#include <map>
#include <string>

namespace trireme::chaos {

// Those of a role by name; those that end or have only just been forked are left out.
std::map<std::string, pid_t> processes_of(pid_t launcher, const std::string& role);

}  // namespace trireme::chaos
