// Applies the layers that a job lists; nn/catalog/layers.h has them.

#include "nn/catalog/layers.h"

#include "base/error.h"
#include "ir/program.h"
#include "session/job/field_reader.h"
#include "session/job/line.h"
#include "session/job/model.h"

namespace trireme::job {

namespace {

// Sets options that follow from the data, so that a job may leave them out.
template <class Options>
void set_from_data(Options&, const Value&, const Hints&) {}

void set_from_data(nn::LinearOptions& o, const Value&, const Hints& hints) {
  o.units = hints.classes;
}
void set_from_data(nn::EmbeddingOptions& o, const Value&, const Hints& hints) {
  o.num_embeddings = hints.ids;
}
void set_from_data(nn::LearnedPositionsOptions& o, const Value& x, const Hints&) {
  if (x.rank() == 3 && x.dim(1).is_constant()) o.max_steps = x.dim(1).constant();
}

using Apply = std::function<Value(Table&, const Value&, const Hints&)>;

// The layers by name, and the names for suggestions.
struct Layers {
  std::vector<std::pair<std::string, Apply>> known;

  Layers() {
    nn::for_each_layer([this](const nn::Entry& entry, auto defaults, auto apply) {
      known.emplace_back(entry.name,
                         [defaults, apply](Table& table, const Value& x, const Hints& hints) {
                           auto options = defaults;
                           set_from_data(options, x, hints);
                           FieldReader reader(table);
                           fields(reader, options);
                           return apply(x, options);
                         });
    });
  }
  const Apply& find(const Choice& choice) const {
    std::vector<std::string> names;
    for (const auto& [name, apply] : known) {
      if (name == choice.name) return apply;
      names.push_back(name);
    }
    fail_unknown(choice, "layer", names);
  }
};

}  // namespace

Value apply_layer(const Node& node, Value x, const Hints& hints) {
  static const Layers layers;
  const Choice choice = read_choice(node, "a layer");
  const LineGuard line(*x.get()->program, node);
  const Apply& apply = layers.find(choice);
  Table table(*choice.options);
  ir::Program& program = *x.get()->program;
  const std::size_t first = program.parameters().size();
  const Value result = apply(table, x, hints);
  if (const Node* settings = table.node("parameters")) {
    configure_new_parameters(program, first, *settings);
  }
  table.done();
  return result;
}

Value apply_layers(const Node& list, Value x, const Hints& hints) {
  if (list.kind != Node::Kind::list) fail_at(list, "must be a list, but is " + kind_text(list));
  if (list.items.empty()) fail_at(list, "must have at least one layer");
  for (const Node& layer : list.items) {
    const bool last = &layer == &list.items.back();
    x = apply_layer(layer, x, {hints.ids, last ? hints.classes : 0});
  }
  return x;
}

}  // namespace trireme::job
