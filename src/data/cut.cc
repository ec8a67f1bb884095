#include "data/cut.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/order.h"

namespace trireme::data {
namespace {

// Tells the order of the batches from that of the examples, which have the same seed.
constexpr std::uint64_t kOrderOfBatches = 0x6261746368657321;

const char* maker(BatchCut::By by) {
  switch (by) {
    case BatchCut::By::count: return "batch";
    case BatchCut::By::length: return "bucket_by_length";
    case BatchCut::By::tokens: return "batch_tokens";
  }
  return "";
}

// The column that is meant: the one that is named or else the only ragged one. Errors: usage.
std::string ragged_column(const char* who, const Dataset& dataset, const std::string& name) {
  if (!name.empty()) return dataset.column(name).name;
  std::string found;
  for (const Column& column : dataset.columns()) {
    if (column.levels == 0) continue;
    if (!found.empty()) {
      fail_usage(std::string(who) + ": the data set has several ragged columns, " + found +
                 " and " + column.name + "; name the one whose rows are counted");
    }
    found = column.name;
  }
  if (found.empty()) fail_usage(std::string(who) + ": the data set has no ragged column");
  return found;
}

EpochPlan in_random_order(const EpochPlan& plan, std::uint64_t seed, std::int64_t epoch) {
  EpochPlan result;
  result.rows.reserve(plan.rows.size());
  result.begins.push_back(0);
  for (const std::int64_t b :
       permutation(plan.batches(), seed ^ kOrderOfBatches, static_cast<std::uint64_t>(epoch))) {
    const std::span<const std::int64_t> rows = plan.batch(b);
    result.rows.insert(result.rows.end(), rows.begin(), rows.end());
    result.begins.push_back(static_cast<std::int64_t>(result.rows.size()));
  }
  return result;
}

}  // namespace

BatchCut::BatchCut(const Dataset& dataset, Options options) : options_(std::move(options)) {
  const std::string who = maker(options_.by);
  const bool tokens = options_.by == By::tokens;
  if (options_.size < 1) {
    fail_usage(who + ": the " + (tokens ? "budget" : "batch size") + " is " +
               std::to_string(options_.size) + ", must be at least 1");
  }
  if (options_.bucket.window < 0) {
    fail_usage(who + ": the window is " + std::to_string(options_.bucket.window) +
               ", must be a number of batches, or 0 for all");
  }
  if (tokens && options_.drop_last) {
    fail_usage(who + ": drop_last leaves out a batch that is not full, but none of these is");
  }
  if (options_.by != By::count) {
    options_.bucket.column = ragged_column(who.c_str(), dataset, options_.bucket.column);
    learn_lengths(dataset);
  }
  const std::int64_t n = dataset.size();
  examples_ = options_.drop_last ? n / options_.size * options_.size : n;
  batches_ = tokens ? plan(dataset, 0).batches()
                    : examples_ / options_.size + (examples_ % options_.size != 0 ? 1 : 0);
}

void BatchCut::learn_lengths(const Dataset& dataset) {
  const std::vector<std::int64_t> rows = dataset.order(0);
  const std::vector<std::int64_t> lengths = dataset.lengths(options_.bucket.column, rows);
  if (rows.empty()) return;
  lengths_.resize(static_cast<std::size_t>(*std::max_element(rows.begin(), rows.end())) + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lengths_[static_cast<std::size_t>(rows[i])] = lengths[i];
  }
}

EpochPlan BatchCut::plan(const Dataset& dataset, std::int64_t epoch) const {
  EpochPlan plan{dataset.order(epoch), {}};
  plan.rows.resize(static_cast<std::size_t>(examples_));
  const bool shuffled = dataset.seed().has_value();
  const bool sorted = options_.by == By::length || (options_.by == By::tokens && shuffled);
  if (sorted) sort_by_length(plan.rows);
  plan.begins = begins(plan.rows);
  return sorted && shuffled ? in_random_order(plan, *dataset.seed(), epoch) : plan;
}

// Examples of equal length keep their order.
void BatchCut::sort_by_length(std::vector<std::int64_t>& rows) const {
  const std::size_t all = std::max<std::size_t>(rows.size(), 1);
  const auto size = static_cast<std::size_t>(options_.size);
  const auto batches = static_cast<std::size_t>(options_.bucket.window);
  const std::size_t window = batches == 0 || batches > all / size ? all : batches * size;
  std::vector<std::pair<std::int64_t, std::size_t>> order;  // length, place in `rows`
  for (std::size_t i = 0; i < rows.size(); ++i) order.emplace_back(length(rows[i]), i);
  for (std::size_t begin = 0; begin < rows.size(); begin += window) {
    const auto from = order.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(from, from + static_cast<std::ptrdiff_t>(std::min(window, rows.size() - begin)));
  }
  const std::vector<std::int64_t> before = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = before[order[i].second];
}

// By count, every example adds 1 to the size of a batch; by tokens, it adds its rows. A batch has
// at least one example.
std::vector<std::int64_t> BatchCut::begins(const std::vector<std::int64_t>& rows) const {
  std::vector<std::int64_t> begins{0};
  const auto count = static_cast<std::int64_t>(rows.size());
  std::int64_t filled = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t next =
        options_.by == By::tokens ? length(rows[static_cast<std::size_t>(i)]) : 1;
    if (i > begins.back() && next > options_.size - filled) {
      begins.push_back(i);
      filled = 0;
    }
    filled += next;
  }
  if (count > 0) begins.push_back(count);
  return begins;
}

}  // namespace trireme::data
