// evaluate(): what a job measures, of a saved model.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "session/job/model.h"
#include "session/job/renamed_keys.h"
#include "session/metrics/sum.h"
#include "session/model/model_folder.h"

namespace trireme {
namespace job {

std::string measured_text(const Settings& settings) {
  Node root;
  const auto add = [&](const char* key, const Node& node) {
    root.members.push_back(node);
    root.members.back().key = key;
  };
  add("loss", *settings.loss);
  if (settings.metrics != nullptr) add("metrics", *settings.metrics);
  return json_text(root);
}

}  // namespace job

namespace {

using job::Node;

// A copy of the model's Program, so that the model stays as it is, with what is measured of it.
class Evaluation {
 public:
  Evaluation(const Model& model, const data::Dataset& dataset)
      : model_(model), program_(Program::parse(model.program().str())) {
    if (model.target().empty()) fail_data("the model does not say which column it predicts");
    const data::Column target = find(dataset, model.target(), "predicts");
    for (const Model::Port& input : model.inputs()) {
      if (is_splits_name(input.name)) continue;
      const data::Column column = find(dataset, input.name, "takes");
      if (column.levels > 0) add_ragged(column);
    }
    network_.output = program_.outputs().at(0);
    network_.confusion = target.ids == 0;
    read_measured(target);
    add_target(dataset, target);
    add_metrics();
  }

  // Labels that are no class and sequences that differ where they must not are Error(data).
  data::Batches checked(data::Batches batches) const {
    if (!rows_of_.empty()) {
      batches = batches.over(job::check_structure(batches.dataset(), rows_of_));
    }
    if (network_.target.dtype() != i64 || network_.task == job::Task::numbers) return batches;
    if (network_.task == job::Task::labels) return batches;  // others count as wrong
    const bool binary = network_.task == job::Task::binary;
    const std::int64_t classes = binary ? 2 : network_.logits.dim(-1).constant();
    return batches.over(job::check_labels(batches.dataset(), model_.target(), classes));
  }

  Metrics run(const data::Batches& batches, Session& session) const {
    std::vector<Value> fetches;
    for (const Metric& metric : metrics_) fetches.push_back(metric.value);
    MetricSum sum(metrics_);
    data::BatchStream stream = batches.epoch(0);
    while (std::optional<data::Batch> batch = stream.next()) {
      const std::int64_t examples = data::examples_in(*batch);
      std::erase_if(*batch, [&](const auto& column) { return !program_.find(column.first); });
      sum.add(session.run(*batch, fetches), examples);
    }
    return sum.result();
  }

  const Program& program() const { return program_; }

 private:
  static data::Column find(const data::Dataset& dataset, const std::string& name,
                           const char* does) {
    for (const data::Column& column : dataset.columns()) {
      if (column.name == name) return column;
    }
    fail_data(fmt::format("the data have no column \"{}\", which the model {}", name, does));
  }

  void read_measured(const data::Column& target) {
    const Value& output = network_.output;
    // One score for an example answers yes or no, whatever dtype the answer has.
    const bool classes = target.dtype == i64 && output.rank() == 2 && output.dim(1) != Dim(1);
    known_ = !model_.measured().empty();
    measured_ = job::parse_json(known_    ? model_.measured()
                                : classes ? R"({"loss": "cross_entropy"})"
                                          : R"({"loss": "mse"})",
                                kModelFile);
    job::use_new_keys(measured_, "train");
    settings_.loss = measured_.find("loss");
    settings_.metrics = measured_.find("metrics");
    if (settings_.loss == nullptr) job::fail_at(measured_, "\"measured\" has no \"loss\"");
    job::check_metrics(settings_);
    network_.task = job::task_of(*settings_.loss);
    network_.labels = job::counted_labels(*settings_.loss);
    network_.names = model_.labels();
    if (network_.task != job::Task::labels) {
      network_.logits = job::logits_of(*settings_.loss, output);
    }
  }

  // An input of sequences. The rows of a ragged input have its name; the rows of others have the
  // name of a ragged input.
  void add_ragged(const data::Column& column) {
    const Dim rows = program_.find(column.name).dim(0);
    if (rows == Dim(column.name)) ragged_.push_back(column);
    else if (const std::string other = rows.str(); program_.find(other))
      rows_of_[column.name] = other;
  }

  // The rows of a target of sequences: those of the input that has such ones.
  Dim rows_for(const data::Dataset& dataset, const data::Column& target) {
    std::string reason = "no input of the model has that many levels";
    for (const data::Column& input : ragged_) {
      if (input.levels != target.levels) continue;
      reason = job::difference_of(dataset, target.name, input.name);
      if (!reason.empty()) continue;
      rows_of_[target.name] = input.name;
      return program_.find(input.name).dim(0);
    }
    fail_data(fmt::format("column \"{}\" is ragged, and no input has such sequences: {}",
                          target.name, reason));
  }

  void add_target(const data::Dataset& dataset, const data::Column& target) {
    network_.target = program_.find(target.name);
    if (!network_.target) {
      Shape shape{target.levels > 0 ? rows_for(dataset, target) : Dim(batch)};
      for (const std::int64_t size : target.shape) shape.emplace_back(size);
      network_.target = program_.input(target.name, target.dtype, shape);
    }
    if (network_.task == job::Task::classes) return;
    if (network_.task == job::Task::labels && network_.target.dtype() != i64) {
      fail_data(fmt::format("the model gives labels, but the target is {}", network_.target.str()));
    }
    if (product(network_.target.shape()) != product(network_.output.shape())) {
      fail_data(fmt::format("the model gives {}, but the target is {}", network_.output.str(),
                            network_.target.str()));
    }
  }

  void add_metrics() {
    const bool is_mse = job::read_choice(*settings_.loss, "a loss").name == "mse";
    if ((known_ && network_.task != job::Task::labels) || is_mse) {
      metrics_.push_back(
          {.name = is_mse ? "mse" : "loss",
           .value = job::apply_loss(*settings_.loss, network_.logits, network_.target)});
    }
    for (const Metric& metric : job::build_metrics(settings_, network_)) {
      if (metrics_.empty() || metric.name != metrics_[0].name) metrics_.push_back(metric);
    }
  }

  const Model& model_;
  Program program_;
  Node measured_;
  bool known_ = false;                          // the model says what is measured
  std::vector<data::Column> ragged_;            // inputs with rows of their own
  std::map<std::string, std::string> rows_of_;  // as in job::Columns
  job::Settings settings_;
  job::Network network_;
  std::vector<Metric> metrics_;
};

}  // namespace

Metrics evaluate(Model& model, const data::Batches& batches) {
  const Evaluation evaluation(model, batches.dataset());
  Session& trained = model.session();
  Session session(evaluation.program(), {.threads = trained.threads(),
                                         .max_bytes = trained.options().max_bytes,
                                         .max_operations = trained.options().max_operations});
  for (const Value& parameter : evaluation.program().parameters()) {
    const std::string name = parameter.name().substr(1);
    session.set_parameter(name, trained.parameter(name));
  }
  return evaluation.run(evaluation.checked(batches), session);
}

}  // namespace trireme
