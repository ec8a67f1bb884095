#pragma once

// When training writes checkpoints, which of them stay, and when it ends before its time. A
// checkpoint is for going on (Trainer::resume); to deploy a model, save it.

#include <cstdint>
#include <optional>
#include <string>

namespace trireme {

// A number of the validation to watch.
struct Watch {
  std::string metric = {};  // "loss" or the name of a metric that is one number; empty: none
  std::optional<bool> larger_better = {};  // as accuracy, unlike a loss; not set: the metric knows
};

struct CheckpointOptions {
  std::string directory = {};    // empty: "checkpoints" in the run folder; without one, none
  bool every_epoch = true;       // at the end of every epoch
  std::int64_t every_steps = 0;  // and after so many steps; 0: not
  double every_seconds = 0;      // and so long after the last one; 0: not
  int keep = 3;                  // the newest so many; 0: all
  Watch best = {};  // also writes one whenever this was never better, and keeps the best one
};

// Ends training when the watched number has not become better, by more than min_delta, in `patience`
// evaluations one after the other.
struct EarlyStopping {
  Watch watch = {};
  int patience = 5;
  double min_delta = 0;
};

}  // namespace trireme
