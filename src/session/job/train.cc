// [train] of a job: the loss. job_optimizer.cc reads the rest.

#include "ir/program.h"
#include "session/job/model.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

constexpr double kSmallest = 1e-37;  // that is not denormal in f32

struct Known {
  const char* name;
  Task task;
  bool probability = false;  // of zeros and ones: the logit's sigmoid is the answer's probability
};

constexpr Known kLosses[] = {
    {"cross_entropy", Task::classes},
    {"focal_cross_entropy", Task::classes},
    {"multi_class_hinge", Task::classes},
    {"crf", Task::labels},
    {"binary_cross_entropy", Task::binary, true},
    {"focal", Task::binary, true},
    {"dice", Task::binary, true},
    {"hinge", Task::binary},
    {"squared_hinge", Task::binary},
    {"mse", Task::numbers},
    {"l1", Task::numbers},
    {"huber", Task::numbers},
    {"smooth_l1", Task::numbers},
    {"poisson_nll", Task::numbers},
    {"kl_divergence", Task::numbers},
};

const Known& known_loss(const Choice& choice) {
  std::vector<std::string> names;
  for (const Known& known : kLosses) {
    if (choice.name == known.name) return known;
    names.emplace_back(known.name);
  }
  fail_unknown(choice, "loss", names);
}

Value loss_of_classes(const std::string& name, Table& table, Value logits, Value target) {
  if (name == "cross_entropy") {
    const double smoothing = table.number("label_smoothing", 0);
    return nn::cross_entropy(logits, target, {.label_smoothing = smoothing});
  }
  if (name == "focal_cross_entropy") {
    return nn::focal_cross_entropy(logits, target, {.gamma = table.number("gamma", 2)});
  }
  const double margin = table.number("margin", 1);
  return nn::multi_class_hinge(logits, target,
                               {.margin = margin, .squared = table.boolean("squared", false)});
}

Value loss_of_answers(const std::string& name, Table& table, Value logits, Value target) {
  if (name == "binary_cross_entropy") {
    return nn::binary_cross_entropy_with_logits(logits, target);
  }
  if (name == "focal") {
    const double gamma = table.number("gamma", 2);
    return nn::focal(logits, target, {.gamma = gamma, .alpha = table.number("alpha", 0.25)});
  }
  if (name == "dice") {
    return nn::dice(sigmoid(logits), target, {.smooth = table.number("smooth", 1)});
  }
  const nn::HingeOptions options{.margin = table.number("margin", 1)};
  return name == "hinge" ? nn::hinge(logits, target, options)
                         : nn::squared_hinge(logits, target, options);
}

Value loss_of_numbers(const std::string& name, Table& table, Value logits, Value target) {
  if (name == "mse") return nn::mse(logits, target);
  if (name == "l1") return nn::l1(logits, target);
  if (name == "huber") return nn::huber(logits, target, {.delta = table.number("delta", 1)});
  if (name == "smooth_l1") {
    return nn::smooth_l1(logits, target, {.beta = table.number("beta", 1)});
  }
  if (name == "poisson_nll") return nn::poisson_nll(logits, target);
  return sum(nn::kl_divergence(log_softmax(logits), target), {.axes = {-1}});
}

}  // namespace

Task task_of(const Node& loss) { return known_loss(read_choice(loss, "a loss")).task; }

Value output_of(const Node& loss, Value logits) {
  const Known& known = known_loss(read_choice(loss, "a loss"));
  const std::string name = known.name;
  if (known.task == Task::classes || name == "kl_divergence") return softmax(logits);
  if (name == "poisson_nll") return exp(logits);
  return known.probability ? sigmoid(logits) : logits;
}

Value logits_of(const Node& loss, Value output) {
  const Known& known = known_loss(read_choice(loss, "a loss"));
  const std::string name = known.name;
  // Shares that underflowed are taken for the smallest number, so that their logarithms are finite.
  const auto log_of = [](const Value& x) { return log(maximum(x, kSmallest)); };
  if (known.task == Task::classes || name == "kl_divergence" || name == "poisson_nll") {
    return log_of(output);
  }
  if (!known.probability) return output;
  const ir::Op* op = output.get()->producer;
  if (op != nullptr && op->name() == "sigmoid") return Value(op->operands[0]);
  return log_of(output) - log_of(1.0 - output);
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
  const Task task = known_loss(choice).task;
  if (task == Task::labels) return random_field(node, logits, target, {}).loss;
  Table table(*choice.options);
  Value losses;
  if (task == Task::classes) {
    losses = loss_of_classes(choice.name, table, logits, target);
  } else {
    target = fitted(target, logits);
    losses = task == Task::binary ? loss_of_answers(choice.name, table, logits, target)
                                  : loss_of_numbers(choice.name, table, logits, target);
  }
  table.done();
  return mean(losses);
}

void check_training(const Settings& settings) {
  known_loss(read_choice(*settings.loss, "a loss"));
  check_metrics(settings);
  read_optimizer(settings, 1);
  read_updates(settings);
}

}  // namespace trireme::job
