#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/job_settings.h"
#include "trireme/decoding.h"
#include "trireme/metrics.h"
#include "trireme/nn.h"
#include "trireme/optimizer.h"
#include "trireme/program.h"

namespace trireme::job {

// What the loss says of the target.
enum class Task {
  classes,  // i64[batch], a class each; the network ends in one score per class
  labels,  // i64[rows] of sequences; the network ends in scores of labels, and labels are predicted
  binary,  // zeros and ones; the network ends in a logit for each
  numbers,
};

// What a job's [model] and loss become.
struct Network {
  Value target;
  Value logits;  // what the last layer gives; empty of a saved model that gives labels
  Value output;  // what is predicted: output_of() the loss
  Value loss;
  std::vector<Metric> metrics;
  Task task = Task::numbers;
  int layers = 0;                                // 0 if the model is no list of layers
  std::vector<std::string> names = {};           // of the classes or labels, if they have some
  std::map<std::string, Tensor> constants = {};  // values of parameters that are not trained
  // By default a confusion matrix is measured, but not of as many classes as there are words.
  bool confusion = true;
  // Of a model that writes texts: how it does, and what it has written.
  nn::Decoder decoder = {};
  nn::BeamOptions search = {};
  std::optional<nn::Hypotheses> written = {};
};

// Ops made for a line of the job have that line as their place.
Network build_network(Program& program, const Settings& settings, const Columns& columns,
                      const std::string& directory);

// A column that is fed and the input it feeds.
struct Feed {
  data::Column column;
  Value value;
};

// What a model of the bank becomes.
struct Built {
  Value logits;
  nn::Decoder decoder = {};            // of one that writes texts
  nn::BeamOptions search = {};         // without start and end
  Built(Value only) : logits(only) {}  // NOLINT: most models are no more
  Built(Value logits_in, nn::Decoder decoder_in, const nn::BeamOptions& search_in)
      : logits(logits_in), decoder(std::move(decoder_in)), search(search_in) {}
};

// Models of the bank by the names that [model] knows, "resnet20"; job_model_bank.cc has them.
struct BankModel {
  std::string name;
  bool many = false;  // takes many columns, of ids and numbers; else one, the first feed
  // Reads the model's keys and builds it. `classes`: logits of an example by the data, 0 if they do
  // not say it.
  std::function<Built(Table& table, const std::vector<Feed>& feeds, std::int64_t classes)> build;
};
// Errors: data, for an unknown name.
BankModel find_model(const Node& name);
std::vector<BankModel> picture_models(), column_models(), word_models();
// What models have in common.
nn::Activation read_activation(Table& table, const nn::Activation& fallback = {});
std::int64_t read_classes(Table& table, std::int64_t known);
std::int64_t read_blocks(Table& table, std::int64_t fallback);  // `layers` of a Transformer
std::optional<Initializer> read_weight_init(Table& table);
// What goes with the word of that key.
template <class Choice>
Choice read_word(Table& table, const char* key, Choice fallback,
                 const std::vector<std::pair<std::string, Choice>>& known) {
  const std::string word = table.text(key, "");
  if (word.empty()) return fallback;
  std::vector<std::string> words;
  for (const auto& [name, choice] : known) {
    if (name == word) return choice;
    words.push_back(name);
  }
  const Node& node = *table.node(key);
  fail_unknown({word, &node, &node}, key, words);
}

// Has a network with a decoder write texts, of ids that `target` has tokens for. Errors: data.
void write_by(Network& network, const Settings& settings, const text::Encoder& target);

// Whether the model takes many columns. Errors: data, for an unknown name.
bool takes_many(const Settings& settings);

// What layers need not say because the data do; 0 if they do not either.
struct Hints {
  std::int64_t ids = 0;      // x holds ids in [0, ids): rows of an embedding
  std::int64_t classes = 0;  // of the target: units of the last layer
};
// One layer of the list applied to x, and all of them. Errors: data, for unknown layers and keys; usage, for shapes
// that do not fit.
Value apply_layer(const Node& node, Value x, const Hints& hints = {});
Value apply_layers(const Node& list, Value x, const Hints& hints = {});

// Layers of sequences by name (job_sequences.cc).
using ApplyLayer = std::function<Value(Table&, Value)>;
std::vector<std::pair<std::string, ApplyLayer>> sequence_layers();

// The loss as a scalar, the mean over the batch.
Value apply_loss(const Node& node, Value logits, Value target);
Task task_of(const Node& loss);
// What is predicted: probabilities of classes, of the answer 1, or numbers.
Value output_of(const Node& loss, Value logits);
// The other way round: what apply_loss takes for logits, of what is predicted.
Value logits_of(const Node& loss, Value output);
// `target` with the dtype and shape of `like` where only an axis of size 1 is missing or too much.
Value fitted(Value target, Value like);

// [train] loss = "crf": a conditional random field above the scores of labels (job_tagging.cc). Labels of the
// target beyond the scores are taken for label 0. `names` of the labels say which may not follow which.
struct RandomField {
  Value loss;  // the mean of the sequences
  Value tags;
  std::map<std::string, Tensor> constants;
};
RandomField random_field(const Node& loss, Value scores, Value target,
                         const std::vector<std::string>& names);
// Metrics of labels, by name, empty for another one; and the one that is always measured.
std::optional<Metric> chunk_metric(const Choice& choice, const Network& network);
Metric label_accuracy(const Network& network);

// What is measured besides the loss: by default, and by [train] metrics. Errors: data.
std::vector<Metric> build_metrics(const Settings& settings, const Network& network);
// The loss and the metrics of [train] in JSON: SaveOptions::measured.
std::string measured_text(const Settings& settings);
// Errors: data, for a metric that is not known.
void check_metrics(const Settings& settings);
// Whether larger is better of a metric by what it is called; empty if there is none such.
std::optional<bool> larger_better(std::string_view metric);

Schedule read_schedule(const Settings& settings, double rate, std::int64_t steps_per_epoch);
UpdateOptions read_updates(const Settings& settings);
// Errors: data, if the schedule follows a metric that is not measured.
void check_plateau(const Settings& settings, const std::vector<Metric>& metrics);

// What the `parameters` table of a layer and the list in [train] say of parameters: of those that
// the layer made, from number `first` on, and of those that are matched.
void configure_new_parameters(ir::Program& program, std::size_t first, const Node& node);
void configure_parameters(Program& program, const Settings& settings);

Optimizer read_optimizer(const Settings& settings, std::int64_t steps_per_epoch);
// Errors: data, for what can be seen to be wrong in [train] without data.
void check_training(const Settings& settings);

// `name` with all but letters, digits and '_' replaced, so that it can name a Program.
std::string identifier(const std::string& name);

}  // namespace trireme::job
