#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "trireme/sequence_metrics.h"

namespace trireme {
namespace {

template <class T>
double sum_of(std::span<const T> losses) {
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (std::isnan(losses[i])) {
      fail_data(fmt::format("perplexity: the loss of token {} is NaN", i));
    }
    sum += static_cast<double>(losses[i]);
  }
  return sum;
}

template <class T>
double of_all(std::span<const T> losses) {
  if (losses.empty()) fail_usage("perplexity: there are no tokens");
  Perplexity perplexity;
  perplexity.update(losses);
  return perplexity.value();
}

}  // namespace

void Perplexity::update(std::span<const float> losses) {
  update(sum_of(losses), static_cast<std::int64_t>(losses.size()));
}

void Perplexity::update(std::span<const double> losses) {
  update(sum_of(losses), static_cast<std::int64_t>(losses.size()));
}

void Perplexity::update(double sum, std::int64_t tokens) {
  if (std::isnan(sum)) fail_data("perplexity: the sum of losses is NaN");
  if (tokens < 0 || (tokens == 0 && sum != 0)) {
    fail_usage(fmt::format("perplexity: a loss of {} by {} tokens", sum, tokens));
  }
  sum_ += sum;
  tokens_ += tokens;
}

double Perplexity::value() const {
  if (tokens_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::exp(sum_ / static_cast<double>(tokens_));
}

double perplexity(std::span<const float> losses) { return of_all(losses); }
double perplexity(std::span<const double> losses) { return of_all(losses); }

}  // namespace trireme
