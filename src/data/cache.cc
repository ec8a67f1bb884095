// Data sets that keep what they have read.

#include <filesystem>
#include <mutex>
#include <shared_mutex>

#include "base/error.h"
#include "data/join.h"
#include "data/wrapped_source.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

// Keeps each example from its first reading on. An example is written once, and then only read.
class CachedSource final : public WrappedSource {
 public:
  explicit CachedSource(std::shared_ptr<const Source> source)
      : WrappedSource(std::move(source)), kept_(static_cast<std::size_t>(this->source_->size())) {}

  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t) const override {
    std::vector<std::int64_t> missing;
    {
      const std::shared_lock lock(mutex_);
      for (const std::int64_t row : rows) {
        if (kept_[static_cast<std::size_t>(row)] == nullptr) missing.push_back(row);
      }
    }
    if (!missing.empty()) {
      const Batch read = source_->gather(missing);
      if (missing.size() == rows.size()) {
        keep(missing, read);
        return read;
      }
      keep(missing, read);
    } else if (rows.empty()) {
      return source_->gather(rows);
    }
    std::vector<Batch> examples;
    const std::shared_lock lock(mutex_);
    for (const std::int64_t row : rows) examples.push_back(*kept_[static_cast<std::size_t>(row)]);
    return joined_copy(examples);
  }

 private:
  void keep(const std::vector<std::int64_t>& rows, const Batch& read) const {
    std::vector<std::shared_ptr<const Batch>> examples;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows.size()); ++i) {
      // In memory of its own, so that a batch does not live as long as one of its examples.
      examples.push_back(std::make_shared<Batch>(gathered(read, columns(), {&i, 1})));
    }
    const std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      kept_[static_cast<std::size_t>(rows[i])] = std::move(examples[i]);
    }
  }

  // A caller may change its batch.
  Batch joined_copy(const std::vector<Batch>& examples) const {
    if (examples.size() > 1) return joined_batches(examples, columns());
    const std::int64_t first = 0;
    return gathered(examples[0], columns(), {&first, 1});
  }

  mutable std::shared_mutex mutex_;
  mutable std::vector<std::shared_ptr<const Batch>> kept_;  // by row
};

}  // namespace

Dataset Dataset::cache() const {
  if (is_forward_only()) return from_tensors(all(), class_names());
  Dataset result = *this;
  result.source_ = std::make_shared<CachedSource>(source_);
  return result;
}

Dataset Dataset::cache(const std::string& path) const {
  Dataset in_order = *this;
  in_order.seed_.reset();
  if (!std::filesystem::exists(path)) write_records(path, in_order);
  Dataset kept = records(path);
  std::string difference = difference_of(columns(), kept.columns());
  if (difference.empty() && kept.size() != size()) {
    difference =
        "it has " + std::to_string(kept.size()) + " examples, not " + std::to_string(size());
  }
  if (!difference.empty()) {
    fail_data("cache: " + path + " is of another data set: " + difference +
              "\n  hint   remove it, or name another file");
  }
  kept.seed_ = seed_;
  return kept;
}

}  // namespace trireme::data
