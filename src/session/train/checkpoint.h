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

// The best value so far of a watched metric.
struct Best {
  double value = 0;
  std::int64_t step = 0;
};

// The progress of training. An epoch or step "of the fit" counts from the start of the fit.
struct Progression {
  std::uint64_t runs = 0;       // of the Session; determines the next random numbers
  std::int64_t steps = 0;       // of training, in all fits
  std::int64_t epoch = 0;       // the current one, in all fits, from 0
  std::int64_t batch = 0;       // completed batches of the epoch
  std::int64_t fit_epochs = 0;  // completed epochs of the fit
  std::int64_t fit_steps = 0;
  // Of the current epoch, or of the last one if batch is 0: sums of value times examples.
  std::vector<std::pair<std::string, double>> sums;
  std::int64_t sum_examples = 0;
  std::optional<Best> best_checkpoint, best_stopping;
  std::int64_t waited = 0;  // evaluations since best_stopping improved
};

struct CheckpointState {
  std::string program;       // its name
  std::string program_hash;  // checksum of its text without locations
  std::uint64_t seed = 0;
  std::int64_t examples = 0, batch_size = 0;  // of the data; 0: not known
  Progression progression;
  std::map<std::string, Tensor> parameters;
};

// Errors: io; usage if `directory` contains something else. Existing content stays intact.
void write_checkpoint(const std::string& directory, const CheckpointState& state);
// Errors: data with the damaged or newer file; not_found; io.
CheckpointState read_checkpoint(const std::string& directory);

// The text of checkpoint.json: everything but the parameters. Errors: data with `name`.
std::string checkpoint_state_text(const CheckpointState& state);
CheckpointState parse_checkpoint_state(std::string_view text, const std::string& name);

// A folder of checkpoints, each named after its step.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string directory) : directory_(std::move(directory)) {}

  std::vector<std::int64_t> steps() const;  // of all checkpoints, ascending; damaged ones too
  std::string path(std::int64_t step) const;
  void save(const CheckpointState& state);
  // Removes checkpoints of later steps, which will run again.
  void remove_after(std::int64_t step);
  // Removes all but the newest `keep` (0: all stay) and the one of step `best`, and remains of
  // interrupted writes.
  void prune(int keep, std::optional<std::int64_t> best);
  // Returns the newest intact one, and warns of each newer one that is damaged. Nothing if there is
  // none. Errors: as reading the newest if all are damaged.
  std::optional<CheckpointState> newest() const;

 private:
  std::string directory_;
};

// Reads a checkpoint, or the newest one of a folder of checkpoints or a run folder. Errors:
// not_found if there is none; as read_checkpoint.
CheckpointState find_checkpoint(const std::string& directory);

}  // namespace trireme
