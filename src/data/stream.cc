// Data sets of examples that can only be read one after the other.

#include <fmt/core.h>

#include <map>
#include <mutex>

#include "base/error.h"
#include "data/columns.h"
#include "data/join.h"
#include "data/random.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

struct StreamExample {
  std::shared_ptr<const Batch> batch;
  std::int64_t index = 0;  // in the batch
};

// The examples of one opened stream, one by one.
class ExampleReader {
 public:
  explicit ExampleReader(StreamReader read) : read_(std::move(read)) {
    if (!read_) fail_usage("from_stream: the function that opens the stream returned no reader");
  }

  const std::vector<Column>& columns() const { return columns_; }
  // Only these columns may follow.
  void expect(std::vector<Column> columns) { columns_ = std::move(columns); }

  std::optional<StreamExample> next() {
    if (batch_ == nullptr || index_ == count_) {
      std::optional<Batch> batch = read_();
      if (!batch) return std::nullopt;
      check(*batch);
      batch_ = std::make_shared<Batch>(std::move(*batch));
      index_ = 0;
    }
    ++examples_;
    return StreamExample{batch_, index_++};
  }

 private:
  void check(const Batch& batch) {
    count_ = examples_in(batch);
    const std::string place = fmt::format("from_stream: example {}", examples_);
    if (count_ == 0) {
      fail_data(place +
                ": the reader returned a batch without examples\n  hint   return nothing "
                "at the end of the stream");
    }
    std::vector<Column> found = columns_of(batch, count_, "from_stream");
    if (columns_.empty()) columns_ = std::move(found);
    else if (const std::string difference = difference_of(columns_, found); !difference.empty()) {
      fail_data(place + ": " + difference);
    }
  }

  StreamReader read_;
  std::vector<Column> columns_;
  std::shared_ptr<const Batch> batch_;
  std::int64_t index_ = 0, count_ = 0, examples_ = 0;
};

// The examples of a stream in the order of the shuffle buffer: each is drawn from the next
// `size` examples, and the one after these takes its place. The order depends only on seed and
// stream number.
class ShuffledReader {
 public:
  ShuffledReader(ExampleReader reader, std::int64_t size, std::uint64_t seed, std::uint64_t number)
      : reader_(std::move(reader)),
        size_(static_cast<std::size_t>(size)),
        seed_(seed),
        number_(number) {}

  std::optional<StreamExample> next() {
    if (size_ < 2) return reader_.next();
    while (!ended_ && buffer_.size() < size_) {
      std::optional<StreamExample> example = reader_.next();
      if (example) buffer_.push_back(std::move(*example));
      else ended_ = true;
    }
    if (buffer_.empty()) return std::nullopt;
    ExampleRandom random(seed_, number_, position_++);
    const auto chosen =
        static_cast<std::size_t>(random.below(static_cast<std::int64_t>(buffer_.size())));
    StreamExample example = std::move(buffer_[chosen]);
    if (chosen + 1 < buffer_.size()) buffer_[chosen] = std::move(buffer_.back());
    buffer_.pop_back();
    return example;
  }

 private:
  ExampleReader reader_;
  std::size_t size_;
  std::uint64_t seed_, number_;
  std::int64_t position_ = 0;
  std::vector<StreamExample> buffer_;
  bool ended_ = false;
};

// Reads forward to the requested places, and opens the stream again for earlier ones.
// Examples that were passed are kept for a while, because several threads ask out of order.
class StreamSource final : public Source {
 public:
  StreamSource(std::function<StreamReader()> open, StreamOptions options)
      : open_(std::move(open)), options_(std::move(options)) {
    ExampleReader reader(open_());
    if (!reader.next()) fail_data("from_stream: the stream has no examples");
    columns_ = reader.columns();
    if (options_.examples > 0) return;
    options_.examples = 1;
    while (reader.next()) ++options_.examples;
  }

