#include "data/text/lower_case.h"

#include <algorithm>
#include <iterator>

#include "data/text/lower_case_table.h"
#include "data/text/utf8.h"

namespace trireme::data {
namespace {

constexpr char32_t kDottedI = 0x130, kDotAbove = 0x307;
constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;

bool holds(const LowerCaseRun& run, char32_t code) {
  return run.first <= code && code <= run.last &&
         (code - run.first) % static_cast<char32_t>(run.step) == 0;
}

char32_t shifted(char32_t code, std::int32_t by) {
  return static_cast<char32_t>(static_cast<std::int32_t>(code) + by);
}

char32_t lower(char32_t code) {
  const auto* after =
      std::upper_bound(std::begin(kLowerCase), std::end(kLowerCase), code,
                       [](char32_t c, const LowerCaseRun& run) { return c < run.first; });
  if (after == std::begin(kLowerCase)) return code;
  const LowerCaseRun& run = *std::prev(after);
  return holds(run, code) ? shifted(code, run.shift) : code;
}

// Returns whether it is one of a pair of letters, or a lower-case letter without a capital: sharp
// s, the final sigma, iota and upsilon with two marks.
bool is_letter(char32_t code) {
  if (code == 0xDF || code == kFinalSigma || code == 0x390 || code == 0x3B0) return true;
  return lower(code) != code ||
         std::any_of(std::begin(kLowerCase), std::end(kLowerCase), [&](const LowerCaseRun& run) {
           return holds(run, shifted(code, -run.shift));
         });
}

// What may stand in a word and is no letter: combining marks, apostrophes, dots and colons.
bool is_looked_through(char32_t code) {
  return (code >= 0x300 && code <= 0x36F) || code == U'\'' || code == 0x2019 || code == U'.' ||
         code == U':' || code == 0xB7;
}

// Of the code points from `at` on in steps of `by`, whether the first that is not looked through is
// a letter.
bool meets_letter(const std::u32string& text, std::size_t at, std::size_t by) {
  while (at < text.size() && is_looked_through(text[at])) at += by;  // below 0 it is huge
  return at < text.size() && is_letter(text[at]);
}

}  // namespace

std::string lower_case(std::string_view text) {
  const std::u32string codes = code_points(text);
  constexpr std::size_t kBack = static_cast<std::size_t>(-1);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == kDottedI) {
      append_utf8(result, U'i');
      append_utf8(result, kDotAbove);
    } else if (codes[i] == kSigma && meets_letter(codes, i - 1, kBack) &&
               !meets_letter(codes, i + 1, 1)) {
      append_utf8(result, kFinalSigma);
    } else {
      append_utf8(result, lower(codes[i]));
    }
  }
  return result;
}

}  // namespace trireme::data
