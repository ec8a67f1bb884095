// Several data sets, one after the other.

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/join.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

class ConcatenatedSource final : public Source {
 public:
  explicit ConcatenatedSource(std::vector<Dataset> parts) : parts_(std::move(parts)) {
    begins_.push_back(0);
    for (const Dataset& part : parts_) begins_.push_back(begins_.back() + part.size());
    columns_ = parts_[0].columns();
    for (const Dataset& part : parts_) {
      if (class_names_.empty()) class_names_ = part.class_names();
      for (Column& column : columns_) merge(column, part.column(column.name));
    }
  }

  std::int64_t size() const override { return begins_.back(); }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  Batch gather(std::span<const std::int64_t> rows) const override { return gather_epoch(rows, 0); }

  // Reads the examples of each part together, then puts them in order.
  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override {
    if (rows.empty()) return parts_[0].gather({}, epoch);
    std::vector<std::int64_t> by_part(rows.size()), place(rows.size());
    std::iota(by_part.begin(), by_part.end(), 0);
    const auto row = [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; };
    std::sort(by_part.begin(), by_part.end(), [&](std::int64_t a, std::int64_t b) {
      return std::pair(part_of(row(a)), a) < std::pair(part_of(row(b)), b);
    });
    std::vector<Batch> batches;
    for (std::size_t i = 0; i < by_part.size();) {
      const std::size_t part = part_of(row(by_part[i]));
      std::vector<std::int64_t> wanted;
      for (; i < by_part.size() && part_of(row(by_part[i])) == part; ++i) {
        wanted.push_back(row(by_part[i]) - begins_[part]);
        place[static_cast<std::size_t>(by_part[i])] = static_cast<std::int64_t>(i);
      }
      batches.push_back(parts_[part].gather(source_rows(part, wanted), epoch));
    }
    const Batch joined = joined_batches(batches, columns_);
    return std::is_sorted(place.begin(), place.end()) ? joined : gathered(joined, columns_, place);
  }

  std::vector<std::int64_t> lengths(const std::string& column,
                                    std::span<const std::int64_t> rows) const override {
    std::vector<std::int64_t> lengths;
    for (const std::int64_t row : rows) {
      const std::size_t part = part_of(row);
      const std::vector<std::int64_t> own = source_rows(part, {row - begins_[part]});
      lengths.push_back(parts_[part].lengths(column, own)[0]);
    }
    return lengths;
  }

 private:
  static void merge(Column& column, const Column& other) {
    column.ids = column.ids == 0 || other.ids == 0 ? 0 : std::max(column.ids, other.ids);
    if (column.words != other.words) column.words.clear();
  }

  std::size_t part_of(std::int64_t row) const {
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), row) -
                                    begins_.begin() - 1);
  }

  std::vector<std::int64_t> source_rows(std::size_t part,
                                        const std::vector<std::int64_t>& places) const {
    std::vector<std::int64_t> rows;
    for (const std::int64_t place : places) rows.push_back(parts_[part].source_row(place));
    return rows;
  }

  std::vector<Dataset> parts_;
  std::vector<std::int64_t> begins_;  // of each part, and the end
  std::vector<Column> columns_;
  std::vector<std::string> class_names_;
};

void check_parts(const std::vector<Dataset>& parts) {
  if (parts.empty()) fail_usage("concatenate: no data sets");
  const std::vector<std::string>* names = nullptr;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].is_forward_only()) {
      fail_usage("concatenate: a stream can only be read forward");
    }
    const std::string difference = difference_of(parts[0].columns(), parts[i].columns());
    if (!difference.empty()) {
      fail_usage(
          fmt::format("concatenate: data set {} differs from data set 0: {}", i, difference));
    }
    if (parts[i].class_names().empty()) continue;
    if (names != nullptr && *names != parts[i].class_names()) {
      fail_usage(fmt::format("concatenate: data set {} has other classes", i));
    }
    names = &parts[i].class_names();
  }
}

}  // namespace

Dataset concatenate(std::vector<Dataset> parts) {
  check_parts(parts);
  return Dataset(std::make_shared<ConcatenatedSource>(std::move(parts)));
}

}  // namespace trireme::data
