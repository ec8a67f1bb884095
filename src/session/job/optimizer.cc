// [train] of a job: the optimizer and what is done beside its rule.

#include <utility>

#include "nn/catalog/optimizers.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/tables.h"

namespace trireme::job {
namespace {

Clip read_clip(const Settings& settings) {
  Clip clip;
  if (settings.clip == nullptr) return clip;
  Table table(*settings.clip);
  FieldReader reader(table);
  fields(reader, clip);
  table.done();
  return clip;
}

using Read = std::function<Optimizer(Table&, const Settings&, std::int64_t steps_per_epoch)>;

const std::vector<std::pair<std::string, Read>>& known_optimizers() {
  static const std::vector<std::pair<std::string, Read>> known = [] {
    std::vector<std::pair<std::string, Read>> all;
    for_each_optimizer([&](const nn::Entry& entry, auto defaults) {
      all.emplace_back(entry.name,
                       [defaults](Table& table, const Settings& settings,
                                  std::int64_t steps_per_epoch) -> Optimizer {
                         auto optimizer = defaults;
                         FieldReader reader(table);
                         optimizer_fields(reader, optimizer);
                         optimizer.learning_rate =
                             read_schedule(settings, optimizer.learning_rate.rate, steps_per_epoch);
                         optimizer.clip = read_clip(settings);
                         table.done();
                         return optimizer;
                       });
    });
    return all;
  }();
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
  std::optional<Average> average;
  std::vector<std::string> names;
  for_each_average([&](const nn::Entry& entry, auto options, auto make) {
    names.emplace_back(entry.name);
    if (choice.name != entry.name) return;
    FieldReader reader(table);
    fields(reader, options);
    average = make(options);
  });
  if (!average) fail_unknown(choice, "average", names);
  table.done();
  return *average;
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
