// Trains a table with a row-sparse gradient over 50 steps, each with different rows.

#include <algorithm>

#include "layers.h"
#include "transforms/autodiff.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::conformance {
namespace {

constexpr std::int64_t kRows = 40, kWidth = 3, kExamples = 12;

// Row i of x holds the ids of step i: for each example, two rows to look up in the table.
Value loss_of(Program& program, const Value& table) {
  const Value x = program.input("x", i64, {TrainingCase::kSteps, 2 * kExamples});
  const Value t = program.input("t", f32, {kExamples, kWidth});
  const Value step = program.parameter("line", i64, {}, {.trainable = false});
  const Value ids = reshape(gather(x, step), {.shape = {2, kExamples}});
  assign(step, step + 1.0);
  const auto look_up = [&](std::int64_t i) {
    const Value row = slice(ids, {.starts = {i, 0}, .limits = {i + 1, kExamples}});
    return gather(table, reshape(row, {.shape = {kExamples}}), {.sparse_gradient = true});
  };
  return mean(nn::mse(look_up(0) * look_up(1), t));
}

TrainingCase training(const std::string& name, const Optimizer& optimizer,
                      const std::string& torch) {
  TrainingCase training;
  Case& c = training.c;
  c.op = "sparse " + name;
  c.torch_reference = torch;
  c.check_gradient = false;
  c.program = std::make_unique<Program>("training");
  const Value w = c.program->parameter("w", f32, {kRows, kWidth});
  const Value loss = loss_of(*c.program, w);
  const transforms::Gradient gradient =
      transforms::gradients_by_rows(loss.get(), {w.get()}).front();
  nn::apply_updates(optimizer, {w},
                    std::vector<nn::Gradient>{{Value(gradient.values), Value(gradient.rows)}});
  const std::vector<Value> inputs = c.program->inputs();
  c.operands = {w.get(), inputs[0].get(), inputs[1].get()};
  c.results = {w.get()};
  Run run{c.op, {}, {}};
  run.inputs["x"] = random_tensor({TrainingCase::kSteps, 2 * kExamples}, i64, 0, kRows, 1);
  run.inputs["t"] = random_tensor({kExamples, kWidth}, f32, -2, 2, 2);
  for (const auto& parameter : c.program->ir().parameters()) {
    ops::RefTensor& value = run.parameters[parameter->name()] =
        ops::RefTensor(evaluate(parameter->value->type.shape, {}));
    const Attributes& attributes = parameter->initializer.attributes;
    if (!has_attribute(attributes, "value")) continue;
    std::fill(value.data.begin(), value.data.end(), get_attribute<double>(attributes, "value"));
  }
  run.parameters["w"] = random_tensor({kRows, kWidth}, f32, -1, 1, 3);
  c.runs.push_back(std::move(run));
  return training;
}

std::string torch_optimizer(const std::string& optimizer) {
  return "formulas.train_rows_with_torch(lambda w: torch.optim." + optimizer + ", x, " +
         std::to_string(TrainingCase::kSteps) + ")";
}

std::string torch_formula(const std::string& rule, const std::string& options) {
  return "formulas.train_rows(formulas." + rule + ", x, " + std::to_string(TrainingCase::kSteps) +
         ", " + options + ")";
}

}  // namespace

std::vector<TrainingCase> sparse_training_cases() {
  std::vector<TrainingCase> cases;
  cases.push_back(training("sgd", Sgd{.learning_rate = 0.5}, torch_optimizer("SGD([w], lr=0.5)")));
  cases.push_back(training("adagrad", Adagrad{.learning_rate = 0.1, .initial = 0.1},
                           torch_optimizer("Adagrad([w], lr=0.1, initial_accumulator_value=0.1)")));
  // PyTorch adds epsilon before the bias correction. With an epsilon this small it makes no
  // difference.
  cases.push_back(training("adam", Adam{.learning_rate = 0.05, .epsilon = 1e-13},
                           torch_optimizer("SparseAdam([w], lr=0.05, eps=1e-13)")));
  cases.push_back(
      training("adam by formula", Adam{.learning_rate = 0.05}, torch_formula("adam", "rate=0.05")));
  cases.push_back(
      training("momentum", Momentum{.learning_rate = 0.3}, torch_formula("momentum", "rate=0.3")));
  cases.push_back(training("nesterov", Momentum{.learning_rate = 0.3, .nesterov = true},
                           torch_formula("momentum", "rate=0.3, nesterov=True")));
  cases.push_back(training("ftrl", Ftrl{.l1 = 0.02, .l2 = 0.1},
                           torch_formula("ftrl", "rate=0.1, l1=0.02, l2=0.1")));
  cases.push_back(training("decayed adagrad", DecayedAdagrad{.learning_rate = 0.02},
                           torch_formula("decayed_adagrad", "rate=0.02")));
  cases.push_back(
      training("lion", Lion{.learning_rate = 0.01}, torch_formula("lion", "rate=0.01")));
  return cases;
}

}  // namespace trireme::conformance
