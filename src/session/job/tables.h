#pragma once

// The keys of a job's tables, as fields of their structs (nn/catalog/field.h).

#include "nn/catalog/field.h"
#include "session/job/settings.h"

namespace trireme::job {

inline constexpr nn::Limits kCount{.min = 0};
inline constexpr nn::Limits kAtLeastOne{.min = 1};
inline constexpr nn::Limits kInt{0, 2147483647};

template <class Visit>
void fields(Visit& visit, FilterTable& o) {
  using F = nn::Field;
  visit(F{.name = "column", .doc = "the column that decides", .required = true}, o.column);
  visit(F{"min", "smallest number to keep", nn::kAny, false, "none"}, o.min);
  visit(F{"max", "largest number to keep", nn::kAny, false, "none"}, o.max);
  visit(F{"values", "numbers or ids to keep"}, o.values);
  visit(F{"words", "words or classes to keep"}, o.words);
  visit(F{"min_length", "rows of the shortest sequence to keep", kCount, false, "none", "rows"},
        o.min_length);
  visit(F{"max_length", "rows of the longest sequence to keep", kCount, false, "none", "rows"},
        o.max_length);
  visit(F{"invert", "keep the other examples instead"}, o.invert);
}

template <class Visit>
void fields(Visit& visit, SampleTable& o) {
  using F = nn::Field;
  visit(F{"weights", "column whose numbers are in proportion to how often an example is drawn"},
        o.weights);
  visit(F{"balance", "instead of `weights`: every class of the target is drawn equally often"},
        o.balance);
  visit(F{"count", "examples of an epoch; 0: as many as the training data have", kCount, false, "",
          "examples"},
        o.count);
}

template <class Visit>
void fields(Visit& visit, DataSettings& o) {
  using F = nn::Field;
  const auto node = [&](const char* name, const char* doc, const char* definition,
                        const Node*& value, bool required = false) {
    visit(F{.name = name, .doc = doc, .required = required, .definition = definition}, value);
  };
  node("train", "training data", "dataset", o.train, true);
  node("test", "data measured after training", "dataset", o.test);
  node("validation", "data measured during training", "dataset", o.validation);
  visit(F{"validation_split", "share of the training data to use for validation", nn::kFraction},
        o.validation_split);
  visit(F{"folds", "cut the training data into this many folds for cross-validation; 0: none",
          kCount},
        o.folds);
  visit(F{"fold", "the fold to use for validation, from 0", kCount}, o.fold);
  node("filter", "which examples of all data sets to keep", "filters", o.filter);
  node("sample", "draw training examples with replacement", "sample", o.sample);
  visit(F{"cache", "`\"memory\"`, or the record file that keeps the training data after reading",
          nn::kAny, false, "none"},
        o.cache);
  visit(F{"batch", "examples in a batch", kAtLeastOne, false, "", "examples"}, o.batch);
  visit(F{"test_batch", "examples in a batch of test and validation data", kAtLeastOne, false, "",
          "examples"},
        o.test_batch);
  visit(F{"limit", "use only the first examples; 0: all", kCount, false, "", "examples"}, o.limit);
  visit(F{"test_limit", "use only the first examples of test data; 0: all", kCount, false, "",
          "examples"},
        o.test_limit);
  visit(F{"workers", "threads that read and augment ahead", {1, 256}}, o.workers);
  node("augment", "random changes of the training pictures", "augmentations", o.augment);
  node("text", "how texts become ids", "text_options", o.text);
  visit(F{"bucket", "batches of sequences of similar length"}, o.bucket);
  visit(F{"batch_tokens", "for sequences, instead of `batch`: most elements in a batch",
          kAtLeastOne, false, "", "elements"},
        o.batch_tokens);
  visit(F{"shuffle", "a new order in every epoch"}, o.shuffle);
  node("input", "columns to feed", "columns", o.input);
  visit(F{"target", "column to predict", nn::kAny, false, "found"}, o.target);
}

template <class Visit>
void fields(Visit& visit, TrainSettings& o) {
  using F = nn::Field;
  const auto node = [&](const char* name, const char* doc, const char* definition,
                        const Node*& value, bool required = false) {
    visit(F{.name = name, .doc = doc, .required = required, .definition = definition}, value);
  };
  node("loss", "what training makes small", "loss", o.loss, true);
  node("metrics", "what is measured besides the loss", "metrics", o.metrics);
  node("optimizer", "how gradients change parameters", "optimizer", o.optimizer);
  node("schedule", "the learning rate over time", "schedule", o.schedule);
  node("clip", "limits on gradients", "clip", o.clip);
  node("average", "average of the parameters to test and save", "average", o.average);
  node("parameters", "settings of single parameters", "parameter_list", o.parameters);
  visit(F{"accumulate", "batches for one update", nn::kSize, false, "", "batches"}, o.accumulate);
  visit(F{"l1", "penalty of the absolute value of every parameter", nn::kNotNegative}, o.l1);
  visit(F{"l2", "penalty of the square of every parameter", nn::kNotNegative}, o.l2);
  visit(F{"epochs", "passes over the data", kInt, false, "", "epochs"}, o.epochs);
  visit(F{"max_steps", "stop after this number of steps; 0: no limit", kCount, false, "", "steps"},
        o.max_steps);
  visit(F{"seed", "of parameters, order and dropout", kCount}, o.seed);
  visit(F{"precision", "\"bf16\" stores values between kernels in 16 bits"}, o.precision_name);
  visit(F{"evaluate_every", "also measure validation data after this number of steps; 0: off",
          kCount, false, "", "steps"},
        o.evaluate_every);
  node("early_stopping", "stop when a validation metric no longer improves", "early_stopping",
       o.early);
}

struct ExponentialAverage {
  double decay = Average{}.decay;
  bool correct_bias = Average{}.correct_bias;
};
template <class Visit>
void fields(Visit& visit, ExponentialAverage& o) {
  visit(nn::Field{"decay", "share of the old average that is kept", nn::kFraction}, o.decay);
  visit(nn::Field{"correct_bias", "as if the average began at the first parameters"},
        o.correct_bias);
}
struct WindowAverage {
  std::int64_t updates = 1000;
};
template <class Visit>
void fields(Visit& visit, WindowAverage& o) {
  visit(nn::Field{"updates", "the last updates to average", kAtLeastOne, false, "", "updates"},
        o.updates);
}
// Calls visit(Entry, options, make) for every average.
template <class Visit>
void for_each_average(Visit&& visit) {
  visit(nn::Entry{"exponential", "Exponential moving average"}, ExponentialAverage{},
        [](const ExponentialAverage& o) { return Average::exponential(o.decay, o.correct_bias); });
  visit(nn::Entry{"window", "Mean of the last updates"}, WindowAverage{},
        [](const WindowAverage& o) { return Average::window(o.updates); });
}

inline constexpr const char* kGoal = "whether \"min\" or \"max\" of the metric is best";

template <class Visit>
void fields(Visit& visit, EarlyStoppingTable& o) {
  visit(nn::Field{"metric", "validation metric to follow"}, o.metric);
  visit(nn::Field{"goal", kGoal, nn::kAny, false, "the metric's"}, o.goal);
  visit(
      nn::Field{"patience", "evaluations without improvement", {1, 1e9}, false, "", "evaluations"},
      o.options.patience);
  visit(nn::Field{"min_delta", "smallest change that counts", nn::kNotNegative},
        o.options.min_delta);
}

template <class Visit>
void fields(Visit& visit, CheckpointTable& o) {
  visit(nn::Field{"directory", "folder of the checkpoints", nn::kAny, false,
                  "`checkpoints` in the run folder"},
        o.options.directory);
  visit(nn::Field{"every_epoch", "write one after every epoch"}, o.options.every_epoch);
  visit(nn::Field{"every_steps", "and after this number of steps; 0: off", kCount, false, "",
                  "steps"},
        o.options.every_steps);
  visit(nn::Field{"every_seconds", "and after this time; 0: off", nn::kNotNegative, false, "",
                  "seconds"},
        o.options.every_seconds);
  visit(nn::Field{"keep", "number of newest checkpoints to keep; 0: all", {0, 1e9}},
        o.options.keep);
  visit(nn::Field{"best", "also keep the one with the best value of this validation metric"},
        o.best);
  visit(nn::Field{"goal", kGoal, nn::kAny, false, "the metric's"}, o.goal);
}

template <class Visit>
void fields(Visit& visit, OutputSettings& o) {
  visit(nn::Field{"directory", "folder of the saved model", nn::kAny, false, "the job's name"},
        o.directory);
  visit(nn::Field{"run", "run folder for metrics and checkpoints"}, o.run);
  visit(nn::Field{"log_every", "steps between two lines of the run folder", kAtLeastOne, false, "",
                  "steps"},
        o.log_every);
  visit(nn::Field{"histograms_every",
                  "epochs between histograms of the parameters in the run folder; 0: none",
                  {0, 1e9},
                  false,
                  "",
                  "epochs"},
        o.histograms_every);
}

}  // namespace trireme::job

