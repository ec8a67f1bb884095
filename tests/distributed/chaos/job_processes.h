#pragma once

// The processes of a job that `trireme launch` started, on this machine.

#include <sys/types.h>

#include <map>
#include <string>

namespace trireme::chaos {

// Those of a role by name, without ones that end or were just forked.
std::map<std::string, pid_t> processes_of(pid_t launcher, const std::string& role);

}  // namespace trireme::chaos
