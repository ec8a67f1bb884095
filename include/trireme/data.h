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

// readers.h and known_data.h say where data sets come from.

// One named value of every example: {"image", f32, {1, 28, 28}} or {"label", i64, {}}.
struct Column {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // of one example; of one packed row if the column is ragged
  // Of a column of ids: they lie in [0, ids), and these are the words they stand for, if any.
  std::int64_t ids = 0;
  std::vector<std::string> words = {};
  // Of a ragged column: every example is a sequence (1), a sequence of sequences (2) and so on, of
  // any length. 0: not ragged.
  int levels = 0;
};

// Some examples side by side: for each column a Tensor whose axis 0 counts the examples. A ragged
// column is its packed rows and, under the names of splits_name(), its splits, whose sequences of level
// 0 are the examples: nothing is padded. RaggedTensor::from_feeds() joins the two.
using Batch = std::map<std::string, Tensor>;

// How many examples there are; 0 in an empty batch.
TRIREME_API std::int64_t examples_in(const Batch& batch);

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
  // How many packed rows a ragged column has in each of these examples, in the first epoch. Gathers
  // them, unless what derives from this knows better.
  virtual std::vector<std::int64_t> lengths(const std::string& column,
                                            std::span<const std::int64_t> rows) const;
};

struct BatchOptions {
  bool drop_last = false;  // leave out a last batch that is not full
  bool prefetch = true;    // make batches ahead, on threads of their own
  int threads = 1;         // that many; they change the speed, never the batches
};

struct BucketOptions {
  std::string column = {};  // whose packed rows are counted; empty: the only ragged column
  // How many batches' worth of examples are sorted together: few mix lengths more, many are of more
  // equal length. 0: all.
  std::int64_t window = 0;
};

class Batches;
class BatchCut;
struct EpochPlan;

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

  // Batches of n examples of similar length, for work that the longest of a batch decides. The examples
  // of an epoch are sorted by length, all together or window by window, those of equal length staying in
  // their order, and cut; after shuffle() the batches come in a random order. With drop_last the
  // examples left out are picked before sorting, so that they are not always the longest.
  // Errors: usage.
  Batches bucket_by_length(std::int64_t n, const BucketOptions& bucket = {},
                           BatchOptions options = {}) const;

  // Batches of as many examples as have at most `budget` packed rows together in `column` (empty: the
  // only ragged one); an example that has more is a batch of its own. Without shuffle() they are cut
  // from the examples in their order. After shuffle() the examples are sorted by length, as above: the
  // lengths then follow each other in the same way in every epoch, whatever examples they belong to, so
  // that every epoch has the same number of batches, which size() tells.
  // Errors: usage, also for drop_last, since no batch is full.
  Batches batch_tokens(std::int64_t budget, std::string_view column = {},
                       BatchOptions options = {}) const;

  Batch rows(std::int64_t begin, std::int64_t end) const;  // unshuffled. Errors: usage
  Batch all() const { return rows(0, size()); }

  // Rows of the source in the order of one epoch, and what stands in such rows.
  std::vector<std::int64_t> order(std::int64_t epoch) const;
  Batch gather(std::span<const std::int64_t> source_rows, std::int64_t epoch = 0) const;
  // How many packed rows a ragged column has in each of them. Errors: usage.
  std::vector<std::int64_t> lengths(std::string_view column,
                                    std::span<const std::int64_t> source_rows) const;
  // The seed of shuffle(), if there is one.
  const std::optional<std::uint64_t>& seed() const { return seed_; }

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

// The batches of one epoch by their numbers, each made when it is asked for: for those who share an epoch among them. A cheap
// handle, for several threads at once.
class TRIREME_API NumberedBatches {
 public:
  std::int64_t size() const;
  // Errors: usage, if there is no batch of that number; whatever the data's reader throws.
  Batch at(std::int64_t number) const;

 private:
  friend class Batches;
  NumberedBatches(Dataset dataset, std::shared_ptr<const EpochPlan> plan, std::int64_t epoch);
  Dataset dataset_;
  std::shared_ptr<const EpochPlan> plan_;
  std::int64_t epoch_;
};

// A Dataset cut into batches: what a Trainer eats.
class TRIREME_API Batches {
 public:
  Batches(Dataset dataset, std::int64_t batch_size, BatchOptions options);  // Errors: usage

  std::int64_t size() const;        // batches in an epoch, the same in every one
  std::int64_t examples() const;    // examples in an epoch, without those dropped
  std::int64_t batch_size() const;  // examples of a full batch; the budget of batch_tokens()
  const Dataset& dataset() const { return dataset_; }
  // Batches made in this way of another data set. Errors: usage, as when these were made.
  Batches over(Dataset dataset) const;
  const BatchOptions& options() const { return options_; }
  // The batches of one epoch from batch `first` on: the same as after reading over those before it.
  // Errors: usage, if there are fewer.
  BatchStream epoch(std::int64_t number, std::int64_t first = 0) const;
  // The same batches one by one. How the epoch is cut is found out here, which takes a moment.
  NumberedBatches numbered(std::int64_t epoch) const;

 private:
  friend class Dataset;
  Batches(Dataset dataset, std::shared_ptr<const BatchCut> cut, BatchOptions options);

  Dataset dataset_;
  std::shared_ptr<const BatchCut> cut_;
  BatchOptions options_;
};

// Columns given as one batch that holds all examples; the tensors are shared, not copied.
// Errors: usage, if they differ in examples, are scalars, or are no splits of what they belong to.
TRIREME_API Dataset from_tensors(Batch columns, std::vector<std::string> class_names = {});

// The same with ragged columns given as such: sequence i of level 0 is that of example i.
//   from_ragged({{"words", RaggedTensor::from(sentences)}}, {{"label", labels}})
TRIREME_API Dataset from_ragged(const std::map<std::string, RaggedTensor>& ragged,
                                Batch columns = {}, std::vector<std::string> class_names = {});

}  // namespace trireme::data