namespace trireme {

template <class Visit>
void fields(Visit& visit, Clip& o) {
  visit(nn::Field{"value", "limit of each element; 0: none", nn::kNotNegative}, o.value);
  visit(nn::Field{"norm", "limit of the norm of each parameter; 0: none", nn::kNotNegative},
        o.norm);
  visit(nn::Field{"global_norm", "limit of the norm of all together; 0: none", nn::kNotNegative},
        o.global_norm);
}

template <class Visit>
void fields(Visit& visit, ParameterSettings& o) {
  visit(nn::Field{"learning_rate", "factor for the optimizer's learning rate"}, o.learning_rate);
  visit(nn::Field{"weight_decay", "factor for weight decay and penalties"}, o.weight_decay);
  visit(nn::Field{"l1", "added to the penalty of the absolute value"}, o.l1);
  visit(nn::Field{"l2", "added to the penalty of the square"}, o.l2);
  visit(nn::Field{"frozen", "the parameter does not change"}, o.frozen);
}

// [distributed]. wrong_setting() checks the values.
template <class Visit>
void fields(Visit& visit, Distribution& o) {
  using F = nn::Field;
  using Mode = Distribution::Mode;
  visit(F{"mode", "how processes exchange what they learn"}, o.mode,
        nn::Words<Mode>{{"all_reduce", Mode::all_reduce},
                        {"synchronous", Mode::synchronous},
                        {"asynchronous", Mode::asynchronous},
                        {"geo", Mode::geo}});
  visit(F{"task_batches", "batches of a task", nn::kSize, false, "", "batches"}, o.task_batches);
  visit(F{"checkpoint_seconds", "time between checkpoints of the job; 0: none", nn::kAny, false, "",
          "seconds"},
        o.checkpoint_seconds);
  visit(F{"checkpoint_keep", "full checkpoints to keep", {.min = 1}}, o.checkpoint_keep);
  visit(F{"resume", "continue from the newest checkpoint"}, o.resume);
  visit(F{"export_seconds", "time between exports for serving; 0: none", nn::kAny, false, "",
          "seconds"},
        o.export_seconds);
  visit(F{"export_deltas", "exports of changes between two exports of all rows", {.min = 0}},
        o.export_deltas);
}

// The keys of modes with parameter servers, besides `eviction`.
template <class Visit>
void server_fields(Visit& visit, Distribution& o) {
  using F = nn::Field;
  visit(F{"admission", "lookups before an id gets a row of its own", {.min = 1}}, o.admission);
  visit(F{"memory_limit",
          "memory of a table at each server; 0: no limit",
          {.min = 0},
          false,
          "",
          "bytes"},
        o.memory_limit);
  visit(F{"cold_rows", "folder for rows on disk", nn::kAny, false, "`OUTPUT-cold-rows`"},
        o.cold_rows);
  visit(F{"float16", "store rows in 16 bits"}, o.float16);
  visit(F{"staleness",
          "asynchronous: maximum lead over the slowest trainer; 0: no limit",
          {.min = 0},
          false,
          "",
          "steps"},
        o.staleness);
  visit(F{"prefetch", "asynchronous and geo: request the rows of the next step during this one"},
        o.prefetch);
}

template <class Visit>
void fields(Visit& visit, Distribution::Eviction& o) {
  using F = nn::Field;
  visit(F{"unused_for",
          "remove rows that were not looked up for this long; 0: never",
          {.min = 0},
          false,
          "",
          "ticks"},
        o.unused_for);
  visit(F{"below", "remove rows with a score below this; 0: never"}, o.below);
  visit(F{"show_weight", "weight of shows in the score"}, o.show_weight);
  visit(F{"click_weight", "weight of clicks in the score"}, o.click_weight);
  visit(F{"decay", "factor for shows and clicks at every tick"}, o.decay);
  visit(F{"clicks", "column that is 1 for a click, else 0"}, o.clicks);
  visit(F{"tick_tasks", "finished tasks of a tick; 0: an epoch", {.min = 0}, false, "", "tasks"},
        o.tick_tasks);
}

}  // namespace trireme
