#pragma once

// The last checkpoint of a job that ends early. One key requests it from the leader, which writes
// the result to another one. From then on the leader hands out no tasks, so the checkpoint has all
// training.

#include <cstdint>
#include <string>

#include "distributed/control/order_keys.h"

namespace trireme::distributed {

struct LastCheckpoint {
  std::int64_t checkpoint = 0;  // 0: there is none,
  std::string why = {};         // for this reason
  std::int64_t epoch = 0;       // of the job,
  std::int64_t done = 0;        // completed tasks of the epoch,
  std::uint64_t steps = 0;      // steps; 0 if trainers take no common steps
  bool operator==(const LastCheckpoint&) const = default;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("checkpoint", checkpoint);
    visit("why", why);
    visit("epoch", epoch);
    visit("done", done);
    visit("steps", steps);
  }
};

// Why there is none although there was training.
inline std::string lost_since(const std::string& why) {
  return why + "; what was learned since the checkpoint before is lost";
}

// JSON. Errors of the parser: data.
std::string text_of(const LastCheckpoint& last);
LastCheckpoint last_checkpoint_of(const std::string& text);

}  // namespace trireme::distributed