  std::int64_t size() const override { return options_.examples; }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return options_.class_names; }
  bool is_forward_only() const override { return true; }
  Batch gather(std::span<const std::int64_t> rows) const override { return gather_epoch(rows, 0); }

  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override {
    if (rows.empty()) return no_examples();
    const std::lock_guard lock(mutex_);
    std::vector<Batch> examples;
    try {
      for (const std::int64_t row : rows) {
        const StreamExample example =
            options_.endless ? at(0, epoch * size() + row) : at(epoch, row);
        examples.push_back(slice_of(*example.batch, columns_, example.index, example.index + 1));
      }
    } catch (...) {
      reader_.reset();
      throw;
    }
    if (examples.size() > 1) return joined_batches(examples, columns_);
    const std::int64_t first = 0;
    return gathered(examples[0], columns_, {&first, 1});
  }

 private:
  static constexpr std::size_t kKept = 4096;

  Batch no_examples() const {
    Batch none;
    for (const Column& column : columns_) {
      std::vector<std::int64_t> shape = column.shape;
      shape.insert(shape.begin(), 0);
      const Tensor rows(column.dtype, shape);
      if (column.levels == 0) {
        none.emplace(column.name, rows);
        continue;
      }
      const std::vector<Tensor> splits(static_cast<std::size_t>(column.levels), splits_of({}));
      RaggedTensor(rows, splits).add_to(none, column.name);
    }
    return none;
  }

  // The example at a place of the stream with this number.
  StreamExample at(std::int64_t number, std::int64_t place) const {
    if (const auto kept = kept_.find(place); kept != kept_.end() && number == number_ && reader_) {
      StreamExample example = std::move(kept->second);
      kept_.erase(kept);
      return example;
    }
    if (!reader_ || number != number_ || place < next_) open(number);
    for (;; ++next_) {
      std::optional<StreamExample> example = reader_->next();
      if (!example) fail_end();
      if (next_ == place) {
        ++next_;
        return std::move(*example);
      }
      kept_.emplace(next_, std::move(*example));
      if (kept_.size() > kKept) kept_.erase(kept_.begin());
    }
  }

  void open(std::int64_t number) const {
    kept_.clear();
    next_ = 0;
    number_ = number;
    ExampleReader reader(open_());
    reader.expect(columns_);
    reader_.emplace(std::move(reader), options_.shuffle_buffer, options_.seed,
                    static_cast<std::uint64_t>(number));
  }

  [[noreturn]] void fail_end() const {
    if (options_.endless) {
      fail_data(
          fmt::format("from_stream: the stream ended after {} examples, but is endless", next_));
    }
    fail_data(
        fmt::format("from_stream: the stream ended after {} examples, but an epoch has {}\n"
                    "  hint   set StreamOptions::examples to the number of examples",
                    next_, size()));
  }

  std::function<StreamReader()> open_;
  StreamOptions options_;
  std::vector<Column> columns_;

  mutable std::mutex mutex_;  // guards what follows
  mutable std::optional<ShuffledReader> reader_;
  mutable std::int64_t number_ = 0, next_ = 0;          // of the reader, and its next place
  mutable std::map<std::int64_t, StreamExample> kept_;  // passed places
};

}  // namespace

Dataset from_stream(std::function<StreamReader()> open, StreamOptions options) {
  if (!open) fail_usage("from_stream: no function that opens the stream");
  if (options.examples < 0 || options.shuffle_buffer < 0) {
    fail_usage(
        fmt::format("from_stream: examples and shuffle_buffer must be at least 0, but are "
                    "{} and {}",
                    options.examples, options.shuffle_buffer));
  }
  if (options.endless && options.examples == 0) {
    fail_usage(
        "from_stream: an endless stream needs StreamOptions::examples, the number of "
        "examples of an epoch");
  }
  return Dataset(std::make_shared<StreamSource>(std::move(open), std::move(options)));
}

}  // namespace trireme::data
