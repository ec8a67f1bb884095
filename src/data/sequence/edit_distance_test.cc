#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "base/testing/error.h"
#include "trireme/sequence_metrics.h"

namespace trireme {
namespace {

using Ids = std::vector<std::int64_t>;
using ::testing::HasSubstr;
using Span = std::span<const std::int64_t>;

auto parts(const Edits& e) { return std::tuple(e.insertions, e.deletions, e.substitutions); }

// Tries every way: each first element is inserted, deleted, or set against the other's first.
Edits by_trying(Span hypothesis, Span reference) {
  std::vector<Edits> ways;
  if (!hypothesis.empty()) {
    ways.push_back(by_trying(hypothesis.subspan(1), reference));
    ++ways.back().insertions;
  }
  if (!reference.empty()) {
    ways.push_back(by_trying(hypothesis, reference.subspan(1)));
    ++ways.back().deletions;
  }
  if (!hypothesis.empty() && !reference.empty()) {
    ways.push_back(by_trying(hypothesis.subspan(1), reference.subspan(1)));
    if (hypothesis[0] != reference[0]) ++ways.back().substitutions;
  }
  Edits best;
  bool first = true;
  for (const Edits& way : ways) {
    const bool better = way.total() < best.total() ||
                        (way.total() == best.total() && way.substitutions > best.substitutions);
    if (first || better) best = way;
    first = false;
  }
  return best;
}

// All sequences of up to `longest` elements below `letters`.
std::vector<Ids> all_sequences(std::size_t longest, std::int64_t letters) {
  std::vector<Ids> all{{}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == longest) continue;
    for (std::int64_t letter = 0; letter < letters; ++letter) {
      Ids longer = all[i];
      longer.push_back(letter);
      all.push_back(longer);
    }
  }
  return all;
}

TEST(EditDistance, OfAllShortSequencesIsWhatTryingFinds) {
  const std::vector<Ids> sequences = all_sequences(4, 2);
  ASSERT_EQ(sequences.size(), 31u);
  for (const Ids& a : sequences) {
    for (const Ids& b : sequences) {
      const Edits edits = edit_distance(a, b);
      EXPECT_EQ(parts(edits), parts(by_trying(a, b)))
          << testing::PrintToString(a) << " for " << testing::PrintToString(b);
      EXPECT_EQ(edits.reference, static_cast<std::int64_t>(b.size()));
    }
  }
}

TEST(EditDistance, OfSequencesAtRandomIsWhatTryingFinds) {
  std::mt19937 random(3);
  const auto draw = [&] {
    Ids ids(random() % 7);
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % 4) * 1'000'000'007;
    return ids;
  };
  for (int i = 0; i < 300; ++i) {
    const Ids a = draw(), b = draw();
    EXPECT_EQ(parts(edit_distance(a, b)), parts(by_trying(a, b)))
        << testing::PrintToString(a) << " for " << testing::PrintToString(b);
    EXPECT_EQ(edit_distance(a, b).total(), edit_distance(b, a).total());
  }
}

TEST(EditDistance, CountsWhatIsKnown) {
  EXPECT_EQ(parts(edit_distance("sitting", "kitten")), std::tuple(1, 0, 2));
  EXPECT_EQ(parts(edit_distance("kitten", "sitting")), std::tuple(0, 1, 2));
  EXPECT_EQ(edit_distance("saturday", "sunday").total(), 3);
  EXPECT_EQ(edit_distance("intention", "execution").total(), 5);
  EXPECT_EQ(parts(edit_distance("ab", "ba")), std::tuple(0, 0, 2)) << "not one out and one in";
  EXPECT_DOUBLE_EQ(edit_distance("kitten", "sitting").rate(), 3.0 / 7);
}

TEST(EditDistance, OfTextIsOfCodePoints) {
  EXPECT_EQ(parts(edit_distance("\u00e9t\u00e9", "ete")), std::tuple(0, 0, 2));
  EXPECT_EQ(parts(edit_distance("a\U0001f600\u20acz", "a\u20acz")), std::tuple(1, 0, 0));
  EXPECT_EQ(parts(edit_distance("e\u0301", "\u00e9")), std::tuple(1, 0, 1)) << "not normalized";
  EXPECT_THAT(error_of(ErrorKind::data, [] { edit_distance("abc", "ab\xff"); }),
              HasSubstr("byte 2 of the reference is not UTF-8"));
}

