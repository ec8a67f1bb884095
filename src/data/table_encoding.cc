#include "data/table_encoding.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"

namespace trireme::data {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
using Kind = EncodedColumn::Kind;

constexpr const char* kKinds[] = {"number", "one_hot", "category", "integer"};  // of Kind
constexpr const char* kMissing[] = {"error", "mean", "constant"};               // of Missing

bool has(const Words& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The different words of a column, sorted, without the empty one.
Words vocabulary(const CsvTable& table, std::size_t column) {
  std::set<std::string_view> words;
  for (const std::string_view cell : table.columns[column]) words.insert(cell);
  words.erase("");
  return {words.begin(), words.end()};
}

void fit_numbers(const CsvTable& table, std::size_t c, bool allow_missing, EncodedColumn& column) {
  std::vector<double> values = table.numbers(c, allow_missing);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return;
  const auto count = static_cast<double>(values.size());
  // From the first value, so that the mean of equal values is exactly theirs.
  double sum = 0, variance = 0;
  for (const double value : values) sum += (value - values[0]) / count;
  column.mean = values[0] + sum;
  for (const double value : values) {
    variance += (value - column.mean) * (value - column.mean) / count;
  }
  column.deviation = std::sqrt(variance);
}

EncodedColumn fit_column(const CsvTable& table, std::size_t c, const CsvOptions& options) {
  EncodedColumn column{table.header[c]};
  if (has(options.one_hot, column.name)) column.kind = Kind::one_hot;
  else if (has(options.categories, column.name)) column.kind = Kind::category;
  else if (has(options.integers, column.name)) column.kind = Kind::integer;
  if (column.kind == Kind::one_hot || column.kind == Kind::category) {
    column.words = vocabulary(table, c);
  } else if (column.kind == Kind::number) {
    fit_numbers(table, c, options.missing != Missing::error, column);
  }
  return column;
}

// --- JSON

// Reads one object. Every failure is Error(data) with the name of the file and the key.
class ObjectReader {
 public:
  ObjectReader(const Json& object, const std::string& name) : object_(object), name_(name) {
    if (!object.is_object()) fail("is not an object");
  }

  template <class T>
  T get(const char* key) const {
    try {
      return object_.at(key).get<T>();
    } catch (const Json::exception& error) {
      fail(std::string("\"") + key + "\": " + error.what());
    }
  }
  double number(const char* key) const {
    const auto value = get<double>(key);
    if (!std::isfinite(value)) fail(std::string("\"") + key + "\" is not finite");
    return value;
  }
  template <std::size_t n>
  std::size_t choice(const char* key, const char* const (&names)[n]) const {
    const auto text = get<std::string>(key);
    const auto found = std::find(std::begin(names), std::end(names), text);
    if (found == std::end(names)) fail(std::string("\"") + key + "\": unknown word " + text);
    return static_cast<std::size_t>(found - std::begin(names));
  }
  Words sorted_words(const char* key) const {
    auto words = get<Words>(key);
    if (std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) != words.end()) {
      fail(std::string("\"") + key + "\" is not sorted");
    }
    return words;
  }
  bool has_value(const char* key) const {
    return object_.contains(key) && !object_.at(key).is_null();
  }
  [[noreturn]] void fail(const std::string& what) const {
    fail_data(name_ + ": the encoding of tables " + what);
  }

 private:
  const Json& object_;
  const std::string& name_;
};

Json column_json(const EncodedColumn& column) {
  Json json = {{"name", column.name}, {"kind", kKinds[static_cast<std::size_t>(column.kind)]}};
  if (column.kind == Kind::number) {
    json["mean"] = column.mean;
    json["deviation"] = column.deviation;
  } else if (column.kind != Kind::integer) {
    json["words"] = column.words;
  }
  return json;
}

EncodedColumn read_column(const Json& json, const std::string& name) {
  const ObjectReader object(json, name);
  EncodedColumn column{object.get<std::string>("name"),
                       static_cast<Kind>(object.choice("kind", kKinds))};
  if (column.kind == Kind::number) {
    column.mean = object.number("mean");
    column.deviation = object.number("deviation");
    if (column.deviation < 0) object.fail("has a negative deviation");
  } else if (column.kind != Kind::integer) {
    column.words = object.sorted_words("words");
  }
  return column;
}

// Models of 0.1.0 have none of these.
void read_number_format(const ObjectReader& object, CsvOptions& options) {
  if (object.has_value("skip_initial_space")) {
    options.skip_initial_space = object.get<bool>("skip_initial_space");
  }
  if (object.has_value("decimal")) {
    const auto decimal = object.get<std::string>("decimal");
    if (decimal.size() != 1) object.fail("has a decimal that is not one character");
    options.decimal = decimal[0];
  }
  if (object.has_value("thousands")) {
    const auto thousands = object.get<std::string>("thousands");
    if (thousands.size() > 1) object.fail("has thousands that are not one character");
    options.thousands = thousands.empty() ? '\0' : thousands[0];
  }
}

}  // namespace

