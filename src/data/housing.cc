// The two housing tables: numbers, one text column and a price.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "data/blob.h"
#include "data/csv.h"
#include "data/find.h"
#include "data/order.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

using Numbers = std::vector<double>;

// One column of zeros and ones for every word of a text column, in alphabetical order.
std::vector<Numbers> one_hot_columns(const std::vector<std::string>& cells) {
  const std::set<std::string> words(cells.begin(), cells.end());
  std::vector<Numbers> result;
  for (const std::string& word : words) {
    Numbers column;
    for (const std::string& cell : cells) column.push_back(cell == word ? 1.0 : 0.0);
    result.push_back(std::move(column));
  }
  return result;
}

// To mean 0 and deviation 1 over `rows`; missing values become the mean, a constant column 0.
void standardize(Numbers& column, const std::vector<std::int64_t>& rows) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  const auto present = [&](auto f) {
    for (const std::int64_t row : rows) {
      const double value = column[static_cast<std::size_t>(row)];
      if (!std::isnan(value)) f(value);
    }
  };
  present([&](double value) { sum += value, count += 1; });
  const double mean = count > 0 ? sum / count : 0;
  present([&](double value) { squares += (value - mean) * (value - mean); });
  const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
  for (double& value : column) {
    value = std::isnan(value) || deviation == 0 ? 0 : (value - mean) / deviation;
  }
}

Dataset housing_dataset(const std::vector<Numbers>& features, const Numbers& target,
                        const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::size_t width = features.size();
  Tensor x = Tensor::uninitialized(f32, {count, static_cast<std::int64_t>(width)});
  Tensor y = Tensor::uninitialized(f32, {count, 1});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    for (std::size_t c = 0; c < width; ++c) {
      x.data<float>()[i * width + c] = static_cast<float>(features[c][row]);
    }
    y.data<float>()[i] = static_cast<float>(target[row]);
  }
  return from_tensors({{"features", x}, {"target", y}});
}

// Reads a housing table: numbers are standardized by the training rows, one text column becomes
// zeros and ones, the target is divided by `unit`.
Dataset housing(const std::string& path, const CsvFormat& format, const std::string& target_name,
                double unit, std::string_view part) {
  const CsvTable table = parse_csv(read_blob(path).bytes, path, format);
  const auto rows = static_cast<std::int64_t>(table.rows());
  constexpr std::uint64_t kSeed = 80;
  const Parts split = hold_out(rows, rows - rows * 4 / 5, kSeed);
  std::vector<Numbers> features;
  std::vector<Numbers> flags;
  Numbers target;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    if (table.header[c] == target_name) {
      target = table.numbers(c);
      for (double& value : target) value /= unit;
    } else if (table.header[c] == "ocean_proximity") {
      flags = one_hot_columns(table.columns[c].words());
    } else {
      Numbers column = table.numbers(c, true);
      standardize(column, split.train);
      features.push_back(std::move(column));
    }
  }
  if (target.empty()) fail_data(path + ": no column \"" + target_name + "\"");
  features.insert(features.end(), flags.begin(), flags.end());
  return housing_dataset(features, target, part == "train" ? split.train : split.test);
}

}  // namespace

Dataset california_housing(std::string_view split, const LoadOptions& options) {
  const std::string path =
      find_part(known_place("california_housing"), split, options.directory)[0];
  return housing(path, {}, "median_house_value", 100000.0, split);
}

Dataset boston_housing(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("boston_housing"), split, options.directory)[0];
  return housing(path, {.skip_lines = 1}, "MEDV", 1.0, split);
}

}  // namespace trireme::data
