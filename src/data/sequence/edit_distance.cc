// The edit distance of Wagner and Fischer, row by row.

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "data/sequence/splits.h"
#include "data/text/utf8.h"
#include "trireme/sequence_metrics.h"

namespace trireme {
namespace {

using IdSpan = std::span<const std::int64_t>;

// The cost of an edit. A replacement costs one less, so that among paths with equal numbers of
// edits the one with the most replacements is the cheapest.
constexpr std::int64_t kEdit = std::int64_t{1} << 32;

std::int64_t least_cost(IdSpan hypothesis, IdSpan reference) {
  std::vector<std::int64_t> row(reference.size() + 1);  // from nothing of the hypothesis on
  for (std::size_t j = 1; j < row.size(); ++j) row[j] = row[j - 1] + kEdit;
  for (const std::int64_t element : hypothesis) {
    std::int64_t diagonal = row[0];
    row[0] += kEdit;
    for (std::size_t j = 0; j < reference.size(); ++j) {
      const std::int64_t replaced = diagonal + (element == reference[j] ? 0 : kEdit - 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min(replaced, std::min(row[j + 1], row[j]) + kEdit);
    }
  }
  return row.back();
}

IdSpan::size_type checked_size(IdSpan ids) {
  constexpr std::size_t kMax = std::size_t{1} << 30;  // costs must fit
  if (ids.size() < kMax) return ids.size();
  fail_usage(
      fmt::format("edit_distance: a sequence of {} elements; cut it into parts of less than {}",
                  ids.size(), kMax));
}

std::vector<std::int64_t> checked_code_points(std::string_view text, const char* side) {
  const std::size_t invalid = data::find_invalid_utf8(text);
  if (invalid != std::string_view::npos) {
    fail_data(fmt::format("edit_distance: byte {} of the {} is not UTF-8", invalid, side));
  }
  const std::u32string codes = data::code_points(text);
  return {codes.begin(), codes.end()};
}

using Numbers = std::map<std::string_view, std::int64_t>;

std::vector<std::int64_t> numbered(std::span<const std::string> words, Numbers& numbers) {
  std::vector<std::int64_t> ids;
  ids.reserve(words.size());
  for (const std::string& word : words) {
    ids.push_back(
        numbers.try_emplace(word, static_cast<std::int64_t>(numbers.size())).first->second);
  }
  return ids;
}

IdSpan sequence(const PackedIds& packed, std::size_t i) {
  const auto begin = static_cast<std::size_t>(packed.splits[i]);
  return packed.ids.subspan(begin, static_cast<std::size_t>(packed.splits[i + 1]) - begin);
}

}  // namespace

double Edits::rate() const {
  if (reference > 0) return static_cast<double>(total()) / static_cast<double>(reference);
  return total() == 0 ? 0 : std::numeric_limits<double>::infinity();
}

Edits& Edits::operator+=(const Edits& other) {
  insertions += other.insertions;
  deletions += other.deletions;
  substitutions += other.substitutions;
  reference += other.reference;
  return *this;
}

Edits edit_distance(IdSpan hypothesis, IdSpan reference) {
  const auto given = static_cast<std::int64_t>(checked_size(hypothesis));
  const auto wanted = static_cast<std::int64_t>(checked_size(reference));
  const std::int64_t cost = least_cost(hypothesis, reference);
  const std::int64_t edits = (cost + kEdit - 1) / kEdit;
  Edits result;
  result.substitutions = edits * kEdit - cost;
  // The other edits are insertions and deletions. Their difference is that of the lengths.
  result.insertions = (edits - result.substitutions + given - wanted) / 2;
  result.deletions = result.insertions - given + wanted;
  result.reference = wanted;
  return result;
}

Edits edit_distance(std::string_view hypothesis, std::string_view reference) {
  return edit_distance(checked_code_points(hypothesis, "hypothesis"),
                       checked_code_points(reference, "reference"));
}

Edits edit_distance(std::span<const std::string> hypothesis,
                    std::span<const std::string> reference) {
  Numbers numbers;
  const std::vector<std::int64_t> given = numbered(hypothesis, numbers);
  return edit_distance(given, numbered(reference, numbers));
}

void EditRate::update(IdSpan hypothesis, IdSpan reference) {
  add(edit_distance(hypothesis, reference));
}

void EditRate::update(std::string_view hypothesis, std::string_view reference) {
  add(edit_distance(hypothesis, reference));
}

void EditRate::update(std::span<const std::string> hypothesis,
                      std::span<const std::string> reference) {
  add(edit_distance(hypothesis, reference));
}

void EditRate::update(const PackedIds& hypotheses, const PackedIds& references) {
  data::check_splits("edit rate, hypotheses", hypotheses.splits, hypotheses.ids.size());
  data::check_splits("edit rate, references", references.splits, references.ids.size());
  if (hypotheses.splits.size() != references.splits.size()) {
    fail_usage(fmt::format("edit rate: {} hypotheses, but {} references",
                           hypotheses.splits.size() - 1, references.splits.size() - 1));
  }
  EditRate all = *this;
  for (std::size_t i = 0; i + 1 < hypotheses.splits.size(); ++i) {
    all.update(sequence(hypotheses, i), sequence(references, i));
  }
  *this = all;
}

void EditRate::add(const Edits& edits) {
  edits_ += edits;
  ++sequences_;
  if (edits.total() > 0) ++wrong_;
}

double EditRate::value() const {
  return sequences_ == 0 ? std::numeric_limits<double>::quiet_NaN() : edits_.rate();
}

double EditRate::sequence_value() const {
  if (sequences_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(wrong_) / static_cast<double>(sequences_);
}

}  // namespace trireme
