#include <algorithm>

#include "base/error.h"
#include "data/columns.h"
#include "data/join.h"
#include "data/order.h"
#include "data/wrapped_source.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

class TensorSource : public Source {
 public:
  TensorSource(Batch all, std::vector<std::string> class_names)
      : class_names_(std::move(class_names)), size_(examples_in(all)) {
    if (all.empty()) fail_usage("from_tensors: no columns");
    columns_ = columns_of(all, size_, "from_tensors");
    for (const Column& column : columns_) {
      if (column.levels == 0) dense_.emplace(column.name, all.at(column.name));
      else ragged_.emplace(column.name, RaggedTensor::from_feeds(all, column.name));
    }
  }

  // The names, order, ids and words of the columns; the rest is as the tensors have it.
  void describe(std::vector<Column> columns) {
    for (Column& column : columns) {
      for (const Column& known : columns_) {
        if (known.name != column.name) continue;
        column.dtype = known.dtype, column.shape = known.shape, column.levels = known.levels;
      }
    }
    columns_ = std::move(columns);
  }

  std::int64_t size() const override { return size_; }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }

  Batch gather(std::span<const std::int64_t> rows) const override {
    Batch batch;
    for (const auto& [name, tensor] : dense_) batch.emplace(name, gathered_rows(tensor, rows));
    for (const auto& [name, ragged] : ragged_) ragged.gather(rows).add_to(batch, name);
    return batch;
  }

  std::vector<std::int64_t> lengths(const std::string& column,
                                    std::span<const std::int64_t> rows) const override {
    const RaggedTensor& ragged = ragged_.at(column);
    std::vector<std::int64_t> lengths;
    for (const std::int64_t i : rows) {
      lengths.push_back(ragged.row_begin(i + 1) - ragged.row_begin(i));
    }
    return lengths;
  }

 private:
  std::map<std::string, Tensor> dense_;
  std::map<std::string, RaggedTensor> ragged_;
  std::vector<std::string> class_names_;
  std::vector<Column> columns_;
  std::int64_t size_;
};

class MappedSource final : public WrappedSource {
 public:
  MappedSource(std::shared_ptr<const Source> source, std::function<Batch(Batch)> f)
      : WrappedSource(std::move(source)), f_(std::move(f)) {
    if (source_->size() == 0) fail_usage("map: the data set is empty");
    const std::int64_t first = 0;
    columns_ = columns_of(f_(source_->gather_epoch({&first, 1}, 0)), 1, "map");
    for (Column& column : columns_) {
      for (const Column& before : source_->columns()) {
        if (before.name != column.name || before.dtype != column.dtype) continue;
        column.ids = before.ids;
        column.words = before.words;
      }
    }
  }

  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override {
    Batch batch = f_(source_->gather_epoch(rows, epoch));
    columns_of(batch, static_cast<std::int64_t>(rows.size()), "map");
    return batch;
  }

  std::vector<std::int64_t> lengths(const std::string& column,
                                    std::span<const std::int64_t> rows) const override {
    return Source::lengths(column, rows);
  }

 private:
  std::function<Batch(Batch)> f_;
};

}  // namespace

const std::vector<std::string>& Source::class_names() const {
  static const std::vector<std::string> none;
  return none;
}

bool Source::is_forward_only() const { return false; }

Batch Source::gather_epoch(std::span<const std::int64_t> rows, std::int64_t) const {
  return gather(rows);
}

std::vector<std::int64_t> Source::lengths(const std::string& column,
                                          std::span<const std::int64_t> rows) const {
  constexpr std::size_t kChunk = 256;  // examples in memory
  std::vector<std::int64_t> lengths;
  for (std::size_t begin = 0; begin < rows.size(); begin += kChunk) {
    const auto part = rows.subspan(begin, std::min(kChunk, rows.size() - begin));
    const RaggedTensor ragged = RaggedTensor::from_feeds(gather(part), column);
    for (std::int64_t i = 0; i < ragged.size(); ++i) {
      lengths.push_back(ragged.row_begin(i + 1) - ragged.row_begin(i));
    }
  }
  return lengths;
}

Dataset::Dataset(std::shared_ptr<const Source> source) : source_(std::move(source)) {
  if (!source_) fail_usage("Dataset: no source");
}

std::int64_t Dataset::size() const {
  return rows_ ? static_cast<std::int64_t>(rows_->size()) : source_->size();
}

