// [train] of a job: loss, optimizer, schedule.

#include <algorithm>

#include "session/job_model.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

const std::vector<std::string> kLosses = {"cross_entropy", "mse", "l1", "huber",
                                          "binary_cross_entropy"};
const std::vector<std::string> kOptimizers = {"sgd", "momentum", "adam", "adamw"};
const std::vector<std::string> kSchedules = {"constant", "cosine", "step_decay", "exponential",
                                             "polynomial"};

void require(const Node& node, bool holds, const char* message) {
  if (!holds) fail_at(node, message);
}

Schedule read_schedule(const Settings& settings, double rate, std::int64_t steps_per_epoch) {
  if (settings.schedule == nullptr) return rate;
  const Choice choice = read_choice(*settings.schedule, "a schedule");
  Table table(*choice.options);
  const std::int64_t warmup = table.integer("warmup_steps", 0, 0);
  const std::int64_t all = std::max<std::int64_t>(settings.epochs * steps_per_epoch - warmup, 1);
  Schedule schedule = rate;
  if (choice.name == "cosine") {
    schedule = Schedule::cosine(rate, all, table.number("last", 0));
  } else if (choice.name == "polynomial") {
    schedule = Schedule::polynomial(rate, all, table.number("last", 0), table.number("power", 1));
  } else if (choice.name == "step_decay") {
    const std::int64_t epochs = table.integer("every_epochs", 1, 1);
    schedule = Schedule::step_decay(rate, epochs * steps_per_epoch, table.number("factor", 0.1));
  } else if (choice.name == "exponential") {
    schedule = Schedule::exponential(rate, table.number("factor", 0.999));
  } else if (choice.name != "constant") {
    fail_unknown(choice, "schedule", kSchedules);
  }
  table.done();
  return warmup > 0 ? schedule.warmup(warmup) : schedule;
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

template <class AdamLike>
void read_adam(Table& table, AdamLike& adam) {
  adam.beta1 = table.number("beta1", adam.beta1);
  adam.beta2 = table.number("beta2", adam.beta2);
  adam.epsilon = table.number("epsilon", adam.epsilon);
}

template <class Kind>
Optimizer read_common(Table& table, Kind optimizer, const Settings& settings,
                      std::int64_t steps_per_epoch) {
  const double rate = table.number("learning_rate", optimizer.learning_rate.rate);
  require(table.self(), rate > 0, "learning_rate must be above 0");
  optimizer.weight_decay = table.number("weight_decay", optimizer.weight_decay);
  require(table.self(), optimizer.weight_decay >= 0, "weight_decay must not be negative");
  optimizer.learning_rate = read_schedule(settings, rate, steps_per_epoch);
  optimizer.clip = read_clip(settings);
  table.done();
  return optimizer;
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
  if (choice.name == "sgd") return read_common(table, Sgd{}, settings, steps_per_epoch);
  if (choice.name == "momentum") {
    Momentum momentum;
    momentum.momentum = table.number("momentum", momentum.momentum);
    momentum.nesterov = table.boolean("nesterov", false);
    return read_common(table, momentum, settings, steps_per_epoch);
  }
  if (choice.name == "adam") {
    Adam adam;
    read_adam(table, adam);
    return read_common(table, adam, settings, steps_per_epoch);
  }
  if (choice.name == "adamw") {
    AdamW adam;
    read_adam(table, adam);
    return read_common(table, adam, settings, steps_per_epoch);
  }
  fail_unknown(choice, "optimizer", kOptimizers);
}

bool is_cross_entropy(const Node& node) {
  return read_choice(node, "a loss").name == "cross_entropy";
}

Value apply_loss(const Node& node, Value logits, Value target) {
  const Choice choice = read_choice(node, "a loss");
  Table table(*choice.options);
  Value losses;
  if (choice.name == "cross_entropy") {
    const double smoothing = table.number("label_smoothing", 0);
    losses = nn::cross_entropy(logits, target, {.label_smoothing = smoothing});
  } else if (choice.name == "mse") {
    losses = nn::mse(logits, target);
  } else if (choice.name == "l1") {
    losses = nn::l1(logits, target);
  } else if (choice.name == "huber") {
    losses = nn::huber(logits, target, {.delta = table.number("delta", 1)});
  } else if (choice.name == "binary_cross_entropy") {
    losses = nn::binary_cross_entropy_with_logits(logits, target);
  } else {
    fail_unknown(choice, "loss", kLosses);
  }
  table.done();
  return mean(losses);
}

void check_training(const Settings& settings) {
  const Choice loss = read_choice(*settings.loss, "a loss");
  if (std::find(kLosses.begin(), kLosses.end(), loss.name) == kLosses.end()) {
    fail_unknown(loss, "loss", kLosses);
  }
  read_optimizer(settings, 1);
}

}  // namespace trireme::job
