// [model] of a job and what is measured of it.

#include <fmt/core.h>

#include <cctype>

#include "base/error.h"
#include "base/file.h"
#include "ir/program.h"
#include "session/job/fine_tune.h"
#include "session/job/line.h"
#include "session/job/model.h"
#include "trireme/models.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

Shape rows_shape(const Dim& rows, const data::Column& column) {
  Shape shape{rows};
  for (const std::int64_t size : column.shape) shape.emplace_back(size);
  return shape;
}

// A symbol counts the sequences of each level: batch, words_1, words_2 ...
Value ragged_input(Program& program, const data::Column& column) {
  Shape outer{batch};
  for (int level = 1; level < column.levels; ++level) {
    outer.emplace_back(std::string_view(fmt::format("{}_{}", column.name, level)));
  }
  return program.input(column.name, column.dtype,
                       ragged(outer, Shape(column.shape.begin(), column.shape.end())));
}

// The input of that name, made if the Program has none yet.
Value input_for(Program& program, const Columns& columns, const data::Column& column,
                const Node& where) {
  const LineGuard line(program.ir(), where);
  const Value known = program.find(column.name);
  const auto shared = columns.rows_of.find(column.name);
  if (!known && shared != columns.rows_of.end()) {
    return program.input(column.name, column.dtype,
                         rows_shape(program.find(shared->second).dim(0), column));
  }
  if (!known && column.levels > 0) return ragged_input(program, column);
  const Shape shape = rows_shape(batch, column);
  if (!known) return program.input(column.name, column.dtype, shape);
  if (column.levels > 0) return known;  // feeds are checked when they come
  if (known.dtype() != column.dtype || known.shape() != shape) {
    fail_at(where, fmt::format("the program's input {} does not fit the data, which are {}{}",
                               known.str(), name_of(column.dtype), str(shape)));
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

// A target for each row of sequences needs a network that keeps them.
void check_rows(const Network& network, const Columns& columns, const Node& model) {
  if (columns.target.levels == 0) return;
  const Value& logits = network.logits;
  if (logits.rank() > 0 && logits.dim(0) == network.target.dim(0)) return;
  fail_at(model,
          fmt::format("there is a target for each row of \"{}\", {}, but the network ends in {}; "
                      "layers such as \"sequence_mean\" make one row of a sequence",
                      columns.rows_of.at(columns.target.name), network.target.str(), logits.str()));
}

void check_last_width(const Network& network, const Node& model) {
  if (network.logits.rank() == network.target.rank() + 1 && network.logits.dim(-1).is_constant()) {
    return;
  }
  fail_at(model,
          fmt::format("for a loss of classes the network must end in scores of classes, such as "
                      "{{ linear = {{ units = 10 }} }}, but it ends in {}",
                      network.logits.str()));
}

// [model] normalize, of pictures.
Value normalized(const Node& node, const Value& x) {
  Table table(node);
  const std::vector<double> mean = table.numbers("mean", {0});
  const std::vector<double> stddev = table.numbers("stddev", {1});
  table.done();
  const LineGuard line(*x.get()->program, node);
  return models::normalize(x, mean, stddev);
}

// How many numbers the network must give for one example; 0 if nothing says it.
std::int64_t outputs_of(const Columns& columns, const Node& loss) {
  const Task task = task_of(loss);
  if (task == Task::classes || task == Task::labels) return columns.classes;
  std::int64_t count = 1;
  for (const std::int64_t size : columns.target.shape) count *= size;
  return count;
}

std::vector<Feed> feeds_for(Program& program, const Columns& columns, const Node& where) {
  std::vector<Feed> feeds;
  for (const data::Column& column : columns.inputs) {
    feeds.push_back({column, input_for(program, columns, column, where)});
  }
  return feeds;
}

Value build_logits(Program& program, const Settings& settings, const Columns& columns,
                   const std::string& directory, Network& network) {
  Table model(*settings.model);
  const Node* file = model.node("program");
  const Node* name = model.node("name");
  // Beside a name it is a key of that model.
  const Node* layers = name != nullptr ? nullptr : model.node("layers");
  const Node* normalize = model.node("normalize");
  model.node(kFrom);  // fine_tune.h reads these
  model.node(kFresh);
  if ((layers != nullptr) + (file != nullptr) + (name != nullptr) != 1) {
    fail_at(*settings.model,
            "needs one of a list of layers, name = \"resnet20\" or program = \"file\"");
  }
  if (file != nullptr) program = read_program_file(*file, directory);
  std::vector<Feed> feeds = feeds_for(program, columns, *settings.data.train);
  if (file != nullptr) {
    if (normalize != nullptr) fail_at(*normalize, "is no part of a program that is in a file");
    model.done();
    if (program.outputs().size() != 1) fail_at(*file, "the program must return one value");
    return program.outputs()[0];
  }
  if (normalize != nullptr) feeds[0].value = normalized(*normalize, feeds[0].value);
  if (layers != nullptr) {
    model.done();
    network.layers = static_cast<int>(layers->items.size());
    return apply_layers(*layers, feeds, outputs_of(columns, *settings.loss));
  }
  const BankModel known = find_model(*name);
  if (!known.many && columns.inputs[0].levels > 0) {
    fail_at(*name, "column \"" + columns.inputs[0].name +
                       "\" holds sequences of different lengths, which this model does not take; "
                       "list layers, such as \"embedding\" and \"sequence_mean\"");
  }
  const LineGuard line(program.ir(), *name);
  Built built = known.build(model, feeds, outputs_of(columns, *settings.loss));
  model.done();
  network.decoder = std::move(built.decoder);
  network.search = built.search;
  return built.logits;
}

}  // namespace

std::string identifier(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])))
    result = "job_" + result;
  return result;
}

bool takes_many(const Settings& settings) {
  const Node* name = settings.model->find("name");
  if (name != nullptr) return find_model(*name).many;
  // Layers take several columns by name.
  return settings.model->find("layers") != nullptr && settings.data.input != nullptr;
}

Network build_network(Program& program, const Settings& settings, const Columns& columns,
                      const std::string& directory) {
  Network network;
  network.logits = build_logits(program, settings, columns, directory, network);
  network.target = input_for(program, columns, columns.target, *settings.data.train);
  const LineGuard line(program.ir(), *settings.loss);
  network.task = task_of(*settings.loss);
  network.labels = counted_labels(*settings.loss);
  network.confusion = columns.target.ids == 0;
  check_rows(network, columns, *settings.model);
  network.names = columns.names;
  const bool labels = network.task == Task::labels;
  if (labels || network.task == Task::classes) check_last_width(network, *settings.model);
  if (labels) {
    if (columns.target.levels == 0) {
      fail_at(*settings.loss,
              "a loss of labels needs a target for each row of sequences, but column \"" +
                  columns.target.name + "\" is not ragged");
    }
    RandomField field = random_field(*settings.loss, network.logits, network.target, columns.names);
    network.loss = field.loss;
    network.output = field.tags;
    network.constants = std::move(field.constants);
  } else {
    network.loss = apply_loss(*settings.loss, network.logits, network.target);
    network.output = output_of(*settings.loss, network.logits);
  }
  network.metrics = build_metrics(settings, network);
  return network;
}

}  // namespace trireme::job
