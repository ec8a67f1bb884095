#include "session/job_settings.h"

#include <limits>

namespace trireme::job {
namespace {

DataSettings read_data(const Node& node) {
  Table table(node);
  DataSettings data;
  data.train = &table.required("train");
  data.test = table.node("test");
  data.batch = table.integer("batch", 64, 1);
  data.test_batch = table.integer("test_batch", 256, 1);
  data.limit = table.integer("limit", 0, 0);
  data.test_limit = table.integer("test_limit", 0, 0);
  const std::int64_t workers = table.integer("workers", 1, 1);
  constexpr std::int64_t kMostWorkers = 256;
  if (workers > kMostWorkers) fail_at(*table.node("workers"), "must be at most 256");
  data.workers = static_cast<int>(workers);
  data.augment = table.node("augment");
  data.shuffle = table.boolean("shuffle", true);
  data.input = table.text("input", "");
  data.target = table.text("target", "");
  table.done();
  return data;
}

void read_train(const Node& node, Settings& settings) {
  Table table(node);
  settings.loss = &table.required("loss");
  settings.optimizer = table.node("optimizer");
  settings.schedule = table.node("schedule");
  settings.clip = table.node("clip");
  const std::int64_t epochs = table.integer("epochs", 1, 0);
  if (epochs > std::numeric_limits<int>::max()) {
    fail_at(*table.node("epochs"), "is too large");
  }
  settings.epochs = static_cast<int>(epochs);
  settings.max_steps = table.integer("max_steps", 0, 0);
  settings.seed = static_cast<std::uint64_t>(table.integer("seed", 1, 0));
  table.done();
}

}  // namespace

Settings read_settings(const Node& root) {
  Settings settings;
  Table table(root);
  settings.data = read_data(table.required("data"));
  settings.model = &table.required("model");
  read_train(table.required("train"), settings);
  if (const Node* node = table.node("output")) {
    Table output(*node);
    settings.output_directory = output.text("directory", "");
    output.done();
  }
  table.done();
  return settings;
}

}  // namespace trireme::job
