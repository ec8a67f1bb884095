#include "session/job/settings.h"

#include <fmt/core.h>

#include "base/error.h"
#include "session/job/distribution.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/tables.h"

namespace trireme::job {
namespace {

// Reads all keys of a table.
template <class Options>
void read_table(const Node& node, Options& options) {
  Table table(node);
  FieldReader reader(table);
  fields(reader, options);
  table.done();
}

DataSettings read_data(const Node& node) {
  DataSettings data;
  read_table(node, data);
  const Node* split = node.find("validation_split");
  if (split != nullptr && data.validation != nullptr) {
    fail_at(*split, "data.validation is given too");
  }
  const Node* folds = node.find("folds");
  if (data.folds > 0 && (data.validation != nullptr || split != nullptr)) {
    fail_at(*folds,
            "a fold is the validation data; leave data.validation and "
            "data.validation_split out");
  }
  if (data.folds == 1) fail_at(*folds, "must be at least 2, or 0 for none");
  if (data.fold > 0 && data.fold >= data.folds) {
    fail_at(*node.find("fold"), fmt::format("must be below data.folds, which is {}", data.folds));
  }
  if (data.text != nullptr && !is_text(*data.train)) {
    fail_at(*data.text,
            "data.train are no texts: those have names such as \"sentence_polarity/train\"");
  }
  if (data.sample != nullptr) {
    read_table(*data.sample, data.sampling);
    if (data.sampling.balance == !data.sampling.weights.empty()) {
      fail_at(*data.sample, "needs either weights = \"COLUMN\" or balance = true");
    }
    if (data.bucket || data.batch_tokens > 0) {
      fail_at(*data.sample, "cannot be cut by length: leave data.bucket and data.batch_tokens out");
    }
  }
  const Node* tokens = node.find("batch_tokens");
  if (tokens != nullptr && (node.find("batch") != nullptr || data.bucket)) {
    fail_at(*tokens, "says how large a batch is; leave data.batch and data.bucket out");
  }
  return data;
}

bool has_validation(const DataSettings& data) {
  return data.validation != nullptr || data.validation_split > 0 || data.folds > 0;
}

// The metric under `key` of the table, and from `goal` whether larger is better. Jobs need no goal
// for the metrics that they know.
Watch watch_of(const Node& table, const char* key, const std::string& metric,
               const std::string& goal, const DataSettings& data) {
  Watch watch{.metric = metric};
  const Node* given = table.find("goal");
  if (metric.empty()) {
    if (given != nullptr) fail_at(*given, std::string("needs \"") + key + "\"");
    return watch;
  }
  if (!has_validation(data)) {
    fail_at(table, "watches \"" + metric + "\", but there are no validation data: set " +
                       "data.validation or data.validation_split");
  }
  watch.larger_better = larger_better(metric);
  if (given == nullptr && watch.larger_better) return watch;
  if (goal != "min" && goal != "max") {
    fail_at(given != nullptr ? *given : table, "goal must be \"min\" or \"max\": is \"" + metric +
                                                   "\" better when it is small or large?");
  }
  watch.larger_better = goal == "max";
  return watch;
}

CheckpointOptions read_checkpoint_table(const Node& node, const DataSettings& data) {
  CheckpointTable table;
  read_table(node, table);
  table.options.best = watch_of(node, "best", table.best, table.goal, data);
  return table.options;
}

EarlyStopping read_early_stopping(const Node& node, const DataSettings& data) {
  EarlyStoppingTable table;
  read_table(node, table);
  table.options.watch = watch_of(node, "metric", table.metric, table.goal, data);
  return table.options;
}

Precision read_precision(const std::string& name, const Node& table) {
  const Node* given = table.find("precision");
  const Node& where = given != nullptr ? *given : table;
  try {
    const Precision precision = parse_precision(name);
    if (precision != Precision::f16) return precision;
  } catch (const Error& error) {
    fail_at(where, error.what());
  }
  fail_at(where,
          "f16 is for inference, its gradients vanish below 6e-8: train with \"bf16\" or \"f32\"");
}

void read_train(const Node& node, Settings& settings) {
  read_table(node, static_cast<TrainSettings&>(settings));
  settings.precision = read_precision(settings.precision_name, node);
  if (settings.evaluate_every > 0 && !has_validation(settings.data)) {
    fail_at(*node.find("evaluate_every"),
            "there are no validation data: set data.validation or data.validation_split");
  }
  if (settings.early != nullptr) {
    settings.early_stopping = read_early_stopping(*settings.early, settings.data);
  }
}

}  // namespace

Settings read_settings(const Node& root) {
  Settings settings;
  Table table(root);
  settings.data = read_data(table.required("data"));
  settings.model = &table.required("model");
  read_train(table.required("train"), settings);
  if (const Node* node = table.node("checkpoint")) {
    settings.checkpoint = read_checkpoint_table(*node, settings.data);
  }
  if (const Node* node = table.node("output")) read_table(*node, settings.output);
  if (const Node* node = table.node("distributed")) {
    settings.distribution = read_distribution(*node);
  }
  table.done();
  return settings;
}

}  // namespace trireme::job