TEST(EditDistance, OfWords) {
  const std::vector<std::string> said{"the", "cat", "sat", "on", "mat"};
  const std::vector<std::string> heard{"a", "cat", "sat", "on", "the", "mat"};
  EXPECT_EQ(parts(edit_distance(said, heard)), std::tuple(0, 1, 1));
}

// Long ones that differ by known edits far apart: 3 elements in, 2 out, 4 others.
TEST(EditDistance, OfLongSequences) {
  Ids right(3000);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = static_cast<std::int64_t>(i);
  Ids given = right;
  for (const std::size_t i : {100u, 900u, 1500u, 2100u}) given[i] = -1;
  for (const int i : {2500, 400}) given.erase(given.begin() + i);
  for (const int i : {2800, 1900, 10}) given.insert(given.begin() + i, -2);
  EXPECT_EQ(parts(edit_distance(given, right)), std::tuple(3, 2, 4));
}

TEST(EditRate, DividesAllEditsByAllReferences) {
  EditRate rate;
  EXPECT_TRUE(std::isnan(rate.value()));
  EXPECT_TRUE(std::isnan(rate.sequence_value()));
  rate.update("kitten", "sitting");
  rate.update("same", "same");
  rate.update("", "abc");
  EXPECT_DOUBLE_EQ(rate.value(), 6.0 / 14);
  EXPECT_DOUBLE_EQ(rate.sequence_value(), 2.0 / 3);
  EXPECT_EQ(rate.sequences(), 3);
  rate.update("xy", "");
  EXPECT_DOUBLE_EQ(rate.value(), 8.0 / 14) << "insertions without a reference count all the same";
  rate.reset();
  EXPECT_TRUE(std::isnan(rate.value()));
  rate.update("", "");
  EXPECT_EQ(rate.value(), 0);
  rate.update("x", "");
  EXPECT_EQ(rate.value(), std::numeric_limits<double>::infinity());
}

TEST(EditRate, TakesPackedSequences) {
  const Ids given{1, 2, 3, 4, 4}, right{1, 3, 9, 4};
  const Ids given_splits{0, 3, 3, 5, 5}, right_splits{0, 2, 3, 4, 4};
  EditRate packed, single;
  packed.update({given, given_splits}, {right, right_splits});
  single.update(Ids{1, 2, 3}, Ids{1, 3});
  single.update(Ids{}, Ids{9});
  single.update(Ids{4, 4}, Ids{4});
  single.update(Ids{}, Ids{});
  EXPECT_EQ(parts(packed.edits()), parts(single.edits()));
  EXPECT_EQ(parts(packed.edits()), std::tuple(2, 1, 0));
  EXPECT_EQ(packed.sequences(), 4);
  EXPECT_DOUBLE_EQ(packed.sequence_value(), 0.75);
}

TEST(Perplexity, IsTheExponentOfTheMean) {
  // Ten tokens, each one of eight equally likely ones.
  const std::vector<double> even(10, std::log(8.0));
  EXPECT_NEAR(perplexity(even), 8, 1e-12);
  const std::vector<double> odd{-std::log(0.5), -std::log(0.125)};
  EXPECT_NEAR(perplexity(odd), 4, 1e-12) << "1 / the geometric mean of 1/2 and 1/8";
  Perplexity streamed;
  EXPECT_TRUE(std::isnan(streamed.value()));
  streamed.update(std::span(odd).first(1));
  streamed.update(std::vector<float>{});
  streamed.update(-std::log(0.125) + 10 * std::log(4.0), 11);
  EXPECT_NEAR(streamed.value(), 4, 1e-12);
  EXPECT_EQ(streamed.tokens(), 12);
  streamed.update(std::vector<float>{std::numeric_limits<float>::infinity()});
  EXPECT_EQ(streamed.value(), std::numeric_limits<double>::infinity());
  streamed.reset();
  EXPECT_EQ(streamed.tokens(), 0);
}

}  // namespace
}  // namespace trireme
