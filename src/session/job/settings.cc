#include "session/job/settings.h"

#include <algorithm>
#include <limits>

#include "session/job/distribution.h"
#include "session/job/model.h"

namespace trireme::job {
namespace {

DataSettings read_data(const Node& node) {
  Table table(node);
  DataSettings data;
  data.train = &table.required("train");
  data.test = table.node("test");
  data.validation = table.node("validation");
  data.validation_split = table.number("validation_split", 0);
  if (const Node* split = table.node("validation_split")) {
    if (!(data.validation_split >= 0 && data.validation_split < 1)) {
      fail_at(*split, "must be at least 0 and below 1");
    }
    if (data.validation != nullptr) fail_at(*split, "data.validation is given too");
  }
  data.batch = table.integer("batch", 64, 1);
  data.test_batch = table.integer("test_batch", 256, 1);
  data.limit = table.integer("limit", 0, 0);
  data.test_limit = table.integer("test_limit", 0, 0);
  const std::int64_t workers = table.integer("workers", 1, 1);
  constexpr std::int64_t kMostWorkers = 256;
  if (workers > kMostWorkers) fail_at(*table.node("workers"), "must be at most 256");
  data.workers = static_cast<int>(workers);
  data.augment = table.node("augment");
  data.text = table.node("text");
  if (data.text != nullptr && !is_text(*data.train)) {
    fail_at(*data.text,
            "data.train are no texts: those have names such as \"sentence_polarity/train\"");
  }
  data.bucket = table.boolean("bucket", false);
  data.batch_tokens = table.integer("batch_tokens", 0, 1);
  if (table.has("batch_tokens") && (table.has("batch") || data.bucket)) {
    fail_at(*table.node("batch_tokens"),
            "says how large a batch is; leave data.batch and data.bucket out");
  }
  data.shuffle = table.boolean("shuffle", true);
  data.input = table.node("input");
  data.target = table.text("target", "");
  table.done();
  return data;
}

bool has_validation(const DataSettings& data) {
  return data.validation != nullptr || data.validation_split > 0;
}

// Reads the metric under `key`, and from "goal" whether larger is better. Jobs need no "goal" for
// the metrics that they know.
Watch read_watch(Table& table, const char* key, const std::string& fallback,
                 const DataSettings& data) {
  Watch watch;
  watch.metric = table.text(key, fallback);
  const Node* goal = table.node("goal");
  if (watch.metric.empty()) {
    if (goal != nullptr) fail_at(*goal, std::string("needs \"") + key + "\"");
    return watch;
  }
  if (!has_validation(data)) {
    fail_at(table.self(), "watches \"" + watch.metric +
                              "\", but there are no validation data: set " +
                              "data.validation or data.validation_split");
  }
  watch.larger_better = larger_better(watch.metric);
  if (goal == nullptr && watch.larger_better) return watch;
  const std::string way = table.text("goal", "");
  if (way != "min" && way != "max") {
    fail_at(goal != nullptr ? *goal : table.self(), "goal must be \"min\" or \"max\": is \"" +
                                                        watch.metric +
                                                        "\" better when it is small or large?");
  }
  watch.larger_better = way == "max";
  return watch;
}

void read_checkpoint_table(const Node& node, Settings& settings) {
  Table table(node);
  CheckpointOptions& checkpoint = settings.checkpoint;
  checkpoint.directory = table.text("directory", "");
  checkpoint.every_epoch = table.boolean("every_epoch", true);
  checkpoint.every_steps = table.integer("every_steps", 0, 0);
  checkpoint.every_seconds = table.number("every_seconds", 0);
  if (!(checkpoint.every_seconds >= 0)) {
    fail_at(*table.node("every_seconds"), "must not be negative");
  }
  const std::int64_t keep = table.integer("keep", checkpoint.keep, 0);
  checkpoint.keep = static_cast<int>(std::min<std::int64_t>(keep, 1'000'000'000));
  checkpoint.best = read_watch(table, "best", "", settings.data);
  table.done();
}

void read_early_stopping(const Node& node, Settings& settings) {
  Table table(node);
  EarlyStopping& early = settings.early_stopping;
  early.watch = read_watch(table, "metric", "loss", settings.data);
  const std::int64_t patience = table.integer("patience", early.patience, 1);
  early.patience = static_cast<int>(std::min<std::int64_t>(patience, 1'000'000'000));
  early.min_delta = table.number("min_delta", 0);
  if (!(early.min_delta >= 0)) fail_at(*table.node("min_delta"), "must not be negative");
  table.done();
}

Precision read_precision(Table& table) {
  const std::string name = table.text("precision", "f32");
  try {
    const Precision precision = parse_precision(name);
    if (precision != Precision::f16) return precision;
  } catch (const Error& error) {
    fail_at(*table.node("precision"), error.what());
  }
  fail_at(*table.node("precision"),
          "f16 is for inference, its gradients vanish below 6e-8: train with \"bf16\" or \"f32\"");
}

void read_train(const Node& node, Settings& settings) {
  Table table(node);
  settings.loss = &table.required("loss");
  settings.metrics = table.node("metrics");
  settings.optimizer = table.node("optimizer");
  settings.schedule = table.node("schedule");
  settings.clip = table.node("clip");
  settings.average = table.node("average");
  settings.parameters = table.node("parameters");
  settings.accumulate = static_cast<int>(table.size("accumulate", 1));
  settings.l1 = table.number("l1", 0);
  settings.l2 = table.number("l2", 0);
  for (const char* key : {"l1", "l2"}) {
    if (table.number(key, 0) < 0) fail_at(*table.node(key), "must not be negative");
  }
  const std::int64_t epochs = table.integer("epochs", 1, 0);
  if (epochs > std::numeric_limits<int>::max()) {
    fail_at(*table.node("epochs"), "is too large");
  }
  settings.epochs = static_cast<int>(epochs);
  settings.max_steps = table.integer("max_steps", 0, 0);
  settings.seed = static_cast<std::uint64_t>(table.integer("seed", 1, 0));
  settings.precision = read_precision(table);
  settings.evaluate_every = table.integer("evaluate_every", 0, 0);
  if (settings.evaluate_every > 0 && !has_validation(settings.data)) {
    fail_at(*table.node("evaluate_every"),
            "there are no validation data: set data.validation or data.validation_split");
  }
  if (const Node* early = table.node("early_stopping")) read_early_stopping(*early, settings);
  table.done();
}

}  // namespace

Settings read_settings(const Node& root) {
  Settings settings;
  Table table(root);
  settings.data = read_data(table.required("data"));
  settings.model = &table.required("model");
  read_train(table.required("train"), settings);
  if (const Node* node = table.node("checkpoint")) read_checkpoint_table(*node, settings);
  if (const Node* node = table.node("output")) {
    Table output(*node);
    settings.output_directory = output.text("directory", "");
    settings.run = output.text("run", "");
    settings.log_every = output.integer("log_every", 10, 1);
    output.done();
  }
  if (const Node* node = table.node("distributed")) {
    settings.distribution = read_distribution(*node);
  }
  table.done();
  return settings;
}

}  // namespace trireme::job
