// Samples for language models.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"
#include "data/text/id_error.h"
#include "trireme/text.h"

namespace trireme::text {
namespace {

using SampleIds = std::span<const std::int64_t>;

// Streams of random numbers, one for each use of a seed in an epoch.
enum Stream : std::uint64_t { kKeep, kWindow, kDraw, kStreams };

double uniform(std::uint64_t seed, std::int64_t epoch, Stream use, std::size_t place) {
  const std::uint64_t stream = static_cast<std::uint64_t>(epoch) * kStreams + use;
  return uniform_53(random_words(seed, stream, place));
}

Tensor tensor_of(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

void check_counts(SampleIds counts) {
  for (std::size_t id = 0; id < counts.size(); ++id) {
    if (counts[id] < 0) {
      fail_usage("the count of id " + std::to_string(id) + " is " + std::to_string(counts[id]) +
                 ", must be at least 0");
    }
  }
}

void check_options(const SkipGramOptions& options) {
  if (options.window < 1) {
    fail_usage("skip_grams: window is " + std::to_string(options.window) + ", must be at least 1");
  }
  if (!(options.subsample >= 0)) fail_usage("skip_grams: subsample must be at least 0");
}

// The ids that stay when frequent ones are left out, and their places in the text.
struct Kept {
  std::vector<std::int64_t> ids;
  std::vector<std::size_t> places;
};

Kept keep_some(SampleIds ids, SampleIds counts, const SkipGramOptions& options) {
  std::vector<double> keep(counts.size(), 1.0);
  if (options.subsample > 0) keep = keep_probability(counts, options.subsample);
  Kept kept;
  for (std::size_t place = 0; place < ids.size(); ++place) {
    const std::int64_t id = ids[place];
    const auto known = static_cast<std::int64_t>(counts.size());
    if (id < 0 || id >= known) {
      fail_id(id, known, "the ids with counts", static_cast<std::int64_t>(place));
    }
    const double probability = keep[static_cast<std::size_t>(id)];
    if (probability < 1 && uniform(options.seed, options.epoch, kKeep, place) >= probability) {
      continue;
    }
    kept.ids.push_back(id);
    kept.places.push_back(place);
  }
  return kept;
}

}  // namespace

Ngrams ngrams(SampleIds ids, std::int64_t n) {
  if (n < 1) fail_usage("ngrams: n is " + std::to_string(n) + ", must be at least 1");
  const auto all = static_cast<std::int64_t>(ids.size());
  const std::int64_t samples = std::max<std::int64_t>(0, all - n + 1);
  Ngrams result{Tensor::uninitialized(DType::i64, {samples, n - 1}),
                Tensor::uninitialized(DType::i64, {samples})};
  if (samples == 0) return result;
  std::copy(ids.begin() + (n - 1), ids.end(), result.next.data<std::int64_t>());
  for (std::int64_t row = 0; row < samples && n > 1; ++row) {
    std::copy_n(ids.begin() + row, n - 1, result.context.data<std::int64_t>() + row * (n - 1));
  }
  return result;
}

SkipGrams skip_grams(SampleIds ids, SampleIds counts, const SkipGramOptions& options) {
  check_options(options);
  const Kept kept = keep_some(ids, counts, options);
  std::vector<std::int64_t> centers;
  std::vector<std::int64_t> contexts;
  const auto all = static_cast<std::int64_t>(kept.ids.size());
  for (std::int64_t i = 0; i < all; ++i) {
    const auto at = [&](std::int64_t j) { return kept.ids[static_cast<std::size_t>(j)]; };
    std::int64_t window = options.window;
    if (options.shrink) {
      const std::size_t place = kept.places[static_cast<std::size_t>(i)];
      const double u = uniform(options.seed, options.epoch, kWindow, place);
      window = 1 + static_cast<std::int64_t>(u * static_cast<double>(options.window));
    }
    const std::int64_t first = i - std::min(i, window);
    const std::int64_t last = i + std::min(all - 1 - i, window);
    for (std::int64_t j = first; j <= last; ++j) {
      if (j == i) continue;
      centers.push_back(at(i));
      contexts.push_back(at(j));
    }
  }
  return {tensor_of(centers), tensor_of(contexts)};
}

std::vector<double> keep_probability(SampleIds counts, double t) {
  check_counts(counts);
  if (!(t > 0)) fail_usage("keep_probability: t must be above 0");
  double words = 0;
  for (const std::int64_t count : counts) words += static_cast<double>(count);
  std::vector<double> keep;
  for (const std::int64_t count : counts) {
    const double share = static_cast<double>(count) / words;
    keep.push_back(count == 0 ? 1.0 : std::min(1.0, std::sqrt(t / share)));
  }
  return keep;
}

std::vector<double> noise_distribution(SampleIds counts, double power) {
  check_counts(counts);
  if (!std::isfinite(power)) fail_usage("noise_distribution: the power must be a finite number");
  std::vector<double> noise;
  double sum = 0;
  for (const std::int64_t count : counts) {
    // What is not in the text is no noise either, whatever the power.
    noise.push_back(count == 0 ? 0.0 : std::pow(static_cast<double>(count), power));
    sum += noise.back();
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    fail_usage("noise_distribution: no count is above 0, or the power is too large");
  }
  for (double& probability : noise) probability /= sum;
  return noise;
}

Tensor draw(std::span<const double> distribution, std::vector<std::int64_t> shape,
            std::uint64_t seed, std::int64_t epoch) {
  std::vector<double> up_to;  // sums of the weights so far
  double sum = 0;
  for (const double weight : distribution) {
    if (!(weight >= 0) || !std::isfinite(weight)) {
      fail_usage("draw: weight " + std::to_string(up_to.size()) + " is " + std::to_string(weight) +
                 ", must be a finite number of at least 0");
    }
    up_to.push_back(sum += weight);
  }
  if (!(sum > 0) || !std::isfinite(sum))
    fail_usage("draw: no weight is above 0, or they are too large");
  // The last that may be drawn, should rounding lead beyond it.
  const auto last = std::lower_bound(up_to.begin(), up_to.end(), sum);
  Tensor result = Tensor::uninitialized(DType::i64, std::move(shape));
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const double u = uniform(seed, epoch, kDraw, static_cast<std::size_t>(i)) * sum;
    const auto found = std::min(std::upper_bound(up_to.begin(), up_to.end(), u), last);
    result.data<std::int64_t>()[i] = found - up_to.begin();
  }
  return result;
}

}  // namespace trireme::text
