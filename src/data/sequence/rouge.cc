// ROUGE: C.-Y. Lin, "ROUGE: A package for automatic evaluation of summaries", 2004.

#include <fmt/core.h>

#include <algorithm>
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

using WordNumbers = std::map<std::string, int, std::less<>>;
using Words = std::vector<int>;

bool is_ascii_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

Words numbered_words(std::string_view text, RougeOptions::Tokenizer tokenizer,
                     WordNumbers& numbers) {
  std::string spaced(text);
  if (tokenizer == RougeOptions::Tokenizer::ascii) {
    spaced = data::lower_case(text);
    std::replace_if(spaced.begin(), spaced.end(), [](char c) { return !is_ascii_word(c); }, ' ');
  }
  Words words;
  for (std::string& word : data::words_of(spaced)) {
    const auto next = static_cast<int>(numbers.size());
    words.push_back(numbers.try_emplace(std::move(word), next).first->second);
  }
  return words;
}

RougeScore score_of(std::size_t common, std::size_t hypothesis, std::size_t reference) {
  if (common == 0) return {};
  const auto matches = static_cast<double>(common);
  return {.precision = matches / static_cast<double>(hypothesis),
          .recall = matches / static_cast<double>(reference),
          .f1 = 2 * matches / static_cast<double>(hypothesis + reference)};
}

std::map<Words, std::size_t> runs_of(const Words& words, std::size_t length) {
  std::map<Words, std::size_t> runs;
  for (std::size_t end = length; end <= words.size(); ++end) {
    const auto last = words.begin() + static_cast<std::ptrdiff_t>(end);
    ++runs[Words(last - static_cast<std::ptrdiff_t>(length), last)];
  }
  return runs;
}

RougeScore score_of_runs(const Words& hypothesis, const Words& reference, std::size_t length) {
  const auto wanted = runs_of(reference, length);
  std::size_t common = 0;
  for (const auto& [run, count] : runs_of(hypothesis, length)) {
    const auto found = wanted.find(run);
    if (found != wanted.end()) common += std::min(count, found->second);
  }
  const auto runs = [&](const Words& words) { return words.size() - (length - 1); };
  return score_of(common, runs(hypothesis), runs(reference));
}

// The length of the longest common subsequence, row by row.
std::size_t longest_common(const Words& a, const Words& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (const int word : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = word == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row.back();
}

void keep_better(RougeScore& best, const RougeScore& score) {
  if (score.f1 > best.f1) best = score;
}

void add_score(RougeScore& sum, const RougeScore& score) {
  sum.precision += score.precision;
  sum.recall += score.recall;
  sum.f1 += score.f1;
}

RougeScore divided(const RougeScore& sum, std::int64_t texts) {
  const auto count = static_cast<double>(texts);
  if (texts == 0) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan};
  }
  return {sum.precision / count, sum.recall / count, sum.f1 / count};
}

void check_text(std::string_view text, std::int64_t number, const std::string& name) {
  const std::size_t invalid = data::find_invalid_utf8(text);
  if (invalid == std::string_view::npos) return;
  fail_data(fmt::format("ROUGE: text {}: byte {} of {} is not UTF-8", number, invalid, name));
}

void check_counts(std::size_t hypotheses, std::size_t references) {
  if (hypotheses != references) {
    fail_usage(fmt::format("ROUGE: there are {} hypotheses, but references for {}", hypotheses,
                           references));
  }
  if (hypotheses == 0) fail_usage("ROUGE: there are no texts");
}

}  // namespace

void Rouge::update(std::string_view hypothesis, const std::vector<std::string>& references) {
  if (references.empty()) fail_usage(fmt::format("ROUGE: text {} has no reference", texts_));
  check_text(hypothesis, texts_, "the hypothesis");
  for (std::size_t i = 0; i < references.size(); ++i) {
    check_text(references[i], texts_, fmt::format("reference {}", i));
  }
  WordNumbers numbers;
  const Words words = numbered_words(hypothesis, options_.tokenizer, numbers);
  RougeScores best;
  for (const std::string& reference : references) {
    const Words right = numbered_words(reference, options_.tokenizer, numbers);
    keep_better(best.rouge_1, score_of_runs(words, right, 1));
    keep_better(best.rouge_2, score_of_runs(words, right, 2));
    keep_better(best.rouge_l, score_of(longest_common(words, right), words.size(), right.size()));
  }
  add_score(sums_.rouge_1, best.rouge_1);
  add_score(sums_.rouge_2, best.rouge_2);
  add_score(sums_.rouge_l, best.rouge_l);
  ++texts_;
}

RougeScores Rouge::score() const {
  return {divided(sums_.rouge_1, texts_), divided(sums_.rouge_2, texts_),
          divided(sums_.rouge_l, texts_)};
}

double Rouge::value() const { return score().rouge_l.f1; }

RougeScores corpus_rouge(std::span<const std::string> hypotheses,
                         std::span<const std::string> references, const RougeOptions& options) {
  check_counts(hypotheses.size(), references.size());
  Rouge rouge(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) rouge.update(hypotheses[i], {references[i]});
  return rouge.score();
}

RougeScores corpus_rouge(std::span<const std::string> hypotheses,
                         std::span<const std::vector<std::string>> references,
                         const RougeOptions& options) {
  check_counts(hypotheses.size(), references.size());
  Rouge rouge(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) rouge.update(hypotheses[i], references[i]);
  return rouge.score();
}

}  // namespace trireme
