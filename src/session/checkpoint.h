#pragma once

// Checkpoints on disk: docs/reference/formats/checkpoint.md.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/tensor.h"

namespace trireme {

// The best value so far of a watched number.
struct Best {
  double value = 0;
  std::int64_t step = 0;
};

// How far training is. An epoch or step "of the fit" counts from the fit's start.
struct Progression {
  std::uint64_t runs = 0;       // of the Session: makes the next random numbers
  std::int64_t steps = 0;       // of training, in all fits
  std::int64_t epoch = 0;       // that is read now, in all fits, from 0
  std::int64_t batch = 0;       // batches of it that are done
  std::int64_t fit_epochs = 0;  // whole epochs of the fit that are done
  std::int64_t fit_steps = 0;
  // Of the epoch that is read now, or of the last one if batch is 0: sums of value times examples.
  std::vector<std::pair<std::string, double>> sums;
  std::int64_t sum_examples = 0;
  std::optional<Best> best_checkpoint, best_stopping;
  std::int64_t waited = 0;  // evaluations since best_stopping became better
};

struct CheckpointState {
  std::string program;       // its name
  std::string program_hash;  // checksum of its text without places
  std::uint64_t seed = 0;
  std::int64_t examples = 0, batch_size = 0;  // of the data; 0: not known
  Progression progression;
  std::map<std::string, Tensor> parameters;
};

// Errors: io; usage, if `directory` holds something else. What was there stays whole.
void write_checkpoint(const std::string& directory, const CheckpointState& state);
// Errors: data, naming the file that is damaged or newer; not_found; io.
CheckpointState read_checkpoint(const std::string& directory);

// The text of checkpoint.json: everything but the parameters. Errors: data, with `name`.
std::string checkpoint_state_text(const CheckpointState& state);
CheckpointState parse_checkpoint_state(std::string_view text, const std::string& name);

// A folder of checkpoints, each named after its step.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string directory) : directory_(std::move(directory)) {}

  std::vector<std::int64_t> steps() const;  // of all that are there, rising; damaged ones too
  std::string path(std::int64_t step) const;
  void save(const CheckpointState& state);
  // Removes those of later steps, which are to be done again.
  void remove_after(std::int64_t step);
  // Removes all but the newest `keep` (0: all stay) and the one of step `best`, and what broken-off
  // writing has left.
  void prune(int keep, std::optional<std::int64_t> best);
  // The newest whole one; warns of each newer one that is damaged. Nothing if there is none at all.
  // Errors: those of reading the newest, if all are damaged.
  std::optional<CheckpointState> newest() const;

 private:
  std::string directory_;
};

// The checkpoint that `directory` is, or the newest of the folder or run folder that it is.
// Errors: not_found, if there is none; as read_checkpoint.
CheckpointState find_checkpoint(const std::string& directory);

}  // namespace trireme
