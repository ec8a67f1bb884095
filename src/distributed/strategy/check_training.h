#pragma once

// What a Trainer is to be made with, for a strategy that cannot keep to all of it.

#include "trireme/job.h"
#include "trireme/trainer.h"

namespace trireme::distributed {

// Errors: usage, naming what processes in this mode cannot keep to: job::wrong_training.
void check_training(Distribution::Mode mode, const TrainerOptions& options);

}  // namespace trireme::distributed
