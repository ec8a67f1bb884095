#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// A Source that changes the examples of another Source. It has the same size, class names and
// lengths, and the same columns unless the constructor of a derived class changes columns_. Derived
// classes implement only gather_epoch(); gather() is the first epoch.
class WrappedSource : public Source {
 public:
  explicit WrappedSource(std::shared_ptr<const Source> source)
      : source_(std::move(source)), columns_(source_->columns()) {}

  std::int64_t size() const final { return source_->size(); }
  const std::vector<Column>& columns() const final { return columns_; }
  const std::vector<std::string>& class_names() const final { return source_->class_names(); }
  bool is_forward_only() const override { return source_->is_forward_only(); }
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