TableEncoding fit_table(const CsvTable& table, const CsvOptions& given) {
  TableEncoding encoding{given, {}, "", std::nullopt, table.name};
  CsvOptions& options = encoding.options;
  options.standardise.apply_to(options.standardize);
  const std::size_t target =
      options.target.empty() ? table.header.size() - 1 : table.index(options.target);
  std::vector<std::size_t> chosen;
  for (const Words* list :
       {&options.features, &options.one_hot, &options.categories, &options.integers}) {
    for (const std::string& name : *list) chosen.push_back(table.index(name));
  }
  if (options.features.empty()) {
    chosen.clear();
    for (std::size_t c = 0; c < table.header.size(); ++c) {
      if (c != target) chosen.push_back(c);
    }
  }
  std::set<std::size_t> seen;
  for (const std::size_t c : chosen) {
    if (seen.insert(c).second) encoding.columns.push_back(fit_column(table, c, options));
  }
  encoding.target = table.header[target];
  if (options.classes) encoding.classes = vocabulary(table, target);
  return encoding;
}

std::string encoding_text(const TableEncoding& encoding) {
  const CsvOptions& options = encoding.options;
  Json json = {{"separator", std::string(1, options.separator)},
               {"header", options.header},
               {"skip_lines", options.skip_lines},
               {"names", options.names},
               {"named", options.named},
               {"standardize", options.standardize},
               {"missing", kMissing[static_cast<std::size_t>(options.missing)]},
               {"missing_value", options.missing_value},
               {"missing_word", options.missing_word},
               {"skip_initial_space", options.skip_initial_space},
               {"decimal", std::string(1, options.decimal)},
               {"thousands", options.thousands == 0 ? "" : std::string(1, options.thousands)},
               {"target", encoding.target},
               {"classes", nullptr},
               {"columns", Json::array()}};
  if (encoding.classes) json["classes"] = *encoding.classes;
  for (const EncodedColumn& column : encoding.columns) {
    json["columns"].push_back(column_json(column));
  }
  return json.dump();
}

TableEncoding read_encoding(std::string_view text, const std::string& name) {
  const Json json = try_parse_json<Json>(text);
  const ObjectReader object(json, name);
  TableEncoding encoding;
  CsvOptions& options = encoding.options;
  const auto separator = object.get<std::string>("separator");
  if (separator.size() != 1) object.fail("has a separator that is not one character");
  options.separator = separator[0];
  options.header = object.get<bool>("header");
  options.skip_lines = object.get<int>("skip_lines");
  options.names = object.get<Words>("names");
  options.named = object.get<bool>("named");
  options.standardize = object.get<bool>("standardize");
  options.missing = static_cast<Missing>(object.choice("missing", kMissing));
  options.missing_value = object.number("missing_value");
  options.missing_word = object.get<std::string>("missing_word");
  read_number_format(object, options);
  encoding.target = object.get<std::string>("target");
  if (object.has_value("classes")) encoding.classes = object.sorted_words("classes");
  for (const Json& column : object.get<std::vector<Json>>("columns")) {
    encoding.columns.push_back(read_column(column, name));
  }
  encoding.source = "the training data";
  return encoding;
}

}  // namespace trireme::data
