#pragma once

namespace trireme {

// The number of forks between the process that called this first and the present one. An object
// with threads keeps the number of its creation: if it differs later, this process is a child, in
// which these threads do not exist, and in which mutexes and condition variables that they used may
// be locked or wait for them. Such an object must leave all of them as they are, also without
// destroying them. Safe to call by several threads at once.
int fork_count();

}  // namespace trireme
