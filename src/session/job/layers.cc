// Applies the layers that a job lists; nn/catalog/layers.h has them.

#include "nn/catalog/layers.h"

#include <fmt/format.h>

#include <algorithm>

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

using Apply = std::function<Value(Table&, const std::vector<Value>&, const Hints&)>;
struct Layer {
  std::string name;
  bool joins = false;  // takes several inputs; otherwise one
  Apply apply;
};

// All layers, and their names for suggestions.
struct Layers {
  std::vector<Layer> known;

  Layers() {
    nn::for_each_layer([this](const nn::Entry& entry, auto defaults, auto apply) {
      add(entry, defaults, false, [apply](const std::vector<Value>& inputs, const auto& options) {
        return apply(inputs[0], options);
      });
    });
    nn::for_each_join([this](const nn::Entry& entry, auto defaults, auto apply) {
      add(entry, defaults, true, apply);
    });
  }
  const Layer& find(const Choice& choice) const {
    std::vector<std::string> names;
    for (const Layer& layer : known) {
      if (layer.name == choice.name) return layer;
      names.push_back(layer.name);
    }
    fail_unknown(choice, "layer", names);
  }

 private:
  template <class Options, class Function>
  void add(const nn::Entry& entry, Options defaults, bool joins, Function apply) {
    known.push_back(
        {entry.name, joins,
         [defaults, apply](Table& table, const std::vector<Value>& inputs, const Hints& hints) {
           auto options = defaults;
           set_from_data(options, inputs[0], hints);
           FieldReader reader(table);
           fields(reader, options);
           return apply(inputs, options);
         }});
  }
};

// An entry of the list: a choice, and the keys beside it.
struct LayerEntry {
  Choice choice;
  const Node* name = nullptr;
  const Node* inputs = nullptr;
};

LayerEntry read_entry(const Node& node) {
  LayerEntry entry;
  const Node* layer = nullptr;
  std::size_t others = 0;
  if (node.kind == Node::Kind::table) {
    for (const Node& member : node.members) {
      if (member.key == "name") entry.name = &member;
      else if (member.key == "inputs") entry.inputs = &member;
      else layer = &member, ++others;
    }
  }
  if (entry.name == nullptr && entry.inputs == nullptr) {
    entry.choice = read_choice(node, "a layer");
    return entry;
  }
  if (others != 1) {
    fail_at(node, fmt::format("must have one key that names a layer, besides \"name\" and "
                              "\"inputs\", but has {}",
                              others));
  }
  entry.choice = {layer->key, layer, &node};
  return entry;
}

// The columns and the layers so far. Each layer takes the result of the one before, or of the
// columns and layers that its `inputs` name.
class Graph {
 public:
  Graph(const Node& list, const std::vector<Feed>& feeds) : list_(list) {
    for (const Feed& feed : feeds) {
      parts_.push_back({feed.column.name, nullptr, feed.value, feed.column.ids});
    }
    columns_ = parts_.size();
  }

  Value build(std::int64_t classes) {
    for (const Node& node : list_.items) {
      const bool last = &node == &list_.items.back();
      const LayerEntry entry = read_entry(node);
      const std::string name = entry.name == nullptr ? "" : new_name(*entry.name);
      const std::vector<std::size_t> inputs = inputs_of(node, entry);
      std::vector<Value> values;
      for (const std::size_t input : inputs) values.push_back(parts_[input].value);
      const Hints hints{parts_[inputs[0]].ids, last ? classes : 0};
      const Value result = apply(node, entry, values, hints);
      parts_.push_back({name, &node, result, parts_[inputs[0]].ids});
    }
    parts_.back().used = true;
    check_all_used();
    return parts_.back().value;
  }

 private:
  struct Part {
    std::string name;  // "": a layer without one
    const Node* node;  // of a layer
    Value value;
    std::int64_t ids = 0;
    bool used = false;
  };

  std::string new_name(const Node& node) const {
    if (node.kind != Node::Kind::text || node.text.empty()) fail_at(node, "must be a text");
    for (const Part& part : parts_) {
      if (part.name != node.text) continue;
      fail_at(node, fmt::format(
                        "\"{}\" is already the name of {}", node.text,
                        part.node == nullptr ? "a column" : "the layer at " + part.node->where()));
    }
    return node.text;
  }

  std::vector<std::size_t> inputs_of(const Node& node, const LayerEntry& entry) {
    std::vector<std::size_t> inputs;
    if (entry.inputs == nullptr) {
      inputs.push_back(&node == &list_.items.front() ? 0 : parts_.size() - 1);
    } else {
      for (const std::string& name : texts(*entry.inputs))
        inputs.push_back(find(*entry.inputs, name));
      if (inputs.empty()) fail_at(*entry.inputs, "must name at least one input");
    }
    for (const std::size_t input : inputs) parts_[input].used = true;
    return inputs;
  }

  std::size_t find(const Node& node, const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].name.empty()) continue;
      if (parts_[i].name == name) return i;
      names.push_back(parts_[i].name);
    }
    const std::string near = nearest(name, names);
    fail_at(node, fmt::format("no column or earlier layer is called \"{}\"{}\n  known  {}", name,
                              near.empty() ? "" : "; did you mean \"" + near + "\"?",
                              fmt::join(names, ", ")));
  }

  static Value apply(const Node& node, const LayerEntry& entry, const std::vector<Value>& inputs,
                     const Hints& hints) {
    static const Layers layers;
    ir::Program& program = *inputs[0].get()->program;
    const LineGuard line(program, node);
    const Layer& layer = layers.find(entry.choice);
    if (layer.joins && inputs.size() < 2) {
      fail_at(node, fmt::format("\"{0}\" joins several inputs: {{ {0} = {{}}, inputs = [\"a\", "
                                "\"b\"] }}",
                                layer.name));
    }
    if (!layer.joins && inputs.size() > 1) {
      fail_at(*entry.inputs, fmt::format("\"{}\" takes one input; join several with \"add\", "
                                         "\"multiply\" or \"concat\"",
                                         layer.name));
    }
    Table table(*entry.choice.options);
    const std::size_t first = program.parameters().size();
    const Value result = layer.apply(table, inputs, hints);
    if (const Node* settings = table.node("parameters")) {
      configure_new_parameters(program, first, *settings);
    }
    table.done();
    return result;
  }

  void check_all_used() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].used) continue;
      const std::string hint = "\n  hint   name it in the inputs of another layer";
      if (i >= columns_) fail_at(*parts_[i].node, "no layer takes the result of this one" + hint);
      fail_at(list_, "no layer takes the column \"" + parts_[i].name + "\"" + hint);
    }
  }

  const Node& list_;
  std::vector<Part> parts_;
  std::size_t columns_ = 0;  // the first parts
};

}  // namespace

Value apply_layers(const Node& list, const std::vector<Feed>& feeds, std::int64_t classes) {
  if (list.kind != Node::Kind::list) fail_at(list, "must be a list, but is " + kind_text(list));
  if (list.items.empty()) fail_at(list, "must have at least one layer");
  return Graph(list, feeds).build(classes);
}

}  // namespace trireme::job
