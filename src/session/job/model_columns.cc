// [model] name: models of the bank on many columns, of ids and numbers.

#include <algorithm>

#include "base/error.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/model_tables.h"
#include "trireme/models.h"

namespace trireme::job {
namespace {

struct Fields {
  std::vector<models::IdField> ids;
  std::vector<std::string> names;  // of ids
  Value numbers;                   // [batch, n]; empty if there are none
};

Fields fields_of(const Table& table, const std::vector<Feed>& feeds) {
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
std::vector<std::pair<std::int64_t, std::int64_t>> read_crosses(Table& table, const Fields& known) {
  std::vector<std::pair<std::int64_t, std::int64_t>> crosses;
  CrossesKey key;
  read_fields(table, key);
  const Node* const list = key.crosses;
  if (list == nullptr) return crosses;
  if (list->kind != Node::Kind::list) fail_at(*list, "must be a list of pairs of columns");
  for (const Node& item : list->items) {
    const std::vector<std::string> pair = texts(item);
    if (pair.size() != 2) fail_at(item, "must be two columns of ids");
    crosses.emplace_back(place_of(known, pair[0], item), place_of(known, pair[1], item));
  }
  return crosses;
}

template <class Options>
Options options_of(Table& table) {
  Options options;
  read_fields(table, options);
  return options;
}

Value wide_and_deep(Table& table, const std::vector<Feed>& feeds, std::int64_t) {
  const Fields columns = fields_of(table, feeds);
  auto options = options_of<models::WideAndDeepOptions>(table);
  options.crosses = read_crosses(table, columns);
  return models::wide_and_deep(columns.ids, columns.numbers, options);
}

Value deepfm(Table& table, const std::vector<Feed>& feeds, std::int64_t) {
  const Fields columns = fields_of(table, feeds);
  return models::deepfm(columns.ids, columns.numbers, options_of<models::DeepfmOptions>(table));
}

Value two_tower(Table& table, const std::vector<Feed>& feeds, std::int64_t) {
  const Fields columns = fields_of(table, feeds);
  const auto options = options_of<models::TwoTowerOptions>(table);
  TowerKeys keys;
  read_fields(table, keys);
  const auto field = [&](const Node* name, std::size_t usual) {
    if (name != nullptr) {
      if (name->kind != Node::Kind::text) {
        fail_at(*name, "must be text, but is " + kind_text(*name));
      }
      return columns.ids[static_cast<std::size_t>(place_of(columns, name->text, *name))];
    }
    if (usual >= columns.ids.size()) {
      fail_at(table.self(), "two_tower needs two columns of ids, and the data have one");
    }
    return columns.ids[usual];
  };
  const models::IdField user = field(keys.user, 0), item = field(keys.item, 1);
  return models::two_tower(user, item, options);
}

}  // namespace

std::vector<BankModel> column_models() {
  return {{"wide_and_deep", true, wide_and_deep},
          {"deepfm", true, deepfm},
          {"two_tower", true, two_tower}};
}

}  // namespace trireme::job
