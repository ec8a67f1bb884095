// [train] of a job: the optimizer and what is done beside its rule.

#include <utility>

#include "session/job/model.h"

namespace trireme::job {
namespace {

void require(const Node& node, bool holds, const char* message) {
  if (!holds) fail_at(node, message);
}

Clip read_clip(const Settings& settings) {
  Clip clip;
  if (settings.clip == nullptr) return clip;
  Table table(*settings.clip);
  clip.value = table.number("value", 0);
  clip.norm = table.number("norm", 0);
  clip.global_norm = table.number("global_norm", 0);
  table.done();
  require(*settings.clip, clip.value >= 0 && clip.norm >= 0 && clip.global_norm >= 0,
          "limits must not be negative");
  return clip;
}

// Reads the keys of a rule whose names equal the members in C++.
template <class Options>
void read_numbers(Table& table, Options& o) {
  const auto fraction = [&](const char* key, double& number) {
    number = table.number(key, number);
    if (number < 0 || number >= 1) fail_at(*table.node(key), "must be in [0, 1)");
  };
  const auto positive = [&](const char* key, double& number) {
    number = table.number(key, number);
    if (!(number >= 0)) fail_at(*table.node(key), "must not be negative");
  };
  if constexpr (requires { o.momentum; }) o.momentum = table.number("momentum", o.momentum);
  if constexpr (requires { o.nesterov; }) o.nesterov = table.boolean("nesterov", o.nesterov);
  if constexpr (requires { o.centred; }) o.centred = table.boolean("centred", o.centred);
  if constexpr (requires { o.beta1; }) fraction("beta1", o.beta1);
  if constexpr (requires { o.beta2; }) fraction("beta2", o.beta2);
  if constexpr (requires { o.decay; }) fraction("decay", o.decay);
  if constexpr (requires { o.epsilon; }) positive("epsilon", o.epsilon);
  if constexpr (requires { o.initial; }) positive("initial", o.initial);
  if constexpr (requires { o.beta; }) positive("beta", o.beta);
  if constexpr (requires { o.l1; }) positive("l1", o.l1);
  if constexpr (requires { o.l2; }) positive("l2", o.l2);
  if constexpr (requires { o.weight_decay; }) positive("weight_decay", o.weight_decay);
}

template <class Options>
Optimizer read_as(Table& table, const Settings& settings, std::int64_t steps_per_epoch) {
  Options optimizer;
  const double rate = table.number("learning_rate", optimizer.learning_rate.rate);
  require(table.self(), rate > 0, "learning_rate must be above 0");
  read_numbers(table, optimizer);
  optimizer.learning_rate = read_schedule(settings, rate, steps_per_epoch);
  optimizer.clip = read_clip(settings);
  table.done();
  return optimizer;
}

using Read = Optimizer (*)(Table&, const Settings&, std::int64_t);

const std::vector<std::pair<std::string, Read>>& known_optimizers() {
  static const std::vector<std::pair<std::string, Read>> known = {
      {"sgd", read_as<Sgd>},           {"momentum", read_as<Momentum>},
      {"adagrad", read_as<Adagrad>},   {"decayed_adagrad", read_as<DecayedAdagrad>},
      {"adadelta", read_as<Adadelta>}, {"rmsprop", read_as<RmsProp>},
      {"adam", read_as<Adam>},         {"adamw", read_as<AdamW>},
      {"adamax", read_as<Adamax>},     {"lamb", read_as<Lamb>},
      {"lion", read_as<Lion>},         {"ftrl", read_as<Ftrl>},
  };
  return known;
}

}  // namespace

Optimizer read_optimizer(const Settings& settings, std::int64_t steps_per_epoch) {
  static const Node by_default = [] {
    Node node;
    node.kind = Node::Kind::text;
    node.text = "adam";
    return node;
  }();
  const Node& node = settings.optimizer == nullptr ? by_default : *settings.optimizer;
  const Choice choice = read_choice(node, "an optimizer");
  Table table(*choice.options);
  std::vector<std::string> names;
  for (const auto& [name, read] : known_optimizers()) {
    if (name == choice.name) return read(table, settings, steps_per_epoch);
    names.push_back(name);
  }
  fail_unknown(choice, "optimizer", names);
}

namespace {

Average read_average(const Node& node) {
  const Choice choice = read_choice(node, "an average");
  Table table(*choice.options);
  Average average;
  if (choice.name == "exponential") {
    const double decay = table.number("decay", average.decay);
    const bool correct = table.boolean("correct_bias", average.correct_bias);
    require(node, decay >= 0 && decay < 1, "decay must be in [0, 1)");
    average = Average::exponential(decay, correct);
  } else if (choice.name == "window") {
    average = Average::window(table.integer("updates", 1000, 1));
  } else {
    fail_unknown(choice, "average", {"exponential", "window"});
  }
  table.done();
  return average;
}

}  // namespace

UpdateOptions read_updates(const Settings& settings) {
  UpdateOptions options;
  options.accumulate = settings.accumulate;
  options.l1 = settings.l1;
  options.l2 = settings.l2;
  if (settings.average != nullptr) options.average = read_average(*settings.average);
  return options;
}

}  // namespace trireme::job
