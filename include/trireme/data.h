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
#include "trireme/ragged.h"
#include "trireme/readers.h"
#include "trireme/tensor.h"

namespace trireme::data {

// readers.h and known_data.h have the functions that return data sets.

// One named value of every example: {"image", f32, {1, 28, 28}} or {"label", i64, {}}.
struct Column {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // of one example; of one packed row if the column is ragged
  // For a column of ids: they are in [0, ids), and `words` are their words, if any.
  std::int64_t ids = 0;
  std::vector<std::string> words = {};
  // For a ragged column: every example is a sequence (1), a sequence of sequences (2) and so on, of
  // any length. 0: not ragged.
  int levels = 0;
};

// Several examples: for each column a Tensor whose axis 0 counts the examples. A ragged column has
// its packed rows and, under the names of splits_name(), its splits. Its sequences of level 0 are
// the examples, and nothing is padded. RaggedTensor::from_feeds() combines rows and splits.
using Batch = std::map<std::string, Tensor>;

// Returns the number of examples; 0 for an empty batch.
TRIREME_API std::int64_t examples_in(const Batch& batch);

// A source of examples. To use your own data, implement this or call from_tensors(). All functions
// must be thread-safe.
class TRIREME_API Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t size() const = 0;
  virtual const std::vector<Column>& columns() const = 0;
  virtual const std::vector<std::string>& class_names() const;  // empty if there are no classes
  // Returns the given rows, in this order, in new tensors. Rows are in [0, size()).
  virtual Batch gather(std::span<const std::int64_t> rows) const = 0;
  // The same for examples that differ in every epoch (augmentations).
  virtual Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const;
  // Returns the number of packed rows of a ragged column in each of these examples, in the first
  // epoch. The default gathers the examples; override it if there is a faster way.
  virtual std::vector<std::int64_t> lengths(const std::string& column,
                                            std::span<const std::int64_t> rows) const;
  // Whether examples can only be read in their order, as those of from_stream(). Such a data set
  // cannot be shuffled or chosen from.
  virtual bool is_forward_only() const;
};

struct BatchOptions {
  bool drop_last = false;  // drop a last batch that is not full
  bool prefetch = true;    // make batches ahead, on separate threads
  int threads = 1;         // number of these threads; it changes the speed, never the batches
};

struct BucketOptions {
  std::string column = {};  // whose packed rows are counted; empty: the only ragged column
  // The number of batches whose examples are sorted together. With few, lengths are more random;
  // with many, lengths in a batch are more equal. 0: all.
  std::int64_t window = 0;
};

struct SampleOptions {
  std::int64_t count = 0;  // examples of an epoch; 0: as many as the data set has
  std::uint64_t seed = 0;
};

class Batches;
class BatchCut;
struct EpochPlan;
struct Fold;

// A set of examples and their reading order. A cheap handle; every function returns a new one.
//   fashion_mnist("train").shuffle(7).batch(64)
class TRIREME_API Dataset {
 public:
  explicit Dataset(std::shared_ptr<const Source> source);

  std::int64_t size() const;
  const std::vector<Column>& columns() const;
  const Column& column(std::string_view name) const;  // Errors: usage with the nearest name
  const std::vector<std::string>& class_names() const;

  // Reads in a different order in every epoch. The order depends only on the seed and the epoch, on
  // every machine.
  Dataset shuffle(std::uint64_t seed) const;

  // Returns the same examples in the order of their source in every epoch. For use after shuffle()
  // or after a random selection: shuffle(7).take(1000).unshuffled().
  Dataset unshuffled() const;

  // Return the first n examples, or all others. After shuffle(seed) these are a fixed random
  // selection: shuffle(7).take(1000) and shuffle(7).skip(1000) are disjoint and together have all
  // examples.
  Dataset take(std::int64_t n) const;
  Dataset skip(std::int64_t n) const;

  // Returns the examples for which `keep` is true, in the same order. Reads all examples of the
  // first epoch, and calls `keep` with a batch of one. Errors: usage, for a stream.
  Dataset filter(const std::function<bool(const Batch& example)>& keep) const;

  // Returns the examples at these positions, in this order; a position may come twice. Errors:
  // usage, for a position beyond the end, and for a stream.
  Dataset select(const std::vector<std::int64_t>& positions) const;

  // Cuts the data into this many folds of nearly equal size, the first ones larger, for
  // cross-validation. Fold i has every example once, as validation or training data. Without a seed
  // the folds are consecutive examples; with one they are random. After shuffle() the parts are
  // shuffled in every epoch. Errors: usage, for fewer than 2 folds, more folds than examples, and a
  // stream.
  std::vector<Fold> k_fold(std::int64_t folds, std::optional<std::uint64_t> seed = {}) const;

  // Draws examples with replacement, others in every epoch; each draw takes an example with a
  // probability proportional to its weight. Example i of an epoch depends only on the seed, the
  // epoch and i. Cannot be cut by length. Errors: usage, for a wrong number of weights, one that is
  // negative, NaN or infinite, a sum of 0, and a stream.
  Dataset sample(const std::vector<double>& weights, const SampleOptions& options = {}) const;

