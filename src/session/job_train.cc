// [train] of a job: the loss. job_optimizer.cc reads the rest.

#include <algorithm>

#include "session/job_model.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

const std::vector<std::string> kLosses = {"cross_entropy", "mse", "l1", "huber",
                                          "binary_cross_entropy"};

}  // namespace

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
  read_updates(settings);
}

}  // namespace trireme::job
