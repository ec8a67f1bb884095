// The conformance suite of layers, losses, optimizers and schedules. It compares the values and
// gradients of the reference with compiled code and with PyTorch, optimizers over 50 steps.
//
// usage: conformance_layers [--no-torch] [--every N] [--python PATH]
//
// --every N checks only every Nth layer.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "layers.h"
#include "torch_reference.h"
#include "trireme/session.h"

namespace trireme::conformance {
namespace {

struct Row {
  std::string name;
  Column compiled;
  TorchColumns torch;
  bool trains = false;  // an optimizer or schedule, which has no gradients
};

Row check_layer(const Case& c, TorchReference& torch) {
  Row row{c.op, {}, {}, false};
  std::vector<std::vector<ops::RefTensor>> expected;
  for (const Run& run : c.runs) {
    expected.push_back(expected_of(c, run));
    torch.add(c, run, expected.back());
  }
  CompiledColumns columns;
  check_compiled(c, expected, columns);
  row.compiled = columns.one_thread;
  for (const Column* other :
       {&columns.two_threads, &columns.interpreter, &columns.unfused, &columns.generated}) {
    row.compiled.worst = std::max(row.compiled.worst, other->worst);
    if (!other->failure.empty()) row.compiled.fail(other->failure);
  }
  return row;
}

Tensor to_tensor(const ops::RefTensor& from, DType dtype) {
  return Tensor::from<double>(from.shape, from.data).cast(dtype);
}

// Runs kSteps steps with the reference and with compiled code.
Row check_training(const TrainingCase& training, TorchReference& torch) {
  const Case& c = training.c;
  const Run& run = c.runs[0];
  Row row{c.op, {}, {}, true};
  ops::RefTensors parameters = run.parameters;
  for (int i = 0; i < TrainingCase::kSteps; ++i) {
    ops::evaluate(c.program->ir(), run.inputs, parameters, {});
  }
  const ops::RefTensor& expected = parameters.at("w");
  torch.add(c, run, {expected});

  Session session(*c.program, {.threads = 1});
  session.set_parameter("w", to_tensor(run.parameters.at("w"), f32));
  Feeds feeds;
  for (const Value& input : c.program->inputs()) {
    const std::string name = input.name().substr(1);
    feeds[name] = to_tensor(run.inputs.at(name), input.dtype());
  }
  for (int i = 0; i < TrainingCase::kSteps; ++i) {
    session.run(feeds, {}, {.training = true, .updates = true});
  }
  ops::RefTensor compiled(expected.shape);
  compiled.data = session.parameter("w").cast(f64).to_vector<double>();
  ++row.compiled.cases;
  row.compiled.worst = distance(compiled, expected);
  constexpr double kTolerance = 1e-4;  // for f32 over 50 steps
  if (!(row.compiled.worst <= kTolerance))
    row.compiled.fail(c.op + ": the compiled steps diverge from the reference by " +
                      std::to_string(row.compiled.worst));
  return row;
}

std::string cell(const Column& column) {
  if (!column.failure.empty()) return "FAIL";
  if (column.cases == 0) return "-";
  char text[24];
  std::snprintf(text, sizeof text, "%.0e", column.worst);
  return text;
}

int print_table(const std::vector<Row>& rows, bool with_torch) {
  int failed = 0;
  std::printf("%-32s %10s %10s %10s\n", "layer or optimizer", "compiled", "PyTorch", "PT grad");
  for (const Row& row : rows) {
    std::printf("%-32s %10s %10s %10s\n", row.name.c_str(), cell(row.compiled).c_str(),
                cell(row.torch.values).c_str(), cell(row.torch.gradients).c_str());
    failed += !row.compiled.failure.empty() || row.compiled.cases == 0;
    if (!with_torch) continue;
    failed += !row.torch.values.failure.empty() || row.torch.values.cases == 0;
    failed +=
        !row.torch.gradients.failure.empty() || (!row.trains && row.torch.gradients.cases == 0);
  }
  std::printf("\nOptimizers and schedules have no gradients of their own. Independent code: %s.\n",
              with_torch ? "PyTorch" : "none (--no-torch)");
  for (const Row& row : rows) {
    for (const Column* column : {&row.compiled, &row.torch.values, &row.torch.gradients}) {
      if (!column->failure.empty()) std::printf("FAIL %s\n", column->failure.c_str());
    }
  }
  std::printf("\n%zu rows, %d cells failed or missing\n", rows.size(), failed);
  return failed;
}

int run(bool with_torch, std::size_t every, const std::string& python) {
  TorchReference torch;
  std::vector<Row> rows;
  const std::vector<Case> layers = layer_cases();
  for (std::size_t i = 0; i < layers.size(); i += every)
    rows.push_back(check_layer(layers[i], torch));
  for (const auto& cases : {schedule_cases, minimization_cases}) {
    for (const Case& c : cases()) {
      rows.push_back(check_layer(c, torch));
      rows.back().trains = true;
    }
  }
  for (const TrainingCase& c : training_cases()) rows.push_back(check_training(c, torch));
  for (const TrainingCase& c : sparse_training_cases()) rows.push_back(check_training(c, torch));
  if (with_torch) {
    auto columns = torch.run(python, std::string(TRIREME_SOURCE) + "/torch_reference.py");
    for (Row& row : rows) {
      std::string key = row.name;
      for (char& letter : key) letter = letter == ' ' ? '_' : letter;
      row.torch = columns[key];
    }
  }
  return print_table(rows, with_torch) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trireme::conformance

int main(int argc, char** argv) {
  bool with_torch = true;
  std::size_t every = 1;  // check every Nth layer
  std::string python = "/usr/bin/python3";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--no-torch") with_torch = false;
    else if (word == "--python" && i + 1 < argc) python = argv[++i];
    else if (word == "--every" && i + 1 < argc)
      every = static_cast<std::size_t>(std::max(1, std::atoi(argv[++i])));
    else return std::fprintf(stderr, "conformance_layers: unknown option %s\n", argv[i]), 2;
  }
  try {
    return trireme::conformance::run(with_torch, every, python);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
