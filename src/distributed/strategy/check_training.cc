#include "distributed/strategy/check_training.h"

#include "base/error.h"
#include "session/job/distribution.h"

namespace trireme::distributed {

void check_training(Distribution::Mode mode, const TrainerOptions& options) {
  if (const auto wrong = job::wrong_training(mode, options.optimizer, options.updates)) {
    fail_usage("TrainerOptions: " + wrong->key + " " + wrong->text);
  }
}

}  // namespace trireme::distributed
