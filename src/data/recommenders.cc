// Known tables of ids: Adult, MovieLens, Frappe and Criteo.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/blob.h"
#include "data/columns.h"
#include "data/find.h"
#include "data/libsvm.h"
#include "data/order.h"
#include "data/table.h"

namespace trireme::data {
namespace {

// Targets become 0 and 1; in the test file they end in a dot.
CsvTable read_adult(const std::string& path, const CsvOptions& options) {
  CsvTable table = read_table(read_blob(path).bytes, path, options);
  CsvColumn targets;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string_view cell = table.columns.back()[row];
    if (cell.ends_with('.')) cell.remove_suffix(1);
    if (cell != "<=50K" && cell != ">50K") {
      fail_data(path + ":" + std::to_string(table.lines[row]) + ": income is \"" +
                std::string(cell.substr(0, 40)) + "\", must be <=50K or >50K");
    }
    targets.push_back(cell == ">50K" ? "1" : "0");
  }
  table.columns.back() = std::move(targets);
  return table;
}

// A table of the given rows of another.
CsvTable pick_rows(const CsvTable& table, const std::vector<std::int64_t>& rows) {
  CsvTable picked{table.name, table.format, table.header, {}, {}};
  picked.columns.resize(table.columns.size());
  for (const std::int64_t row : rows) {
    const auto at = static_cast<std::size_t>(row);
    picked.lines.push_back(table.lines[at]);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      picked.columns[c].push_back(table.columns[c][at]);
    }
  }
  return picked;
}

// Numbers the different values from 0, in their order.
std::vector<std::int64_t> dense(const std::vector<std::int64_t>& values, std::int64_t* count) {
  std::vector<std::int64_t> known = values;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  *count = static_cast<std::int64_t>(known.size());
  std::vector<std::int64_t> result;
  for (const std::int64_t value : values) {
    result.push_back(std::lower_bound(known.begin(), known.end(), value) - known.begin());
  }
  return result;
}

}  // namespace

Dataset adult(std::string_view split, const LoadOptions& options) {
  const KnownPlace& place = known_place("adult");
  const std::string path = find_part(place, split, options.directory)[0];
  const CsvOptions format{
      .header = false,
      .standardize = true,
      .names = {"age", "workclass", "fnlwgt", "education", "education_num", "marital_status",
                "occupation", "relationship", "race", "sex", "capital_gain", "capital_loss",
                "hours_per_week", "native_country", "income"},
      .categories = {"workclass", "education", "marital_status", "occupation", "relationship",
                     "race", "sex", "native_country"},
      .missing = Missing::mean,
      .missing_word = "?"};
  const CsvTable table = read_adult(path, format);
  const std::vector<std::string> classes = {"<=50K", ">50K"};
  if (split == "train") return table_dataset(table, table, format, classes);
  const CsvTable training = read_adult(find_part(place, "train", options.directory)[0], format);
  return table_dataset(table, training, format, classes);
}

Dataset movielens(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("movielens"), split, options.directory)[0];
  const Dataset all = table_from_csv(
      read_blob(path).bytes, path,
      {.target = "rating", .features = {"userId", "movieId"}, .integers = {"userId", "movieId"}});
  const Batch batch = all.all();
  constexpr std::uint64_t kSeed = 90;
  const Parts parts = hold_out(all.size(), all.size() / 10, kSeed);
  const std::vector<std::int64_t>& rows = parts.of(split);

  const auto count = static_cast<std::int64_t>(rows.size());
  const auto ids = [&](const std::string& from, const std::string& name) {
    Column column{name};
    const std::vector<std::int64_t> numbered =
        dense(batch.at(from).to_vector<std::int64_t>(), &column.ids);
    Tensor tensor = Tensor::uninitialized(i64, {count});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      tensor.data<std::int64_t>()[i] = numbered[static_cast<std::size_t>(rows[i])];
    }
    return std::pair(column, tensor);
  };
  return from_columns({ids("userId", "user"),
                       ids("movieId", "item"),
                       {Column{"rating"}, all.gather(rows).at("target")}});
}

Dataset frappe(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("frappe"), split, options.directory)[0];
  constexpr std::int64_t kIds = 5382;
  return libsvm_from_text(read_blob(path).bytes, path, {.ids = kIds, .zero_one = true});
}

Dataset criteo(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("criteo"), split, options.directory)[0];
  CsvOptions format{.target = "Label", .missing = Missing::constant};
  for (int i = 1; i <= 13; ++i) format.features.push_back("I" + std::to_string(i));
  for (int i = 1; i <= 26; ++i) format.categories.push_back("C" + std::to_string(i));
  const CsvTable table = read_table(read_blob(path).bytes, path, format);
  const auto rows = static_cast<std::int64_t>(table.rows());
  constexpr std::uint64_t kSeed = 80;
  const Parts parts = hold_out(rows, rows / 5, kSeed);
  const Dataset numbers =
      table_dataset(pick_rows(table, parts.of(split)), pick_rows(table, parts.train), format);
  return numbers.map([](Batch batch) {
    Tensor& features = batch.at("features");
    Tensor logs = Tensor::uninitialized(f32, features.shape());
    for (std::int64_t i = 0; i < features.elements(); ++i) {
      logs.data<float>()[i] = std::log1p(std::max(features.data<float>()[i], 0.0f));
    }
    features = std::move(logs);
    return batch;
  });
}

}  // namespace trireme::data
