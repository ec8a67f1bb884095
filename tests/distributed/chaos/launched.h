#pragma once

// A run with the product's own trainers: `trireme launch --program` of a Program whose rows count
// (program.cc). The processes that it has started are found, killed and stopped, the launcher too
// is stopped (in which the store is), `trireme job scale` asks for other numbers of them; and at
// the end the saved model has the counts.

#include "run.h"

namespace trireme::chaos {

Outcome run_launched(const RunOptions& options);

}  // namespace trireme::chaos
