#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// The examples of an epoch as batches: batch b is rows[begins[b]] to rows[begins[b + 1] - 1].
struct EpochPlan {
  std::vector<std::int64_t> rows;  // of the source
  std::vector<std::int64_t> begins;

  std::int64_t batches() const { return static_cast<std::int64_t>(begins.size()) - 1; }
  std::span<const std::int64_t> batch(std::int64_t number) const {
    const auto b = static_cast<std::size_t>(number);
    return {rows.data() + begins[b], static_cast<std::size_t>(begins[b + 1] - begins[b])};
  }
};

// Cuts the epochs of a data set into batches, always into the same number.
class BatchCut {
 public:
  enum class By { count, length, tokens };

  // What distinguishes batch(), bucket_by_length() and batch_tokens().
  struct Options {
    By by = By::count;
    std::int64_t size = 1;  // of a batch: examples, or packed rows if by tokens
    BucketOptions bucket = {};
    bool drop_last = false;
  };

  // Reads the lengths if they are needed. Errors: usage.
  BatchCut(const Dataset& dataset, Options options);

  EpochPlan plan(const Dataset& dataset, std::int64_t epoch) const;
  const Options& options() const { return options_; }
  std::int64_t batches() const { return batches_; }
  std::int64_t examples() const { return examples_; }

 private:
  void learn_lengths(const Dataset& dataset);
  void sort_by_length(std::vector<std::int64_t>& rows) const;
  std::vector<std::int64_t> begins(const std::vector<std::int64_t>& rows) const;
  std::int64_t length(std::int64_t row) const { return lengths_[static_cast<std::size_t>(row)]; }

  Options options_;
  std::vector<std::int64_t> lengths_;  // of each row of the source in the data set
  std::int64_t examples_ = 0;
  std::int64_t batches_ = 0;
};

}  // namespace trireme::data
