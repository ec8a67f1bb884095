#pragma once

// The keys in which the leader of a job with servers notes its unfinished work, so that it, or the
// next leader, can finish it.

#include <string>

namespace trireme::distributed {

// With any value: servers return to a checkpoint.
inline std::string rolling_key(const std::string& job) { return job + "rolling-back"; }
// A change of the slot map, as map_after() reads it.
inline std::string moving_key(const std::string& job) { return job + "moving"; }
// With any value: earlier servers may still have slots and blocks that have moved.
inline std::string leftovers_key(const std::string& job) { return job + "leftovers"; }

}  // namespace trireme::distributed
