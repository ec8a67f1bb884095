#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/augment.h"
#include "trireme/dtype.h"
#include "trireme/export.h"
#include "trireme/known_data.h"
#include "trireme/readers.h"
#include "trireme/tensor.h"

namespace trireme::data {

// readers.h and known_data.h say where data sets come from.

// One named value of every example: {"image", f32, {1, 28, 28}} or {"label", i64, {}}.
struct Column {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // of one example
  // Of a column of ids: they lie in [0, ids), and these are the words they stand for, if any.
  std::int64_t ids = 0;
  std::vector<std::string> words = {};
};

// Some examples side by side: for each column a Tensor whose axis 0 counts the examples.
using Batch = std::map<std::string, Tensor>;

// Where examples come from. To bring data of one's own, implement this or use from_tensors().
// All functions must be safe to call from several threads at once.
class TRIREME_API Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t size() const = 0;
  virtual const std::vector<Column>& columns() const = 0;
  virtual const std::vector<std::string>& class_names() const;  // empty if there are no classes
  // The given rows, in this order, in fresh tensors. Rows lie in [0, size()).
  virtual Batch gather(std::span<const std::int64_t> rows) const = 0;
  // The same where examples look different in every epoch (augmentations).
  virtual Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const;
};

struct BatchOptions {
  bool drop_last = false;  // leave out a last batch that is not full
  bool prefetch = true;    // make batches ahead, on threads of their own
  int threads = 1;         // that many; they change the speed, never the batches
};

class Batches;

// A set of examples and the order to read them in: a cheap handle, and every step gives a new one.
//   fashion_mnist("train").shuffle(7).batch(64)
class TRIREME_API Dataset {
 public:
  explicit Dataset(std::shared_ptr<const Source> source);

  std::int64_t size() const;
  const std::vector<Column>& columns() const;
  const Column& column(std::string_view name) const;  // Errors: usage, with the nearest name
  const std::vector<std::string>& class_names() const;

  // Reads in another order in every epoch. The order depends on the seed and the epoch alone: it is
  // the same on every machine.
  Dataset shuffle(std::uint64_t seed) const;

  // The same examples, each epoch in the order of their source: after shuffle(), and after parts have
  // been picked at random, shuffle(7).take(1000).unshuffled().
  Dataset unshuffled() const;

  // The first n examples, or all but those. After shuffle(seed) they are picked at random, once:
  // shuffle(7).take(1000) and shuffle(7).skip(1000) share nothing and miss nothing.
  Dataset take(std::int64_t n) const;
  Dataset skip(std::int64_t n) const;

  // Passes every batch through `f`, on a prefetch thread. `f` may change values, columns and
  // dtypes, but must give as many rows as it gets; it is called with one example here, to learn the
  // new columns, and must be safe to call from several threads.
  Dataset map(std::function<Batch(Batch)> f) const;

  // Augmentations of pictures, for training sets: random changes, others in every epoch. They apply
  // to the one column of shape f32[channels, height, width], with values in [0, 1]; augment.h has
  // the options. Errors: usage, if there is no such column or a size does not fit.
  Dataset random_crop(std::int64_t size, const CropOptions& options = {}) const;
  Dataset flip(const FlipOptions& options = {}) const;  // left to right
  Dataset colour_jitter(const JitterOptions& options = {}) const;
  // A black square of `size` around a random pixel; what lies outside the picture is lost.
  Dataset cutout(std::int64_t size, const CutoutOptions& options = {}) const;
  // Mixes every example with the next one of its batch: all f32 columns, and "label" i64[], which
  // becomes f32[classes], the share of each class. Other columns are refused.
  Dataset mixup(const MixupOptions& options = {}) const;
  // (x - mean) / deviation, one of each for each channel, or one for all. Not random.
  Dataset normalise(const std::vector<float>& mean, const std::vector<float>& deviation) const;

  Batches batch(std::int64_t n, BatchOptions options = {}) const;

  Batch rows(std::int64_t begin, std::int64_t end) const;  // unshuffled. Errors: usage
  Batch all() const { return rows(0, size()); }

  // Rows of the source in the order of one epoch, and what stands in such rows.
  std::vector<std::int64_t> order(std::int64_t epoch) const;
  Batch gather(std::span<const std::int64_t> source_rows, std::int64_t epoch = 0) const;

 private:
  Dataset augmented(std::shared_ptr<const Source> source) const;
  Dataset selected(std::int64_t begin, std::int64_t end) const;
  std::int64_t row(std::int64_t i) const;

  std::shared_ptr<const Source> source_;
  std::shared_ptr<const std::vector<std::int64_t>> rows_;  // null: all rows of the source
  std::optional<std::uint64_t> seed_;
  std::uint64_t stages_ = 0;  // augmentations so far
};

// The batches of one epoch, one after the other. It owns the prefetch threads, which end with it.
class TRIREME_API BatchStream {
 public:
  BatchStream(BatchStream&&) noexcept;
  BatchStream& operator=(BatchStream&&) noexcept;
  ~BatchStream();

  // The next batch; empty at the end. Rethrows what the reader threw.
  std::optional<Batch> next();

  // So that `for (Batch& batch : batches.epoch(0))` works, once.
  class Iterator {
   public:
    explicit Iterator(BatchStream* stream) : stream_(stream) { ++*this; }
    Batch& operator*() { return *current_; }
    Batch* operator->() { return &*current_; }
    Iterator& operator++() {
      current_ = stream_->next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !current_; }

   private:
    BatchStream* stream_;
    std::optional<Batch> current_;
  };
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class Batches;
  class Reader;
  explicit BatchStream(std::unique_ptr<Reader> reader);
  std::unique_ptr<Reader> reader_;
};

// A Dataset cut into batches: what a Trainer eats.
class TRIREME_API Batches {
 public:
  Batches(Dataset dataset, std::int64_t batch_size, BatchOptions options);  // Errors: usage

  std::int64_t size() const;      // batches in an epoch
  std::int64_t examples() const;  // examples in an epoch, without those dropped
  std::int64_t batch_size() const { return batch_size_; }
  const Dataset& dataset() const { return dataset_; }
  const BatchOptions& options() const { return options_; }
  // The batches of one epoch from batch `first` on: the same as after reading over those before it.
  // Errors: usage, if there are fewer.
  BatchStream epoch(std::int64_t number, std::int64_t first = 0) const;

 private:
  Dataset dataset_;
  std::int64_t batch_size_;
  BatchOptions options_;
};

// Columns given as tensors with one row per example; they are shared, not copied.
// Errors: usage, if they differ in rows or are scalars.
TRIREME_API Dataset from_tensors(std::map<std::string, Tensor> columns,
                                 std::vector<std::string> class_names = {});

}  // namespace trireme::data
