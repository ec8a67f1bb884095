#pragma once

// A group whose members are threads of this process, for tests.

#include <functional>

#include "distributed/collectives/group.h"
#include "distributed/coordination/memory_store.h"

namespace trireme::distributed::testing {

// Runs `work` once for each rank of a new group, and throws the first error that a rank does not
// catch.
void run_ranks(Store& store, int ranks, const std::function<void(Group&)>& work,
               const GroupOptions& options = {});
void run_ranks(int ranks, const std::function<void(Group&)>& work,
               const GroupOptions& options = {});

}  // namespace trireme::distributed::testing
