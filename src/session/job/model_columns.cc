// [model] name: models of the bank on many columns, of ids and numbers.

#include <algorithm>

#include "base/error.h"
#include "session/job/model.h"
#include "trireme/models.h"

namespace trireme::job {
namespace {

struct Fields {
  std::vector<models::IdField> ids;
  std::vector<std::string> names;  // of ids
  Value numbers;                   // [batch, n]; empty if there are none
};

Fields read_fields(const Table& table, const std::vector<Feed>& feeds) {
  Fields fields;
  std::vector<Value> numbers;
  for (const auto& [column, value] : feeds) {
    if (column.levels > 0) {
      fail_at(table.self(),
              "column \"" + column.name +
                  "\" is ragged, and this model takes no sequences; name the columns to be used "
                  "with data.input");
    }
    if (column.ids > 0 && is_integer(column.dtype)) {
      fields.ids.push_back({value, column.ids});
      fields.names.push_back(column.name);
    } else if (is_arithmetic_float(column.dtype) && column.shape.size() == 1) {
      numbers.push_back(value);
    } else {
      fail_at(table.self(), "column \"" + column.name +
                                "\" is neither ids nor numbers; name the columns to be used with "
                                "data.input");
    }
  }
  if (fields.ids.empty()) {
    fail_at(table.self(), "this model needs a column of ids, and the data have none");
  }
  if (numbers.size() == 1) fields.numbers = numbers[0];
  if (numbers.size() > 1) fields.numbers = concat(numbers, {.axis = 1});
  return fields;
}

std::int64_t place_of(const Fields& fields, const std::string& name, const Node& node) {
  const auto found = std::find(fields.names.begin(), fields.names.end(), name);
  if (found == fields.names.end())
    fail_unknown({name, &node, &node}, "column of ids", fields.names);
  return found - fields.names.begin();
}

// crosses = [["education", "occupation"]].
std::vector<std::pair<std::int64_t, std::int64_t>> read_crosses(Table& table,
                                                                const Fields& fields) {
  std::vector<std::pair<std::int64_t, std::int64_t>> crosses;
  const Node* list = table.node("crosses");
  if (list == nullptr) return crosses;
  if (list->kind != Node::Kind::list) fail_at(*list, "must be a list of pairs of columns");
  for (const Node& item : list->items) {
    const std::vector<std::string> pair = texts(item);
    if (pair.size() != 2) fail_at(item, "must be two columns of ids");
    crosses.emplace_back(place_of(fields, pair[0], item), place_of(fields, pair[1], item));
  }
  return crosses;
}

// Keys that all of them have.
template <class Options>
Options common(Table& table) {
  Options options;
  options.width = table.size("width", options.width);
  options.hidden = table.list_of_sizes("hidden", options.hidden);
  options.dropout = table.number("dropout", options.dropout);
  options.decay_biases = table.boolean("decay_biases", true);
  options.sparse_gradient = table.boolean("sparse_gradient", false);
  options.weight_init = read_weight_init(table);
  return options;
}

Value wide_and_deep(Table& table, const std::vector<Feed>& feeds, std::int64_t) {
  const Fields fields = read_fields(table, feeds);
  auto options = common<models::WideAndDeepOptions>(table);
  options.classes = table.size("classes", 1);
  options.crosses = read_crosses(table, fields);
  return models::wide_and_deep(fields.ids, fields.numbers, options);
}

Value deepfm(Table& table, const std::vector<Feed>& feeds, std::int64_t) {
  const Fields fields = read_fields(table, feeds);
  return models::deepfm(fields.ids, fields.numbers, common<models::DeepfmOptions>(table));
}

Value two_tower(Table& table, const std::vector<Feed>& feeds, std::int64_t) {
  const Fields fields = read_fields(table, feeds);
  auto options = common<models::TwoTowerOptions>(table);
  options.mean = table.number("mean", options.mean);
  const auto field = [&](const char* key, std::size_t usual) {
    if (const Node* node = table.node(key)) {
      return fields.ids[static_cast<std::size_t>(place_of(fields, table.text(key, ""), *node))];
    }
    if (usual >= fields.ids.size()) {
      fail_at(table.self(), "two_tower needs two columns of ids, and the data have one");
    }
    return fields.ids[usual];
  };
  const models::IdField user = field("user", 0), item = field("item", 1);
  return models::two_tower(user, item, options);
}

}  // namespace

std::vector<BankModel> column_models() {
  return {{"wide_and_deep", true, wide_and_deep},
          {"deepfm", true, deepfm},
          {"two_tower", true, two_tower}};
}

}  // namespace trireme::job
