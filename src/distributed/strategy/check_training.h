#pragma once

// Checks the options of a Trainer for a strategy that does not support all of them.

#include "trireme/job.h"
#include "trireme/trainer.h"

namespace trireme::distributed {

// Errors: usage for an option that processes in this mode do not support: job::wrong_training.
void check_training(Distribution::Mode mode, const TrainerOptions& options);

}  // namespace trireme::distributed
