#pragma once

// A run with the product's own trainers: `trireme launch --program` with a counting Program
// (program.cc). Its processes are found, killed and stopped; the launcher, which serves the store,
// is stopped too; `trireme job scale` changes their numbers. At the end the saved model has the
// counts.

#include "run.h"

namespace trireme::chaos {

Outcome run_launched(const RunOptions& options);

}  // namespace trireme::chaos
