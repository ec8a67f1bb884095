#pragma once

// When training writes checkpoints, how many it keeps, and when it stops early. A checkpoint is for
// continuing training (Trainer::resume); to deploy a model, save it.

#include <cstdint>
#include <optional>
#include <string>

namespace trireme {

// A validation metric to watch.
struct Watch {
  std::string metric = {};  // "loss" or the name of a scalar metric; empty: none
  // true for accuracy, false for a loss; not set: known from the metric
  std::optional<bool> larger_better = {};
};

struct CheckpointOptions {
  std::string directory = {};  // empty: "checkpoints" in the run folder; without a run folder, none
  bool every_epoch = true;     // at the end of every epoch
  std::int64_t every_steps = 0;  // also after this many steps; 0: off
  double every_seconds = 0;      // also when the last one is this old; 0: off
  int keep = 3;                  // how many of the newest to keep; 0: all
  Watch best = {};  // also writes one when this metric is the best so far, and keeps that one
};

// Ends training when the watched metric has not improved by more than min_delta in `patience`
// evaluations in a row.
struct EarlyStopping {
  Watch watch = {};
  int patience = 5;
  double min_delta = 0;
};

}  // namespace trireme
