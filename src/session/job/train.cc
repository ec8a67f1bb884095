// [train] of a job: the loss. optimizer.cc and schedule.cc read the rest.

#include "ir/program.h"
#include "nn/catalog/losses.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

constexpr double kSmallest = 1e-37;  // that is not denormal in f32

using Apply = std::function<Value(Table&, const Value& logits, const Value& target)>;

struct Loss {
  nn::LossEntry entry;
  Apply apply;
};

const std::vector<Loss>& known_losses() {
  static const std::vector<Loss> losses = [] {
    std::vector<Loss> all;
    nn::for_each_loss([&](const nn::LossEntry& entry, auto defaults, auto apply) {
      all.push_back({entry, [defaults, apply](Table& table, const Value& x, const Value& target) {
                       auto options = defaults;
                       FieldReader reader(table);
                       fields(reader, options);
                       return apply(x, target, options);
                     }});
    });
    return all;
  }();
  return losses;
}

const Loss& known_loss(const Choice& choice) {
  std::vector<std::string> names;
  for (const Loss& loss : known_losses()) {
    if (choice.name == loss.entry.name) return loss;
    names.emplace_back(loss.entry.name);
  }
  fail_unknown(choice, "loss", names);
}

}  // namespace

Task task_of(const Node& loss) { return known_loss(read_choice(loss, "a loss")).entry.task; }

Value output_of(const Node& loss, Value logits) {
  switch (known_loss(read_choice(loss, "a loss")).entry.output) {
    case nn::Output::softmax: return softmax(logits);
    case nn::Output::exponential: return exp(logits);
    case nn::Output::sigmoid: return sigmoid(logits);
    case nn::Output::itself:
    case nn::Output::labels: break;
  }
  return logits;
}

LabelOptions counted_labels(const Node& loss) {
  const Choice choice = read_choice(loss, "a loss");
  if (choice.name != "cross_entropy") return {};
  Table table(*choice.options);
  nn::CrossEntropyOptions options;
  FieldReader reader(table);
  fields(reader, options);
  return {.ignore_index = options.ignore_index};
}

Value logits_of(const Node& loss, Value output) {
  // Shares that underflowed are taken for the smallest number, so that their logarithms are finite.
  const auto log_of = [](const Value& x) { return log(maximum(x, kSmallest)); };
  const ir::Op* op = output.get()->producer;
  switch (known_loss(read_choice(loss, "a loss")).entry.output) {
    case nn::Output::softmax:
    case nn::Output::exponential: return log_of(output);
    case nn::Output::sigmoid:
      if (op != nullptr && op->name() == "sigmoid") return Value(op->operands[0]);
      return log_of(output) - log_of(1.0 - output);
    case nn::Output::itself:
    case nn::Output::labels: break;
  }
  return output;
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
  const Loss& loss = known_loss(choice);
  if (loss.entry.task == Task::labels) return random_field(node, logits, target, {}).loss;
  if (loss.entry.task != Task::classes) target = fitted(target, logits);
  Table table(*choice.options);
  const Value losses = loss.apply(table, logits, target);
  table.done();
  return losses.rank() == 0 ? losses : mean(losses);
}

void check_training(const Settings& settings) {
  known_loss(read_choice(*settings.loss, "a loss"));
  check_metrics(settings);
  read_optimizer(settings, 1);
  read_updates(settings);
}

}  // namespace trireme::job
