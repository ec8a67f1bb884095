// Choices of examples: filter, k-fold and weighted samples.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/join.h"
#include "data/order.h"
#include "data/random.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

// Draws examples of another data set, others in every epoch. Example i of an epoch depends only on
// the seed, the epoch and i.
class SampledSource final : public Source {
 public:
  SampledSource(Dataset from, const std::vector<double>& weights, std::int64_t count,
                std::uint64_t seed)
      : from_(std::move(from)), count_(count), seed_(seed) {
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sums_.push_back(sum += weights[i]);
      if (weights[i] > 0) last_ = static_cast<std::int64_t>(i);
    }
  }

  std::int64_t size() const override { return count_; }
  const std::vector<Column>& columns() const override { return from_.columns(); }
  const std::vector<std::string>& class_names() const override { return from_.class_names(); }
  Batch gather(std::span<const std::int64_t> rows) const override { return gather_epoch(rows, 0); }

  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override {
    std::vector<std::int64_t> drawn;
    for (const std::int64_t row : rows) drawn.push_back(from_.source_row(draw(row, epoch)));
    return from_.gather(drawn, epoch);
  }

  std::vector<std::int64_t> lengths(const std::string&,
                                    std::span<const std::int64_t>) const override {
    fail_usage(
        "sample: the lengths differ from epoch to epoch\n  hint   cut the batches by "
        "number, with batch()");
  }

 private:
  std::int64_t draw(std::int64_t row, std::int64_t epoch) const {
    ExampleRandom random(seed_, static_cast<std::uint64_t>(epoch), row);
    const double wanted = random.uniform() * sums_.back();
    const auto at = std::upper_bound(sums_.begin(), sums_.end(), wanted);
    return std::min<std::int64_t>(at - sums_.begin(), last_);
  }

  Dataset from_;
  std::int64_t count_;
  std::uint64_t seed_;
  std::vector<double> sums_;  // of the weights up to each example
  std::int64_t last_ = 0;     // example with a weight above 0
};

void check_weights(const std::vector<double>& weights, std::int64_t examples) {
  if (static_cast<std::int64_t>(weights.size()) != examples) {
    fail_usage(fmt::format("sample: {} weights for {} examples", weights.size(), examples));
  }
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || std::isinf(weights[i])) {
      fail_usage(fmt::format("sample: weight {} is {}, but must be a finite number, at least 0", i,
                             weights[i]));
    }
    sum += weights[i];
  }
  if (!(sum > 0) || std::isinf(sum)) {
    fail_usage(
        fmt::format("sample: the weights sum to {}, but must sum to a finite number above 0", sum));
  }
}

}  // namespace

Dataset Dataset::with_rows(std::vector<std::int64_t> rows) const {
  Dataset result = *this;
  result.rows_ = std::make_shared<std::vector<std::int64_t>>(std::move(rows));
  return result;
}

void Dataset::need_any_order(const char* what) const {
  if (!is_forward_only()) return;
  fail_usage(std::string(what) +
             ": a stream can only be read forward\n  hint   choose and order "
             "examples in the function that reads it, or use its "
             "shuffle_buffer; cache() keeps them");
}

Dataset Dataset::filter(const std::function<bool(const Batch& example)>& keep) const {
  need_any_order("filter");
  if (!keep) fail_usage("filter: no function");
  constexpr std::int64_t kChunk = 256;  // examples in memory
  std::vector<std::int64_t> kept;
  for (std::int64_t begin = 0; begin < size(); begin += kChunk) {
    const std::int64_t end = std::min(size(), begin + kChunk);
    const Batch chunk = rows(begin, end);
    for (std::int64_t i = begin; i < end; ++i) {
      if (keep(slice_of(chunk, columns(), i - begin, i - begin + 1))) kept.push_back(row(i));
    }
  }
  return with_rows(std::move(kept));
}

Dataset Dataset::select(const std::vector<std::int64_t>& positions) const {
  need_any_order("select");
  std::vector<std::int64_t> chosen;
  for (const std::int64_t i : positions) {
    if (i < 0 || i >= size()) {
      fail_usage(fmt::format("select: there is no example {}; there are {}", i, size()));
    }
    chosen.push_back(row(i));
  }
  return with_rows(std::move(chosen));
}

std::vector<Fold> Dataset::k_fold(std::int64_t folds, std::optional<std::uint64_t> seed) const {
  need_any_order("k_fold");
  if (folds < 2 || folds > size()) {
    fail_usage(
        fmt::format("k_fold: {} folds of {} examples; there must be at least 2, and an "
                    "example for each",
                    folds, size()));
  }
  std::vector<std::int64_t> fold_of(static_cast<std::size_t>(size()));
  std::vector<std::int64_t> order;
  if (seed) order = permutation(size(), *seed, 0);
  std::int64_t place = 0;
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    const std::int64_t end = place + size() / folds + (fold < size() % folds ? 1 : 0);
    for (; place < end; ++place) {
      const std::int64_t i = seed ? order[static_cast<std::size_t>(place)] : place;
      fold_of[static_cast<std::size_t>(i)] = fold;
    }
  }
  std::vector<Fold> made;
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    std::vector<std::int64_t> train, validation;
    for (std::int64_t i = 0; i < size(); ++i) {
      (fold_of[static_cast<std::size_t>(i)] == fold ? validation : train).push_back(row(i));
    }
    made.push_back({with_rows(std::move(train)), with_rows(std::move(validation))});
  }
  return made;
}

Dataset Dataset::sample(const std::vector<double>& weights, const SampleOptions& options) const {
  need_any_order("sample");
  check_weights(weights, size());
  if (options.count < 0) {
    fail_usage(fmt::format("sample: count is {}, but must be at least 0", options.count));
  }
  Dataset result = *this;
  result.source_ = std::make_shared<SampledSource>(
      *this, weights, options.count == 0 ? size() : options.count, options.seed);
  result.rows_ = nullptr;
  result.seed_.reset();
  return result;
}

}  // namespace trireme::data
