#pragma once

// What the leader keeps in a checkpoint beside what servers hold: where the job was.

#include <cstdint>
#include <string>
#include <string_view>

#include "distributed/master/task_queue.h"
#include "distributed/server/protocol.h"

namespace trireme::distributed {

struct Cut {
  QueueState queue;
  std::uint64_t updates = 0;  // synchronous steps that changed something
  bool over = false;          // all tasks of all epochs were done
  std::int64_t ticks = 0;     // by which rows had grown old
  Declarations declared;      // of all servers together; its blocks are not kept
  bool operator==(const Cut&) const = default;
};

// JSON; ids of tasks as ranges. Errors of the parser: data.
std::string text_of(const Cut& cut);
Cut cut_of(std::string_view text);

}  // namespace trireme::distributed
