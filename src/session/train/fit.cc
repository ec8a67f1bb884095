#include "session/train/fit.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"

namespace trireme {
namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

bool better(const Watch& watch, double value, const std::optional<Best>& best, double by) {
  if (!std::isfinite(value)) return false;
  if (!best) return true;
  return watch.larger_better.value_or(false) ? value > best->value + by : value < best->value - by;
}

}  // namespace

Fit::Fit(Trainer& trainer, Training& training, const data::Batches& batches,
         const FitOptions& options)
    : training_(training),
      at_(training.at),
      batches_(batches),
      options_(options),
      progress_(options.progress, options.epochs, batches.size()),
      state_(trainer, options) {
  check_options();
  open_folders();
  begin();
}

void Fit::check_watch(Watch& watch, const char* what) const {
  if (watch.metric.empty()) return;
  if (options_.validation == nullptr) {
    fail_usage(fmt::format("fit: {} watches \"{}\", but there are no validation data", what,
                           watch.metric));
  }
  std::vector<std::string> names;
  for (const Metric& metric : training_.all_metrics) {
    if (!metric.is_number()) continue;
    if (metric.name == watch.metric) {
      if (!watch.larger_better) watch.larger_better = metric.larger_better;
      if (watch.larger_better) return;
      fail_usage(
          fmt::format("fit: {} watches \"{}\", of which it is not known whether larger is "
                      "better\n  hint   set larger_better of the watch or the metric",
                      what, watch.metric));
    }
    names.push_back(metric.name);
  }
  const std::string near = nearest(watch.metric, names);
  fail_usage(fmt::format("fit: {} watches \"{}\", which is not measured{}", what, watch.metric,
                         near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

// Training measures means only.
void Fit::check_plateau() const {
  if (!training_.plateau || options_.validation != nullptr) return;
  for (const Metric& metric : training_.training_metrics) {
    if (metric.name == training_.plateau->metric) return;
  }
  fail_usage(
      fmt::format("fit: the learning rate depends on \"{}\", which only an evaluation "
                  "measures, but there are no validation data",
                  training_.plateau->metric));
}

void Fit::check_options() {
  if (!training_.averaged.expired()) {
    fail_usage("fit: the parameters hold their averages; end the AveragedParameters first");
  }
  if (options_.epochs < 0) fail_usage(fmt::format("fit: epochs is {}", options_.epochs));
  if (options_.evaluate_every > 0 && options_.validation == nullptr) {
    fail_usage("fit: evaluate_every is set, but there are no validation data");
  }
  best_ = options_.checkpoint.best;
  early_ = options_.early_stopping.watch;
  check_watch(best_, "checkpoint.best");
  check_watch(early_, "early_stopping");
  check_plateau();
  if (!options_.early_stopping.watch.metric.empty() && options_.early_stopping.patience < 1) {
    fail_usage(fmt::format("fit: early_stopping.patience is {}, must be at least 1",
                           options_.early_stopping.patience));
  }
}

// Takes the folders for this process, and goes back to the newest checkpoint if that is wanted.
void Fit::open_folders() {
  std::string directory = options_.checkpoint.directory;
  if (!options_.run.empty()) {
    run_lock_ = std::make_unique<FolderLock>(options_.run);
    if (directory.empty()) directory = checkpoints_of(options_.run);
  }
  if (directory.empty()) {
    if (options_.resume) fail_usage("fit: resume is set, but neither run nor checkpoint.directory");
    return;
  }
  checkpoint_lock_ = std::make_unique<FolderLock>(directory);
  checkpoints_.emplace(directory);
  if (options_.resume) {
    if (const std::optional<CheckpointState> state = checkpoints_->newest()) {
      training_.restore(*state);
      saved_step_ = at_.steps;
    }
  } else if (!training_.resumed && !checkpoints_->steps().empty()) {
    fail_usage(
        fmt::format("{} holds checkpoints of an earlier run\n"
                    "  hint   continue it (resume), or choose another folder",
                    directory));
  }
}

void Fit::check_data() const {
  if (training_.batch_size == 0 || (training_.examples == batches_.examples() &&
                                    training_.batch_size == batches_.batch_size())) {
    return;
  }
  fail_data(fmt::format(
      "the checkpoint was made with {} examples in batches of {}, and the data given now are {} in "
      "batches of {}\n  hint   resume with the data and the batch size of the first start",
      training_.examples, training_.batch_size, batches_.examples(), batches_.batch_size()));
}

void Fit::begin() {
  const bool resumed = std::exchange(training_.resumed, false);
  if (resumed) {
    check_data();
  } else {
    if (at_.batch > 0) ++at_.epoch;  // a fit begins with a new epoch
    at_.batch = at_.fit_epochs = at_.fit_steps = at_.waited = 0;
    at_.best_checkpoint = at_.best_stopping = std::nullopt;
  }
  training_.examples = batches_.examples();
  training_.batch_size = batches_.batch_size();
  if (checkpoints_) checkpoints_->remove_after(at_.steps);
  if (!options_.run.empty()) run_ = std::make_unique<RunFolder>(options_.run, at_.steps, resumed);
  saved_at_ = steady_clock::now();
  report_.epochs = options_.epochs;
  const EarlyStopping& early = options_.early_stopping;
  if (!early.watch.metric.empty() && at_.waited >= early.patience) end_ = End::early;
  if (reached_max_steps()) end_ = End::enough;
}

Metrics Fit::run() {
  state_.step_ = at_.fit_steps;
  notify(&Callback::on_fit_begin);
  while (end_ == End::no && at_.fit_epochs < options_.epochs) epoch();
  if (checkpoints_ && at_.fit_steps > 0 && saved_step_ != at_.steps) save();
  if (end_ == End::early && options_.progress && at_.best_stopping) {
    fmt::print("stopped early after step {}: {} was best after step {}, {:.4g}\n", at_.steps,
               options_.early_stopping.watch.metric, at_.best_stopping->step,
               at_.best_stopping->value);
  }
  notify(&Callback::on_fit_end);
  return training_.sum->result();
}

void Fit::epoch() {
  epoch_began_ = steady_clock::now();
  report_.epoch = static_cast<int>(at_.fit_epochs) + 1;
  epoch_examples_ = 0;
  progress_.begin_epoch(report_.epoch);
  if (at_.batch == 0) training_.sum->clear();
  state_.epoch_ = report_.epoch;
  notify(&Callback::on_epoch_begin);
  {
    data::BatchStream stream = batches_.epoch(at_.epoch, at_.batch);
    while (end_ == End::no) {
      const std::optional<Fed> batch = training_.next(stream);
      if (!batch) break;
      step(*batch);
    }
  }
  if (end_ != End::stopped) end_epoch();
}

void Fit::step(const Fed& batch) {
  notify(&Callback::on_step_begin);
  const double loss = training_.step(batch);
  state_.step_ = at_.fit_steps;
  epoch_examples_ += batch.examples;
  logged_examples_ += batch.examples;
  notify(&Callback::on_step, loss);
  if (options_.after_step) options_.after_step(at_.fit_steps, loss);
  progress_.step(at_.batch, epoch_examples_, [&] { return training_.sum->result().str(); });
  log_step();
  const bool last = at_.batch >= batches_.size();
  if (options_.evaluate_every > 0 && at_.fit_steps % options_.evaluate_every == 0 && !last) {
    observe(validate());
  }
  // After an epoch's last step the checkpoint of the epoch follows at once.
  if (checkpoint_due() && !(last && options_.checkpoint.every_epoch)) save();
  if (end_ == End::no && reached_max_steps()) end_ = End::enough;
  if (options_.stop && options_.stop()) end_ = End::stopped;
}

// Runs after the last step of an epoch, at the end of the epoch or of training.
void Fit::end_epoch() {
  const bool whole = end_ == End::no || at_.batch >= batches_.size();
  report_.seconds = seconds_since(epoch_began_);
  report_.training = training_.sum->result();
  report_.validation = {};
  if (run_) run_->epoch(at_.steps, at_.epoch + 1, report_.training.numbers());
  if (whole) {
    ++at_.epoch;
    ++at_.fit_epochs;
    at_.batch = 0;
  }
  if (options_.validation != nullptr) {
    report_.validation = validate();
    // A part of an epoch has no say, so that training in pieces decides as training in one go.
    if (whole) observe(report_.validation);
  }
  if (whole) {
    training_.report_to_plateau(options_.validation ? report_.validation : report_.training);
  }
  progress_.end_epoch(epoch_examples_, report_.training.str(), report_.validation.str());
  if (whole && checkpoints_ && (options_.checkpoint.every_epoch || improved_)) save();
  notify(&Callback::on_epoch_end, report_);
  if (options_.after_epoch && !options_.after_epoch(report_) && end_ == End::no) {
    end_ = End::enough;
  }
}

void Fit::log_step() {
  if (!run_ || options_.log_every < 1 || at_.fit_steps % options_.log_every != 0) return;
  run_->step(at_.steps, at_.epoch + 1, training_.last_numbers(),
             training_.learning_rate(at_.steps - 1), std::exchange(logged_examples_, 0));
}

Metrics Fit::validate() {
  Metrics metrics = training_.evaluate(*options_.validation);
  // After an epoch's last step the counter stands on the next epoch already.
  const std::int64_t epoch = at_.batch == 0 ? at_.epoch : at_.epoch + 1;
  if (run_) run_->validation(at_.steps, epoch, metrics.numbers());
  notify(&Callback::on_evaluation, metrics);
  if (options_.after_evaluation) options_.after_evaluation(at_.fit_steps, metrics);
  return metrics;
}

void Fit::observe(const Metrics& validation) {
  if (checkpoints_ && !best_.metric.empty()) {
    const double value = validation[best_.metric];
    improved_ = better(best_, value, at_.best_checkpoint, 0);
    if (improved_) at_.best_checkpoint = Best{value, at_.steps};
  }
  const EarlyStopping& early = options_.early_stopping;
  if (early_.metric.empty()) return;
  const double value = validation[early_.metric];
  if (better(early_, value, at_.best_stopping, early.min_delta)) {
    at_.best_stopping = Best{value, at_.steps};
    at_.waited = 0;
  } else if (++at_.waited >= early.patience) {
    end_ = End::early;
  }
}

bool Fit::reached_max_steps() const {
  return options_.max_steps > 0 && at_.fit_steps >= options_.max_steps;
}

bool Fit::checkpoint_due() const {
  if (!checkpoints_) return false;
  const CheckpointOptions& wanted = options_.checkpoint;
  return improved_ || (wanted.every_steps > 0 && at_.fit_steps % wanted.every_steps == 0) ||
         (wanted.every_seconds > 0 && seconds_since(saved_at_) >= wanted.every_seconds);
}

void Fit::save() {
  checkpoints_->save(training_.checkpoint());
  std::optional<std::int64_t> best;
  if (at_.best_checkpoint) best = at_.best_checkpoint->step;
  checkpoints_->prune(options_.checkpoint.keep, best);
  improved_ = false;
  saved_step_ = at_.steps;
  saved_at_ = steady_clock::now();
}

}  // namespace trireme
