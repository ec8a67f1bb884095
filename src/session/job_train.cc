// [train] of a job: the loss. job_optimizer.cc reads the rest.

#include <algorithm>

#include "session/job_model.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

const std::vector<std::string> kLosses = {"cross_entropy", "mse", "l1", "huber",
                                          "binary_cross_entropy"};

}  // namespace

Task task_of(const Node& loss) {
  const std::string name = read_choice(loss, "a loss").name;
  if (name == "cross_entropy") return Task::classes;
  return name == "binary_cross_entropy" ? Task::binary : Task::numbers;
}

Value fitted(Value target, Value like) {
  if (target.dtype() != like.dtype()) target = cast(target, {.dtype = like.dtype()});
  const bool wider = target.rank() == like.rank() + 1 && target.dim(-1) == Dim(1);
  const bool narrower = like.rank() == target.rank() + 1 && like.dim(-1) == Dim(1);
  const bool same = product(target.shape()) == product(like.shape());
  return same && (wider || narrower) ? reshape(target, {.shape = like.shape()}) : target;
}

Value apply_loss(const Node& node, Value logits, Value target) {
  const Choice choice = read_choice(node, "a loss");
  Table table(*choice.options);
  if (task_of(node) != Task::classes) target = fitted(target, logits);
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
  check_metrics(settings);
  read_optimizer(settings, 1);
  read_updates(settings);
}

}  // namespace trireme::job
