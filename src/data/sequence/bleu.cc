// BLEU: K. Papineni, S. Roukos, T. Ward, W.-J. Zhu 2002.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "base/error.h"
#include "data/lines.h"
#include "data/sequence/words.h"
#include "data/text/lower_case.h"
#include "data/text/utf8.h"
#include "trireme/sequence_metrics.h"

namespace trireme {
namespace {

constexpr std::size_t kOrders = BleuScore::kOrders;

// The numbers of its words, with -1 after the last.
using Ngram = std::array<int, kOrders>;
using Ngrams = std::map<Ngram, std::int64_t>;
using Numbers = std::map<std::string, int, std::less<>>;

std::size_t order_of(const Ngram& ngram) {
  return static_cast<std::size_t>(std::find(ngram.begin(), ngram.end(), -1) - ngram.begin());
}

std::vector<int> numbered(std::string_view text, const BleuOptions& options, Numbers& numbers) {
  const bool spaced = options.tokenizer == BleuOptions::Tokenizer::v13a;
  text = data::trimmed(text);  // a hyphen before the last line's end would join it to nothing
  const std::string cased = options.lower_case ? data::lower_case(text) : std::string(text);
  std::vector<int> words;
  for (std::string& word : data::words_of(spaced ? data::spaced_13a(cased) : cased)) {
    const auto next = static_cast<int>(numbers.size());
    words.push_back(numbers.try_emplace(std::move(word), next).first->second);
  }
  return words;
}

Ngrams ngrams_of(const std::vector<int>& words) {
  Ngrams ngrams;
  for (std::size_t begin = 0; begin < words.size(); ++begin) {
    Ngram ngram;
    ngram.fill(-1);
    for (std::size_t n = 0; n < kOrders && begin + n < words.size(); ++n) {
      ngram[n] = words[begin + n];
      ++ngrams[ngram];
    }
  }
  return ngrams;
}

// The length nearest to `length`, the shorter one of two.
std::int64_t nearest_length(const std::vector<std::int64_t>& lengths, std::int64_t length) {
  return *std::min_element(lengths.begin(), lengths.end(), [&](std::int64_t a, std::int64_t b) {
    return std::pair(std::abs(a - length), a) < std::pair(std::abs(b - length), b);
  });
}

double brevity_penalty(std::int64_t hypothesis, std::int64_t reference) {
  if (hypothesis >= reference) return 1;
  if (hypothesis == 0) return 0;
  return std::exp(1 - static_cast<double>(reference) / static_cast<double>(hypothesis));
}

void check_sizes(std::size_t hypotheses, std::size_t references) {
  if (hypotheses != references) {
    fail_usage(fmt::format("BLEU: there are {} hypotheses, but references for {}", hypotheses,
                           references));
  }
  if (hypotheses == 0) fail_usage("BLEU: there are no sentences");
}

}  // namespace

void Bleu::update(std::string_view hypothesis, const std::vector<std::string>& references) {
  const auto check = [&](std::string_view text, const std::string& name) {
    const std::size_t invalid = data::find_invalid_utf8(text);
    if (invalid == std::string_view::npos) return;
    fail_data(
        fmt::format("BLEU: sentence {}: byte {} of {} is not UTF-8", sentences_, invalid, name));
  };
  if (references.empty()) fail_usage(fmt::format("BLEU: sentence {} has no reference", sentences_));
  check(hypothesis, "the hypothesis");
  for (std::size_t i = 0; i < references.size(); ++i) {
    check(references[i], fmt::format("reference {}", i));
  }

  Numbers numbers;
  const std::vector<int> words = numbered(hypothesis, options_, numbers);
  const auto length = static_cast<std::int64_t>(words.size());
  Ngrams largest;  // in any one reference
  std::vector<std::int64_t> lengths;
  for (const std::string& reference : references) {
    const std::vector<int> right = numbered(reference, options_, numbers);
    lengths.push_back(static_cast<std::int64_t>(right.size()));
    for (const auto& [ngram, count] : ngrams_of(right)) {
      largest[ngram] = std::max(largest[ngram], count);
    }
  }
  for (const auto& [ngram, count] : ngrams_of(words)) {
    const std::size_t order = order_of(ngram) - 1;
    const auto found = largest.find(ngram);
    sums_.totals[order] += count;
    if (found != largest.end()) sums_.matches[order] += std::min(count, found->second);
  }
  sums_.hypothesis_length += length;
  sums_.reference_length += nearest_length(lengths, length);
  ++sentences_;
}

BleuScore Bleu::score() const {
  BleuScore result = sums_;
  result.brevity_penalty = brevity_penalty(sums_.hypothesis_length, sums_.reference_length);
  // Without any match there is nothing to smooth.
  if (sums_.matches[0] == 0) return result;
  double logarithms = 0, smoothed = 1;
  std::size_t orders = 0;
  for (std::size_t n = 0; n < kOrders && sums_.totals[n] > 0; ++n, ++orders) {
    auto matches = static_cast<double>(sums_.matches[n]);
    if (matches == 0 && options_.smoothing == BleuOptions::Smoothing::exp) {
      matches = smoothed /= 2;
    }
    result.precisions[n] = 100 * matches / static_cast<double>(sums_.totals[n]);
  }
  if (!options_.effective_order) orders = kOrders;
  for (std::size_t n = 0; n < orders; ++n) logarithms += std::log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(logarithms / static_cast<double>(orders));
  return result;
}

double Bleu::value() const {
  return sentences_ == 0 ? std::numeric_limits<double>::quiet_NaN() : score().score;
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::string> references, const BleuOptions& options) {
  check_sizes(hypotheses.size(), references.size());
  Bleu bleu(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) bleu.update(hypotheses[i], {references[i]});
  return bleu.score();
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::vector<std::string>> references,
                      const BleuOptions& options) {
  check_sizes(hypotheses.size(), references.size());
  Bleu bleu(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) bleu.update(hypotheses[i], references[i]);
  return bleu.score();
}

}  // namespace trireme
