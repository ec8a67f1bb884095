#pragma once

// Whether the saved model of a counting Program (program.cc) fulfils the promise of the mode of its
// job.

#include <cstdint>
#include <string>
#include <vector>

#include "hand_outs.h"
#include "roles.h"

namespace trireme::chaos {

struct Saved {
  std::vector<double> rows;  // by record
  double steps = 0;          // of the dense parameter
};
// Errors: as load_model().
Saved saved_counts(const std::string& model, std::int64_t records);

struct Expected {
  std::string mode;
  std::int64_t epochs = 0;
  int max_trainers = 0;  // at the same time
};
// Asynchronous and geo: each record and each batch is counted once in each epoch. Common steps: a
// record is counted once in each epoch, or at most as often as its task was handed out; the dense
// parameter counts steps, which have at most one batch for each trainer. `sum_error` is that of the
// dense parameter.
Verdict judge(const Saved& saved, const HandOuts& handed, const Expected& expected);
// Details of a failure: how many records were counted how often, and in which epochs whole tasks
// were counted too rarely or too often. In lines.
std::vector<std::string> described(const Saved& saved, const Expected& expected);

}  // namespace trireme::chaos