const std::vector<Column>& Dataset::columns() const { return source_->columns(); }
const std::vector<std::string>& Dataset::class_names() const { return source_->class_names(); }

const Column& Dataset::column(std::string_view name) const {
  std::vector<std::string> names;
  for (const Column& column : columns()) {
    if (column.name == name) return column;
    names.push_back(column.name);
  }
  std::string message = "the data set has no column \"" + std::string(name) + "\"; it has";
  for (const std::string& known : names) message += " " + known;
  const std::string near = nearest(std::string(name), names);
  if (!near.empty()) message += "; did you mean \"" + near + "\"?";
  fail_usage(message);
}

Dataset Dataset::shuffle(std::uint64_t seed) const {
  need_any_order("shuffle");
  Dataset result = *this;
  result.seed_ = seed;
  return result;
}

Dataset Dataset::unshuffled() const {
  Dataset result = *this;
  result.seed_.reset();
  if (rows_) {
    auto rows = *rows_;
    std::sort(rows.begin(), rows.end());
    result.rows_ = std::make_shared<std::vector<std::int64_t>>(std::move(rows));
  }
  return result;
}

Dataset Dataset::selected(std::int64_t begin, std::int64_t end) const {
  const std::vector<std::int64_t> all = order(0);
  Dataset result = *this;
  result.rows_ =
      std::make_shared<std::vector<std::int64_t>>(all.begin() + begin, all.begin() + end);
  return result;
}

Dataset Dataset::take(std::int64_t n) const {
  if (n < 0) fail_usage("take: " + std::to_string(n) + " is negative");
  return selected(0, std::min(n, size()));
}

Dataset Dataset::skip(std::int64_t n) const {
  if (n < 0) fail_usage("skip: " + std::to_string(n) + " is negative");
  return selected(std::min(n, size()), size());
}

Dataset Dataset::map(std::function<Batch(Batch)> f) const {
  Dataset result = *this;
  result.source_ = std::make_shared<MappedSource>(source_, std::move(f));
  return result;
}

std::int64_t Dataset::row(std::int64_t i) const {
  return rows_ ? (*rows_)[static_cast<std::size_t>(i)] : i;
}

Batch Dataset::rows(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > size()) {
    fail_usage("rows [" + std::to_string(begin) + ", " + std::to_string(end) +
               ") are outside the data set, which has " + std::to_string(size()));
  }
  std::vector<std::int64_t> rows;
  for (std::int64_t i = begin; i < end; ++i) rows.push_back(row(i));
  return gather(rows);
}

std::vector<std::int64_t> Dataset::order(std::int64_t epoch) const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(size()));
  if (seed_) result = permutation(size(), *seed_, static_cast<std::uint64_t>(epoch));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = row(seed_ ? result[i] : static_cast<std::int64_t>(i));
  }
  return result;
}

Batch Dataset::gather(std::span<const std::int64_t> source_rows, std::int64_t epoch) const {
  return source_->gather_epoch(source_rows, epoch);
}

std::vector<std::int64_t> Dataset::lengths(std::string_view column,
                                           std::span<const std::int64_t> source_rows) const {
  const Column& known = this->column(column);
  if (known.levels == 0) fail_usage("lengths: column \"" + known.name + "\" is not ragged");
  return source_->lengths(known.name, source_rows);
}

Dataset from_tensors(Batch columns, std::vector<std::string> class_names) {
  return Dataset(std::make_shared<TensorSource>(std::move(columns), std::move(class_names)));
}

Dataset from_ragged(const std::map<std::string, RaggedTensor>& ragged, Batch columns,
                    std::vector<std::string> class_names) {
  for (const auto& [name, sequences] : ragged) {
    if (columns.contains(name)) fail_usage("two columns are called \"" + name + "\"");
    sequences.add_to(columns, name);
  }
  return from_tensors(std::move(columns), std::move(class_names));
}

Dataset from_columns(std::vector<std::pair<Column, Tensor>> columns,
                     std::vector<std::string> class_names) {
  std::map<std::string, Tensor> tensors;
  std::vector<Column> described;
  for (auto& [column, tensor] : columns) {
    if (!tensors.emplace(column.name, std::move(tensor)).second) {
      fail_usage("two columns are called \"" + column.name + "\"");
    }
    if (!is_splits_name(column.name)) described.push_back(std::move(column));
  }
  auto source = std::make_shared<TensorSource>(std::move(tensors), std::move(class_names));
  source->describe(std::move(described));
  return Dataset(std::move(source));
}

}  // namespace trireme::data