  // Keeps each example in memory after its first reading. Random changes made before are those of
  // the first epoch from then on, so call it before augmentations. A stream is read at once.
  Dataset cache() const;
  // Keeps the examples of the first epoch in a record file. The first call reads all examples and
  // writes it, atomically; later ones, of this or another process, read it. Errors: data, if the
  // file has other columns or another number of examples; as write_records() and records().
  Dataset cache(const std::string& path) const;

  // Applies `f` to every batch, on a prefetch thread. `f` may change values, columns and dtypes,
  // but must return as many rows as it gets. map() calls it with one example to determine the new
  // columns. It must be thread-safe.
  Dataset map(std::function<Batch(Batch)> f) const;

  // Augmentations of images, for training sets: random changes that differ in every epoch. They
  // apply to the only column of shape f32[channels, height, width] with values in [0, 1]; augment.h
  // has the options. Errors: usage if there is no such column or a size does not fit.
  Dataset random_crop(std::int64_t size, const CropOptions& options = {}) const;
  // Cuts out a window of random size, shape and place, and resizes it to size x size: Szegedy et
  // al. 2015, "Going deeper with convolutions". If no window fits in 10 attempts, the largest in
  // the middle.
  Dataset random_resized_crop(std::int64_t size, const ResizedCropOptions& options = {}) const;
  Dataset flip(const FlipOptions& options = {}) const;           // left to right
  Dataset vertical_flip(const FlipOptions& options = {}) const;  // top to bottom
  // Turns the picture around its center by an angle in [-degrees, degrees], counter-clockwise;
  // bilinear, black outside.
  Dataset rotate(double degrees, const RotateOptions& options = {}) const;
  Dataset grayscale(const GrayscaleOptions& options = {}) const;  // keeps the channels
  // A Gaussian filter of radius 3 sigma; beyond the edge the pixels of the edge are repeated.
  Dataset blur(const BlurOptions& options = {}) const;
  Dataset color_jitter(const JitterOptions& options = {}) const;
  [[deprecated("use color_jitter()")]] Dataset colour_jitter(const JitterOptions& options) const {
    return color_jitter(options);
  }
  // Draws a black square of `size` around a random pixel, clipped to the image.
  Dataset cutout(std::int64_t size, const CutoutOptions& options = {}) const;
  // Mixes every example with the next one of its batch: all f32 columns, and "label" i64[], which
  // becomes f32[classes], the share of each class. Other columns are an error.
  Dataset mixup(const MixupOptions& options = {}) const;
  // Computes (x - mean) / stddev with one value for each channel, or one for all. Not random.
  Dataset normalize(const std::vector<float>& mean, const std::vector<float>& stddev) const;
  // Bilinear, as PyTorch without align_corners and antialiasing. Not random.
  Dataset resize(std::int64_t height, std::int64_t width) const;
  Dataset center_crop(std::int64_t size) const;  // not random
  [[deprecated("use normalize()")]] Dataset normalise(const std::vector<float>& mean,
                                                      const std::vector<float>& stddev) const {
    return normalize(mean, stddev);
  }

  Batches batch(std::int64_t n, BatchOptions options = {}) const;

  // Returns batches of n examples of similar length, for models whose cost depends on the longest
  // example. The examples of an epoch are sorted by length (stable), all together or by windows,
  // and then cut. After shuffle() the batches have a random order. With drop_last the dropped
  // examples are chosen before sorting, so that they are not always the longest. Errors: usage.
  Batches bucket_by_length(std::int64_t n, const BucketOptions& bucket = {},
                           BatchOptions options = {}) const;

  // Returns batches with at most `budget` packed rows in `column` (empty: the only ragged one). An
  // example with more rows is a batch alone. Without shuffle() the examples keep their order. After
  // shuffle() they are sorted by length, as above. The sequence of lengths is then equal in every
  // epoch, so every epoch has the same number of batches, size(). Errors: usage, also for
  // drop_last, since no batch is full.
  Batches batch_tokens(std::int64_t budget, std::string_view column = {},
                       BatchOptions options = {}) const;

  Batch rows(std::int64_t begin, std::int64_t end) const;  // unshuffled. Errors: usage
  Batch all() const { return rows(0, size()); }

  // Return the rows of the source in the order of one epoch, and the examples of such rows.
  std::vector<std::int64_t> order(std::int64_t epoch) const;
  Batch gather(std::span<const std::int64_t> source_rows, std::int64_t epoch = 0) const;
  // Returns the number of packed rows of a ragged column in each of them. Errors: usage.
  std::vector<std::int64_t> lengths(std::string_view column,
                                    std::span<const std::int64_t> source_rows) const;
  // Whether examples can only be read in their order.
  bool is_forward_only() const { return source_->is_forward_only(); }
  // The row of the source that is example i without shuffling. Precondition: 0 <= i < size().
  std::int64_t source_row(std::int64_t i) const { return row(i); }
  // The seed of shuffle(), if any.
  const std::optional<std::uint64_t>& seed() const { return seed_; }

