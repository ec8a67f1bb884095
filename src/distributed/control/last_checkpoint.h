#pragma once

// The last checkpoint of a job that ends before it is done: one key asks the leader for it, and the
// leader says by another one what became of it. From then on it hands out no tasks, so nothing is
// learned that is not in it.

#include <cstdint>
#include <string>

namespace trireme::distributed {

struct LastCheckpoint {
  std::int64_t checkpoint = 0;  // 0: there is none,
  std::string why = {};         // for this reason
  std::int64_t epoch = 0;       // in which the job was,
  std::int64_t done = 0;        // with so many tasks of it done,
  std::uint64_t steps = 0;      // after so many steps; 0 where trainers do not take them together
  bool operator==(const LastCheckpoint&) const = default;
};

// Why there is none though something had been learned.
inline std::string lost_since(const std::string& why) {
  return why + "; what was learned since the checkpoint before is lost";
}

// JSON. Errors of the parser: data.
std::string text_of(const LastCheckpoint& last);
LastCheckpoint last_checkpoint_of(const std::string& text);

// Any value: it is wanted.
inline std::string last_wanted_key(const std::string& prefix) {
  return prefix + "wanted/checkpoint";
}
inline std::string last_checkpoint_key(const std::string& prefix) {
  return prefix + "last-checkpoint";
}

}  // namespace trireme::distributed
