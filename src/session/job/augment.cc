// [data] augment: random changes of the training pictures.
#include <optional>

#include "base/error.h"
#include "session/job/data_tables.h"
#include "session/job/field_reader.h"

namespace trireme::job {
namespace {

data::Dataset apply(const data::Dataset& dataset, const Choice& choice, std::uint64_t seed) {
  std::optional<data::Dataset> changed;
  std::vector<std::string> names;
  for_each_augmentation([&](const nn::Entry& entry, auto options, auto change) {
    names.emplace_back(entry.name);
    if (choice.name != entry.name) return;
    Table table(*choice.options);
    FieldReader reader(table);
    fields(reader, options);
    table.done();
    changed.emplace(change(options, dataset, seed));
  });
  if (!changed) fail_unknown(choice, "augmentation", names);
  return *changed;
}

}  // namespace

data::Dataset augmented(data::Dataset dataset, const Node& list, std::uint64_t seed) {
  if (list.kind != Node::Kind::list) {
    fail_at(list, "must be a list such as [\"flip\"], but is " + kind_text(list));
  }
  for (const Node& item : list.items) {
    const Choice choice = read_choice(item, "an augmentation");
    try {
      dataset = apply(dataset, choice, seed);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      fail_at(item, error.what());
    }
  }
  return dataset;
}

}  // namespace trireme::job