 private:
  Dataset augmented(std::shared_ptr<const Source> source) const;
  Dataset selected(std::int64_t begin, std::int64_t end) const;
  Dataset with_rows(std::vector<std::int64_t> rows) const;
  void need_any_order(const char* what) const;  // Error(usage) for a stream
  std::int64_t row(std::int64_t i) const;

  std::shared_ptr<const Source> source_;
  std::shared_ptr<const std::vector<std::int64_t>> rows_;  // null: all rows of the source
  std::optional<std::uint64_t> seed_;
  std::uint64_t stages_ = 0;  // augmentations so far
};

// One way to split a data set for cross-validation.
struct Fold {
  Dataset train, validation;
};

// The batches of one epoch in order. It owns the prefetch threads, which end with it.
class TRIREME_API BatchStream {
 public:
  BatchStream(BatchStream&&) noexcept;
  BatchStream& operator=(BatchStream&&) noexcept;
  ~BatchStream();

  // Returns the next batch; empty at the end. Rethrows errors of the reader.
  std::optional<Batch> next();

  // For one loop `for (Batch& batch : batches.epoch(0))`.
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

// The batches of one epoch by number, each made when it is read. For processes that share an epoch.
// A cheap handle; thread-safe.
class TRIREME_API NumberedBatches {
 public:
  std::int64_t size() const;
  // Errors: usage if there is no batch of that number; errors of the reader.
  Batch at(std::int64_t number) const;

 private:
  friend class Batches;
  NumberedBatches(Dataset dataset, std::shared_ptr<const EpochPlan> plan, std::int64_t epoch);
  Dataset dataset_;
  std::shared_ptr<const EpochPlan> plan_;
  std::int64_t epoch_;
};

// A Dataset cut into batches: the input of a Trainer.
class TRIREME_API Batches {
 public:
  Batches(Dataset dataset, std::int64_t batch_size, BatchOptions options);  // Errors: usage

  std::int64_t size() const;        // batches in an epoch, equal for all epochs
  std::int64_t examples() const;    // examples in an epoch, without dropped ones
  std::int64_t batch_size() const;  // examples of a full batch; the budget of batch_tokens()
  const Dataset& dataset() const { return dataset_; }
  // Returns batches of another data set with the same options. Errors: usage, as the constructor.
  Batches over(Dataset dataset) const;
  const BatchOptions& options() const { return options_; }
  // Returns the batches of one epoch from batch `first` on, without reading the earlier ones.
  // Errors: usage if there are fewer.
  BatchStream epoch(std::int64_t number, std::int64_t first = 0) const;
  // The same batches by number. This call determines how the epoch is cut, which takes a moment.
  NumberedBatches numbered(std::int64_t epoch) const;

 private:
  friend class Dataset;
  Batches(Dataset dataset, std::shared_ptr<const BatchCut> cut, BatchOptions options);

  Dataset dataset_;
  std::shared_ptr<const BatchCut> cut_;
  BatchOptions options_;
};

// Returns a data set of columns that are given as one batch with all examples. Tensors are shared,
// not copied. Errors: usage if columns differ in their number of examples or are scalars, and for
// invalid splits.
TRIREME_API Dataset from_tensors(Batch columns, std::vector<std::string> class_names = {});

// The same with ragged columns: sequence i of level 0 belongs to example i.
//   from_ragged({{"words", RaggedTensor::from(sentences)}}, {{"label", labels}})
TRIREME_API Dataset from_ragged(const std::map<std::string, RaggedTensor>& ragged,
                                Batch columns = {}, std::vector<std::string> class_names = {});

// Returns the examples of several data sets, one after the other. Each has the order of its source;
// shuffle() the result. Columns must have the same names, dtypes, shapes and levels, and classes
// the same names. Columns of ids keep their words if all have the same.
// Errors: usage, also for streams.
TRIREME_API Dataset concatenate(std::vector<Dataset> parts);

// Reads the next examples of a stream, one or several; empty at its end.
using StreamReader = std::function<std::optional<Batch>()>;

struct StreamOptions {
  // Of an epoch. 0: counted by reading the stream once.
  std::int64_t examples = 0;
  // Each epoch continues where the one before ended; false: it reads from the beginning.
  bool endless = false;
  // Each example is drawn from the next `shuffle_buffer` ones, whose order depends only on the seed
  // and, unless the stream is endless, the epoch. 0 or 1: in the order of the stream.
  std::int64_t shuffle_buffer = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> class_names = {};
};

// A data set of examples that can only be read one after the other, such as lines of a pipe or
// messages of a queue. `open` returns a reader at the beginning of the stream. It is called for
// each epoch (for an endless stream once), and again when a training resumes: the examples before
// are then read and left out, so a stream that returns the same examples again keeps all guarantees
// of data sets. One thread at a time reads. Everything but shuffle(), filter(), sample(), k_fold()
// and concatenate() works as for other data sets.
// Errors: usage, for wrong options; data when read, if a batch has other columns than the first, or
// no examples, and if the stream ends before the epoch; those of `open` and the reader.
TRIREME_API Dataset from_stream(std::function<StreamReader()> open, StreamOptions options = {});

}  // namespace trireme::data
