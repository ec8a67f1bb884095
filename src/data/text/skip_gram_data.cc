#include <algorithm>
#include <map>
#include <mutex>

#include "base/error.h"
#include "data/text/language_data.h"

namespace trireme::data {
namespace {

using Ids = std::vector<std::int64_t>;

// The pairs of one epoch.
struct Pairs {
  text::SkipGrams words;
  Tensor noise;  // i64[pairs, noise], empty with a tree
  std::int64_t size() const { return words.center.dim(0); }
};

class SkipGramSource final : public Source {
 public:
  SkipGramSource(const Corpus& corpus, const text::Encoder& encoder, SkipGramData options)
      : ids_(all_ids(corpus, encoder)),
        counts_(encoder.vocabulary.counts()),
        options_(std::move(options)) {
    if (options_.noise < 0) fail_usage("skip_gram_samples: noise must not be negative");
    const std::vector<std::string>& tokens = encoder.vocabulary.tokens();
    const std::int64_t words = encoder.vocabulary.size();
    columns_ = {{.name = "centre", .dtype = i64, .shape = {}, .ids = words, .words = tokens}};
    if (tree()) {
      if (options_.path.shape() != options_.code.shape() || options_.path.dim(0) != words) {
        fail_usage("skip_gram_samples: path and code must be i64[words, depth]");
      }
      columns_.push_back(
          {.name = "candidates", .dtype = i64, .shape = {}, .ids = options_.nodes, .levels = 1});
      columns_.push_back({.name = "target", .dtype = i64, .shape = {}, .levels = 1});
    } else {
      const Ids shape{1 + options_.noise};
      noise_ = text::noise_distribution(counts_);
      columns_.push_back(
          {.name = "candidates", .dtype = i64, .shape = shape, .ids = words, .words = tokens});
      columns_.push_back({.name = "target", .dtype = i64, .shape = shape});
    }
    size_ = pairs_of(0)->size();
    if (size_ == 0) {
      fail_data(corpus.name + ": a text of " + std::to_string(ids_.size()) +
                " tokens has no pairs of words");
    }
  }

  std::int64_t size() const override { return size_; }
  const std::vector<Column>& columns() const override { return columns_; }
  Batch gather(std::span<const std::int64_t> rows) const override { return gather_epoch(rows, 0); }

  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override {
    const std::shared_ptr<const Pairs> pairs = pairs_of(epoch);
    Ids places(rows.begin(), rows.end()), centers;
    for (std::int64_t& place : places) {
      place %= pairs->size();
      centers.push_back(pairs->words.center.data<std::int64_t>()[place]);
    }
    const auto count = static_cast<std::int64_t>(places.size());
    Batch batch{{"centre", Tensor::from<std::int64_t>({count}, centers)}};
    if (tree()) add_ways(*pairs, places, batch);
    else add_noise(*pairs, places, batch);
    return batch;
  }

  std::vector<std::int64_t> lengths(const std::string&,
                                    std::span<const std::int64_t> rows) const override {
    const std::shared_ptr<const Pairs> pairs = pairs_of(0);
    std::vector<std::int64_t> lengths;
    for (const std::int64_t row : rows) {
      lengths.push_back(length_of_way(pairs->words.context.data<std::int64_t>()[row]));
    }
    return lengths;
  }

 private:
  bool tree() const { return options_.nodes > 0; }

  // Those of this epoch, and still of the one before it: batches are made ahead.
  std::shared_ptr<const Pairs> pairs_of(std::int64_t epoch) const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Pairs>& known = epochs_[epoch];
    if (known == nullptr) known = make_pairs(epoch);
    const std::shared_ptr<const Pairs> result = known;
    constexpr std::size_t kKept = 2;
    while (epochs_.size() > kKept) {
      epochs_.erase(epochs_.begin()->first == epoch ? std::prev(epochs_.end()) : epochs_.begin());
    }
    return result;
  }

  std::shared_ptr<const Pairs> make_pairs(std::int64_t epoch) const {
    auto pairs = std::make_shared<Pairs>();
    pairs->words = text::skip_grams(ids_, counts_,
                                    {.window = options_.window,
                                     .subsample = options_.subsample,
                                     .seed = options_.seed,
                                     .epoch = epoch});
    if (!tree()) {
      pairs->noise = text::draw(noise_, {pairs->size(), options_.noise}, options_.seed, epoch);
    }
    return pairs;
  }

  void add_noise(const Pairs& pairs, const Ids& places, Batch& batch) const {
    const auto count = static_cast<std::int64_t>(places.size());
    const std::int64_t width = 1 + options_.noise;
    Tensor candidates = Tensor::uninitialized(i64, {count, width}), target(i64, {count, width});
    std::int64_t* to = candidates.data<std::int64_t>();
    std::int64_t* right = target.data<std::int64_t>();
    for (const std::int64_t place : places) {
      to[0] = pairs.words.context.data<std::int64_t>()[place];
      std::copy_n(pairs.noise.data<std::int64_t>() + place * options_.noise, options_.noise,
                  to + 1);
      right[0] = 1;
      to += width, right += width;
    }
    batch["candidates"] = candidates;
    batch["target"] = target;
  }

  void add_ways(const Pairs& pairs, const Ids& places, Batch& batch) const {
    std::vector<Ids> nodes, branches;
    for (const std::int64_t place : places) {
      const std::int64_t word = pairs.words.context.data<std::int64_t>()[place];
      const std::int64_t begin = word * options_.path.dim(1), length = length_of_way(word);
      const auto of = [&](const Tensor& table) {
        const std::int64_t* first = table.data<std::int64_t>() + begin;
        return Ids(first, first + length);
      };
      nodes.push_back(of(options_.path));
      branches.push_back(of(options_.code));
    }
    RaggedTensor::from(nodes).add_to(batch, "candidates");
    RaggedTensor::from(branches).add_to(batch, "target");
  }

  std::int64_t length_of_way(std::int64_t word) const {
    const std::int64_t depth = options_.path.dim(1);
    const std::int64_t* nodes = options_.path.data<std::int64_t>() + word * depth;
    return std::find(nodes, nodes + depth, -1) - nodes;
  }

  Ids ids_, counts_;
  SkipGramData options_;
  std::vector<double> noise_;
  std::vector<Column> columns_;
  std::int64_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const Pairs>> epochs_;
};

}  // namespace

Dataset skip_gram_samples(const Corpus& corpus, const text::Encoder& encoder,
                          const SkipGramData& options) {
  return Dataset(std::make_shared<SkipGramSource>(corpus, encoder, options));
}

}  // namespace trireme::data
