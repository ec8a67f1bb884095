// [data] filter and sample: which examples a job uses.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "session/job/field_reader.h"
#include "session/job/tables.h"

namespace trireme::job {
namespace {

constexpr std::int64_t kChunk = 4096;  // examples in memory

const data::Column& column_of(const data::Dataset& dataset, const std::string& name,
                              const Node& where) {
  try {
    return dataset.column(name);
  } catch (const Error& error) {
    fail_at(where, error.what());
  }
}

// One number for each example, in the order of the first epoch.
std::vector<double> numbers_of(const data::Dataset& dataset, const data::Column& column,
                               const Node& where) {
  const bool one = std::all_of(column.shape.begin(), column.shape.end(),
                               [](std::int64_t size) { return size == 1; });
  if (column.levels > 0 || !one) {
    fail_at(where, "column \"" + column.name + "\" has no single number for each example");
  }
  std::vector<double> numbers;
  for (std::int64_t begin = 0; begin < dataset.size(); begin += kChunk) {
    const data::Batch rows = dataset.rows(begin, std::min(begin + kChunk, dataset.size()));
    const std::vector<double> part = rows.at(column.name).cast(f64).to_vector<double>();
    numbers.insert(numbers.end(), part.begin(), part.end());
  }
  return numbers;
}

// The numbers that stand for the words: positions in the column's vocabulary, or classes.
std::vector<double> ids_of(const data::Dataset& dataset, const data::Column& column,
                           const FilterTable& filter, const Node& where) {
  std::vector<double> ids = filter.values;
  const std::vector<std::string>& known =
      column.words.empty() ? dataset.class_names() : column.words;
  for (const std::string& word : filter.words) {
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) {
      const std::string near = nearest(word, known);
      fail_at(where, "column \"" + column.name + "\" has no word \"" + word + "\"" +
                         (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
    }
    ids.push_back(static_cast<double>(found - known.begin()));
  }
  return ids;
}

// Whether each example has a number that the filter keeps. NaN fits no limit and no value.
std::vector<bool> fits_number(const data::Dataset& dataset, const data::Column& column,
                              const FilterTable& filter, const Node& where) {
  const std::vector<double> ids = ids_of(dataset, column, filter, where);
  const bool any = filter.values.empty() && filter.words.empty();
  std::vector<bool> fits;
  for (const double x : numbers_of(dataset, column, where)) {
    fits.push_back(!(filter.min && !(x >= *filter.min)) && !(filter.max && !(x <= *filter.max)) &&
                   (any || std::find(ids.begin(), ids.end(), x) != ids.end()));
  }
  return fits;
}

std::vector<bool> fits_length(const data::Dataset& dataset, const data::Column& column,
                              const FilterTable& filter, const Node& where) {
  if (column.levels == 0) {
    fail_at(where, "column \"" + column.name + "\" has no sequences, so no length");
  }
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < dataset.size(); ++i) rows.push_back(dataset.source_row(i));
  std::vector<bool> fits;
  for (const std::int64_t length : dataset.lengths(column.name, rows)) {
    fits.push_back(length >= filter.min_length.value_or(length) &&
                   length <= filter.max_length.value_or(length));
  }
  return fits;
}

data::Dataset apply(const data::Dataset& dataset, const Node& node) {
  Table table(node);
  FilterTable filter;
  read_fields(table, filter);
  table.done();
  const bool by_length = filter.min_length || filter.max_length;
  const bool by_number =
      filter.min || filter.max || !filter.values.empty() || !filter.words.empty();
  if (by_length == by_number) {
    fail_at(node,
            "needs min, max, values or words for a column of numbers, or min_length or max_length "
            "for a column of sequences");
  }
  const data::Column& column = column_of(dataset, filter.column, node);
  const std::vector<bool> fits = by_length ? fits_length(dataset, column, filter, node)
                                           : fits_number(dataset, column, filter, node);
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (fits[i] != filter.invert) kept.push_back(static_cast<std::int64_t>(i));
  }
  if (kept.empty()) fail_at(node, fmt::format("keeps none of {} examples", dataset.size()));
  return dataset.select(kept);
}

}  // namespace

data::Dataset filtered(data::Dataset dataset, const Node& filter) {
  if (filter.kind != Node::Kind::list) return apply(dataset, filter);
  for (const Node& one : filter.items) dataset = apply(dataset, one);
  return dataset;
}

data::Dataset sampled(const data::Dataset& dataset, const DataSettings& settings,
                      const std::string& target, std::uint64_t seed) {
  const SampleTable& sample = settings.sampling;
  const Node& where = *settings.sample;
  const std::string& name = sample.balance ? target : sample.weights;
  std::vector<double> weights = numbers_of(dataset, column_of(dataset, name, where), where);
  if (sample.balance) {
    std::map<double, double> counts;
    for (const double label : weights) {
      if (std::isnan(label)) fail_at(where, "column \"" + name + "\" has NaN, which is no class");
      ++counts[label];
    }
    for (double& weight : weights) weight = 1 / counts.at(weight);
  }
  try {
    return dataset.sample(weights, {.count = sample.count, .seed = seed});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    fail_at(where, error.what());
  }
}

}  // namespace trireme::job
