#include "data/text/unicode.h"

#include <algorithm>
#include <iterator>

#include "data/text/unicode_tables.h"

namespace trireme::data {
namespace {

// Returns the range that contains a code point, or null. The table is sorted and without overlaps.
template <class Range, std::size_t n>
const Range* find_range(const Range (&table)[n], char32_t code) {
  const Range* next =
      std::upper_bound(std::begin(table), std::end(table), code,
                       [](char32_t wanted, const Range& range) { return wanted < range.first; });
  if (next == std::begin(table)) return nullptr;
  const Range* range = std::prev(next);
  return code <= range->last ? range : nullptr;
}

}  // namespace

CharacterKind kind_of(char32_t code) {
  if (find_range(kWhite, code) != nullptr) return CharacterKind::white;
  return find_range(kMarks, code) != nullptr ? CharacterKind::mark : CharacterKind::word;
}

char32_t to_lower(char32_t code) {
  const CaseRange* range = find_range(kLower, code);
  if (range == nullptr || (code - range->first) % range->step != 0) return code;
  return static_cast<char32_t>(static_cast<std::int64_t>(code) + range->delta);
}

}  // namespace trireme::data
