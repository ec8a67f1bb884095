#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "session/train/checkpoint.h"
#include "session/train/progress.h"
#include "session/train/run_folder.h"
#include "session/train/training.h"

namespace trireme {

// One call of Trainer::fit: the loop over epochs and steps, and everything between them.
class Fit {
 public:
  // Errors: those of Trainer::fit that do not need a step.
  Fit(Trainer& trainer, Training& training, const data::Batches& batches,
      const FitOptions& options);
  Metrics run();

 private:
  enum class End { no, enough, early, stopped };  // why training ends

  void check_options();
  // Sets whether larger is better. This may stay unknown if the metric is not watched.
  void check_watch(Watch& watch, const char* what) const;
  void check_plateau() const;
  void open_folders();
  void begin();
  void check_data() const;

  // Calls a function of all callbacks.
  template <class... Parameters, class... Arguments>
  void notify(void (Callback::*function)(FitState&, Parameters...), const Arguments&... arguments) {
    for (const auto& callback : options_.callbacks) {
      if (callback != nullptr) (callback.get()->*function)(state_, arguments...);
    }
    if (state_.stopped() && end_ == End::no) end_ = End::stopped;
  }

  void epoch();
  void step(const Fed& batch);
  void end_epoch();
  void log_step();
  Metrics validate();
  void observe(const Metrics& validation);  // for the best checkpoint and early stopping
  bool reached_max_steps() const;
  bool checkpoint_due() const;
  void save();

  Training& training_;
  Progression& at_;
  const data::Batches& batches_;
  const FitOptions& options_;
  Progress progress_;
  std::unique_ptr<FolderLock> run_lock_, checkpoint_lock_;
  std::optional<CheckpointFolder> checkpoints_;
  std::unique_ptr<RunFolder> run_;

  Watch best_, early_;  // of the options, with the direction of the metric
  End end_ = End::no;
  bool improved_ = false;  // in the last evaluation, and not saved yet
  std::int64_t saved_step_ = -1;
  std::chrono::steady_clock::time_point saved_at_, epoch_began_;
  std::int64_t epoch_examples_ = 0;  // read in this epoch by this process
  std::int64_t logged_examples_ = 0;
  EpochReport report_;
  FitState state_;  // for the callbacks
};

}  // namespace trireme
