// [model] of a job and what is measured of it.

#include <fmt/format.h>

#include <cctype>

#include "base/error.h"
#include "base/file.h"
#include "ir/program.h"
#include "session/job_line.h"
#include "session/job_model.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

Shape shape_of(const data::Column& column) {
  Shape shape{batch};
  for (const std::int64_t size : column.shape) shape.emplace_back(size);
  return shape;
}

// The input of that name, made if the Program has none yet.
Value input_for(Program& program, const data::Column& column, const Node& where) {
  const LineGuard line(program.ir(), where);
  const Value known = program.find(column.name);
  if (!known) return program.input(column.name, column.dtype, shape_of(column));
  if (known.dtype() != column.dtype || known.shape() != shape_of(column)) {
    fail_at(where, fmt::format("the program's input {} does not fit the data, which are {}{}",
                               known.str(), name_of(column.dtype), str(shape_of(column))));
  }
  return known;
}

Program read_program_file(const Node& node, const std::string& directory) {
  if (node.kind != Node::Kind::text) fail_at(node, "must be the name of a file");
  const bool relative = !node.text.starts_with("/") && !directory.empty();
  const std::string path = relative ? directory + "/" + node.text : node.text;
  const std::string text = read_file(path);
  try {
    return Program::parse(text);
  } catch (const Error& error) {
    fail_data(path + ": " + error.what());
  }
}

void check_classes(const Network& network, const Node& model) {
  if (network.logits.rank() == network.target.rank() + 1 && network.logits.dim(-1).is_constant()) {
    return;
  }
  fail_at(model,
          fmt::format("for a loss of classes the network must end in scores of classes, such as "
                      "{{ linear = {{ units = 10 }} }}, but it ends in {}",
                      network.logits.str()));
}

}  // namespace

std::string identifier(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])))
    result = "job_" + result;
  return result;
}

Network build_network(Program& program, const Settings& settings, const Columns& columns,
                      const std::string& directory) {
  Network network;
  Table model(*settings.model);
  const Node* layers = model.node("layers");
  const Node* file = model.node("program");
  model.done();
  if ((layers == nullptr) == (file == nullptr)) {
    fail_at(*settings.model, "needs either a list of layers or program = \"file\"");
  }
  if (file != nullptr) program = read_program_file(*file, directory);
  network.input = input_for(program, columns.input, *settings.data.train);
  if (file != nullptr) {
    if (program.outputs().size() != 1) fail_at(*file, "the program must return one value");
    network.logits = program.outputs()[0];
  } else {
    network.logits = apply_layers(*layers, network.input);
    network.layers = static_cast<int>(layers->items.size());
  }
  network.target = input_for(program, columns.target, *settings.data.train);
  const LineGuard line(program.ir(), *settings.loss);
  network.task = task_of(*settings.loss);
  if (network.task == Task::classes) check_classes(network, *settings.model);
  network.loss = apply_loss(*settings.loss, network.logits, network.target);
  network.output = output_of(*settings.loss, network.logits);
  network.metrics = build_metrics(settings, network);
  return network;
}

}  // namespace trireme::job
