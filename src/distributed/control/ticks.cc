#include "distributed/control/ticks.h"

#include <algorithm>

namespace trireme::distributed {

std::int64_t ticks_of(const Ageing& ageing, std::int64_t epoch, std::int64_t tasks,
                      std::int64_t ended) {
  const std::int64_t epochs = std::max<std::int64_t>(epoch - 1, 0);
  return ageing.tick_tasks == 0 ? epochs : (epochs * tasks + ended) / ageing.tick_tasks;
}

}  // namespace trireme::distributed
