#pragma once

// Objects that follow a training of Trainer::fit() and may end it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"
#include "trireme/metrics.h"

namespace trireme {

struct FitOptions;
class Trainer;

// The state of training after an epoch.
struct EpochReport {
  int epoch = 0;  // from 1
  int epochs = 0;
  Metrics training;    // only means over the epoch, while the parameters changed
  Metrics validation;  // empty without validation data
  double seconds = 0;  // of training, without validation
};

// The call of fit() that a Callback follows; valid during the call of the Callback.
class TRIREME_API FitState {
 public:
  FitState(Trainer& trainer, const FitOptions& options) : trainer_(trainer), options_(options) {}

  Trainer& trainer() const { return trainer_; }
  const FitOptions& options() const { return options_; }
  int epoch() const { return epoch_; }         // the current one of this fit, from 1
  std::int64_t step() const { return step_; }  // completed steps of this fit
  // Ends fit() after the current step, with a last checkpoint, as FitOptions::stop does.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  friend class Fit;
  Trainer& trainer_;
  const FitOptions& options_;
  int epoch_ = 0;
  std::int64_t step_ = 0;
  bool stopped_ = false;
};

// Base class of objects in FitOptions::callbacks. fit() calls each function of all callbacks, in
// the order of the list, in its own thread, and before the function of FitOptions for the same
// event. The functions do nothing by default. They may read and set parameters, learning rates and
// frozen parameters (trainer().session()), evaluate other data and save models; none of this
// changes the random numbers of training. They must not call fit(). An exception leaves fit() at
// once, without on_fit_end().
class TRIREME_API Callback {
 public:
  Callback() = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  virtual ~Callback();

  // After the checks of the options, and after going back to a checkpoint (FitOptions::resume).
  virtual void on_fit_begin(FitState& fit);
  // Also for the rest of an epoch after a resume.
  virtual void on_epoch_begin(FitState& fit);
  virtual void on_step_begin(FitState& fit);  // before step fit.step() + 1
  virtual void on_step(FitState& fit, double loss);
  // After an evaluation of FitOptions::validation.
  virtual void on_evaluation(FitState& fit, const Metrics& validation);
  // After the evaluation and the checkpoint of the epoch. Not for an epoch that stop() ended.
  virtual void on_epoch_end(FitState& fit, const EpochReport& report);
  virtual void on_fit_end(FitState& fit);
};

// Keeps what was measured. A second fit() adds its epochs.
//   auto history = std::make_shared<History>();
//   trainer.fit(data, {.epochs = 5, .validation = &test, .callbacks = {history}});
//   history->validation("accuracy")  // five numbers
class TRIREME_API History : public Callback {
 public:
  const std::vector<EpochReport>& epochs() const { return epochs_; }
  const std::vector<double>& losses() const { return losses_; }  // of each step
  // A metric after each epoch: of training, or of the validation data.
  // Errors: not_found, if an epoch did not measure it.
  std::vector<double> training(std::string_view metric = "loss") const;
  std::vector<double> validation(std::string_view metric = "loss") const;

  void on_step(FitState& fit, double loss) override;
  void on_epoch_end(FitState& fit, const EpochReport& report) override;

 private:
  std::vector<EpochReport> epochs_;
  std::vector<double> losses_;
};

}  // namespace trireme
