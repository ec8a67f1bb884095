#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/catalog/losses.h"
#include "session/job/settings.h"
#include "trireme/decoding.h"
#include "trireme/metrics.h"
#include "trireme/nn.h"
#include "trireme/optimizer.h"
#include "trireme/program.h"

namespace trireme::job {

using nn::Task;

// The network that [model] and the loss of a job define.
struct Network {
  Value target;
  Value logits;  // the result of the last layer; empty in a saved model that returns labels
  Value output;  // the prediction: output_of() the loss
  Value loss;
  std::vector<Metric> metrics;
  Task task = Task::numbers;
  int layers = 0;                                // 0 if the model is no list of layers
  std::vector<std::string> names = {};           // of the classes or labels, if they have some
  std::map<std::string, Tensor> constants = {};  // values of parameters that are not trained
  // Whether a confusion matrix is measured by default: not if the classes are words.
  bool confusion = true;
  LabelOptions labels = {};  // of the loss: which labels metrics of classes do not count
  // Of a model that writes texts: its decoder and its output.
  nn::Decoder decoder = {};
  nn::BeamOptions search = {};
  std::optional<nn::Hypotheses> written = {};
};

// Ops that are made for a line of the job have this line as their location.
Network build_network(Program& program, const Settings& settings, const Columns& columns,
                      const std::string& directory);

// A column that is fed and the input it feeds.
struct Feed {
  data::Column column;
  Value value;
};

// A built model of the bank.
struct Built {
  Value logits;
  nn::Decoder decoder = {};            // of one that writes texts
  nn::BeamOptions search = {};         // without start and end
  Built(Value only) : logits(only) {}  // NOLINT: most models have no other parts
  Built(Value logits_in, nn::Decoder decoder_in, const nn::BeamOptions& search_in)
      : logits(logits_in), decoder(std::move(decoder_in)), search(search_in) {}
};

// Models of the bank by the names that [model] knows, "resnet20"; model_bank.cc has them.
struct BankModel {
  std::string name;
  bool many = false;  // takes many columns, of ids and numbers; otherwise one, the first feed
  // Reads the keys of the model and builds it. `classes`: logits of an example by the data, 0 if
  // unknown.
  std::function<Built(Table& table, const std::vector<Feed>& feeds, std::int64_t classes)> build;
};
// Errors: data for an unknown name.
BankModel find_model(const Node& name);
std::vector<BankModel> picture_models(), column_models(), word_models();
// Makes a network with a decoder write texts, from ids that `target` has tokens for. Errors: data.
void write_by(Network& network, const Settings& settings, const text::Encoder& target);

// Returns whether the model takes many columns. Errors: data for an unknown name.
bool takes_many(const Settings& settings);

// Sizes that layers may omit because they follow from the data; 0 if they do not.
struct Hints {
  std::int64_t ids = 0;      // x holds ids in [0, ids): rows of an embedding
  std::int64_t classes = 0;  // of the target: units of the last layer
};
// Applies the layers of the list; the first one takes the first feed. `classes` as in Hints, for
// the last layer. Errors: data for unknown layers, keys and inputs, and for a feed or layer that no
// layer takes; usage for shapes that do not match.
Value apply_layers(const Node& list, const std::vector<Feed>& feeds, std::int64_t classes = 0);

// Returns the loss as a scalar, the mean over the batch.
Value apply_loss(const Node& node, Value logits, Value target);
Task task_of(const Node& loss);
// Which labels the loss, and so the metrics, do not count.
LabelOptions counted_labels(const Node& loss);
// Returns the prediction: probabilities of classes, the probability of 1, or numbers.
Value output_of(const Node& loss, Value logits);
// The inverse: returns the logits for apply_loss from a prediction.
Value logits_of(const Node& loss, Value output);
// Returns `target` with the dtype and shape of `like`, if they differ only by an axis of size 1.
Value fitted(Value target, Value like);

// [train] loss = "crf": a conditional random field over the scores of labels (job_tagging.cc).
// Labels of the target beyond the scores count as label 0. `names` of the labels determine which
// label may follow which.
struct RandomField {
  Value loss;  // the mean of the sequences
  Value tags;
  std::map<std::string, Tensor> constants;
};
RandomField random_field(const Node& loss, Value scores, Value target,
                         const std::vector<std::string>& names);
// Metrics of labels by name, empty for an unknown one; and the one that is always measured.
std::optional<Metric> chunk_metric(const Choice& choice, const Network& network);
Metric label_accuracy(const Network& network);

// The metrics besides the loss: the default ones, and those of [train] metrics. Errors: data.
std::vector<Metric> build_metrics(const Settings& settings, const Network& network);
// The loss and the metrics of [train] in JSON: SaveOptions::measured.
std::string measured_text(const Settings& settings);
// Errors: data for an unknown metric.
void check_metrics(const Settings& settings);
// Returns whether larger is better for the metric of this name; empty for an unknown name.
std::optional<bool> larger_better(std::string_view metric);

Schedule read_schedule(const Settings& settings, double rate, std::int64_t steps_per_epoch);
UpdateOptions read_updates(const Settings& settings);
// Errors: data if the schedule follows a metric that is not measured.
void check_plateau(const Settings& settings, const std::vector<Metric>& metrics);

// Applies the `parameters` table of a layer to the parameters that the layer made, from number
// `first` on, and the list in [train] to parameters whose names match.
void configure_new_parameters(ir::Program& program, std::size_t first, const Node& node);
void configure_parameters(Program& program, const Settings& settings);

Optimizer read_optimizer(const Settings& settings, std::int64_t steps_per_epoch);
// Errors: data for mistakes in [train] that are visible without data.
void check_training(const Settings& settings);

// Returns `name` as a valid name of a Program: other characters than letters, digits and '_' are
// replaced.
std::string identifier(const std::string& name);

}  // namespace trireme::job
