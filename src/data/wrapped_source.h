#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// A Source that gives another's examples, changed. Its size and class names are the other's; so are
// the columns, unless the constructor of what derives from it changes columns_, and the lengths. What is
// gathered is gather_epoch()'s alone: gather() is the first epoch.
class WrappedSource : public Source {
 public:
  explicit WrappedSource(std::shared_ptr<const Source> source)
      : source_(std::move(source)), columns_(source_->columns()) {}

  std::int64_t size() const final { return source_->size(); }
  const std::vector<Column>& columns() const final { return columns_; }
  const std::vector<std::string>& class_names() const final { return source_->class_names(); }
  Batch gather(std::span<const std::int64_t> rows) const final { return gather_epoch(rows, 0); }
  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override = 0;
  std::vector<std::int64_t> lengths(const std::string& column,
                                    std::span<const std::int64_t> rows) const override {
    return source_->lengths(column, rows);
  }

 protected:
  std::shared_ptr<const Source> source_;
  std::vector<Column> columns_;
};

}  // namespace trireme::data
