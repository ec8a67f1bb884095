#pragma once

// Whether what a Program that counts (program.cc) has saved is what the mode of its job promises.

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
  int most_trainers = 0;  // at the same time
};
// Asynchronous and geo: each record is counted once in each epoch, and so is each batch. Steps that
// all take together: a record is counted once in each epoch, or as often as its task was handed out
// at most; and the dense parameter counts steps, which have at most as many batches as there are
// trainers. `sum_error` is of the dense parameter.
Verdict judge(const Saved& saved, const HandOuts& handed, const Expected& expected);
// Who has to find out what went wrong: how many records were counted how often, and of which epochs
// whole tasks are among those that were counted too rarely or too often. In lines.
std::vector<std::string> described(const Saved& saved, const Expected& expected);

}  // namespace trireme::chaos
