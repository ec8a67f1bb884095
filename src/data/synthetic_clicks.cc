// Clicks that are made up, by a model that is known.

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

constexpr int kNumbers = 13, kFields = 26;
constexpr std::int64_t kGroups = 16;  // of the ids of a field that meet those of another
constexpr double kBias = -1.6;        // so that a quarter of the examples are clicks

// What a number is drawn for: streams of the generator.
enum Stream : std::uint64_t { of_label = 1, of_numbers, of_weights, of_meetings, of_ids = 100 };

double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  return uniform_53(random_words(seed, stream, position));
}
double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  return normal_53(random_words(seed, stream, position));
}

// Half of the fields have few ids, as in what is logged of advertisements; the last has the most.
std::int64_t size_of_field(int field, std::int64_t largest) {
  const double share = static_cast<double>(field) / (kFields - 1);
  const double size = std::pow(static_cast<double>(largest), 0.15 + 0.85 * share);
  return std::clamp<std::int64_t>(std::llround(size), 2, largest);
}

// Maps a draw u in [0, 1) to one of n items, whose probabilities fall as x^-exponent.
std::int64_t power_law(double u, std::int64_t n, double exponent) {
  const double power = 1 - exponent;
  const double top = static_cast<double>(n) + 1;
  const double x = std::abs(power) < 1e-9 ? std::pow(top, u)
                                          : std::pow(1 + u * (std::pow(top, power) - 1), 1 / power);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(x) - 1, 0, n - 1);
}

class MadeClicks : public Source {
 public:
  explicit MadeClicks(const ClickOptions& options) : options_(options) {
    if (options.examples < 0 || options.first < 0 || options.ids < 2 ||
        !(options.exponent >= 0 && options.exponent <= 3)) {
      fail_usage(
          "synthetic_clicks: examples and first must be 0 or more, ids 2 or more, exponent 0 to 3");
    }
    columns_.push_back({"features", f32, {kNumbers}});
    for (int field = 0; field < kFields; ++field) {
      sizes_[field] = size_of_field(field, options.ids);
      columns_.push_back({"C" + std::to_string(field + 1), i64, {}, sizes_[field]});
    }
    columns_.push_back({"target", f32, {1}});
    if (options.truth) columns_.push_back({"truth", f32, {1}});
  }

  std::int64_t size() const override { return options_.examples; }
  const std::vector<Column>& columns() const override { return columns_; }
  Batch gather(std::span<const std::int64_t> rows) const override {
    const auto count = static_cast<std::int64_t>(rows.size());
    Batch batch;
    for (const Column& column : columns_) {
      std::vector<std::int64_t> shape{count};
      shape.insert(shape.end(), column.shape.begin(), column.shape.end());
      batch.emplace(column.name, Tensor::uninitialized(column.dtype, shape));
    }
    std::array<std::int64_t*, kFields> ids{};
    for (int field = 0; field < kFields; ++field) {
      ids[field] = batch.at(columns_[field + 1].name).data<std::int64_t>();
    }
    float* const numbers = batch.at("features").data<float>();
    float* const target = batch.at("target").data<float>();
    float* const truth = options_.truth ? batch.at("truth").data<float>() : nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      const Example made = example(options_.first + rows[static_cast<std::size_t>(i)]);
      std::copy(made.numbers.begin(), made.numbers.end(), numbers + i * kNumbers);
      for (int field = 0; field < kFields; ++field) ids[field][i] = made.ids[field];
      target[i] = made.click ? 1.0f : 0.0f;
      if (truth != nullptr) truth[i] = static_cast<float>(made.probability);
    }
    return batch;
  }

 private:
  struct Example {
    std::array<float, kNumbers> numbers;
    std::array<std::int64_t, kFields> ids;
    double probability;
    bool click;
  };

  Example example(std::int64_t index) const {
    const auto at = static_cast<std::uint64_t>(index);
    Example made{};
    for (int j = 0; j < kNumbers; ++j) {
      const double x =
          normal(options_.seed, of_numbers, at * kNumbers + static_cast<std::uint64_t>(j));
      made.numbers[j] = static_cast<float>(std::log1p(std::exp(x)));  // as logarithms of counts are
    }
    for (int field = 0; field < kFields; ++field) {
      const double u = uniform(options_.seed, of_ids + static_cast<std::uint64_t>(field), at);
      made.ids[field] = power_law(u, sizes_[field], options_.exponent);
    }
    made.probability = 1 / (1 + std::exp(-logit(made)));
    made.click = uniform(options_.seed, of_label, at) < made.probability;
    return made;
  }

  // Weights of numbers, of ids, and of pairs of groups of ids of two fields. Weights of rare ids
  // are small, so that ids missing from the training data do not limit the result.
  double logit(const Example& example) const {
    double sum = kBias;
    for (int j = 0; j < kNumbers; ++j) {
      sum += 0.2 * weight(of_numbers, j, 0) * (example.numbers[j] - 0.8);
    }
    for (int field = 0; field < kFields; ++field) {
      const auto rank = static_cast<double>(example.ids[field]);
      sum += 0.35 * weight(of_weights, field, example.ids[field]) / (1 + rank / 200);
    }
    for (int field = 0; field + 1 < kFields; field += 2) {
      const std::int64_t meeting =
          example.ids[field] % kGroups * kGroups + example.ids[field + 1] % kGroups;
      sum += 0.2 * weight(of_meetings, field, meeting);
    }
    return sum;
  }
  double weight(Stream kind, int field, std::int64_t number) const {
    return normal(options_.seed ^ 0x636c69636bULL, kind * 1000 + static_cast<std::uint64_t>(field),
                  static_cast<std::uint64_t>(number));
  }

  const ClickOptions options_;
  std::array<std::int64_t, kFields> sizes_{};
  std::vector<Column> columns_;
};

}  // namespace

Dataset made_clicks(const ClickOptions& options) { return synthetic_clicks(options); }

Dataset synthetic_clicks(const ClickOptions& options) {
  return Dataset(std::make_shared<MadeClicks>(options));
}

}  // namespace trireme::data
