#include <gmock/gmock.h>

#include <cmath>

#include "base/testing/error.h"
#include "data/sequence/words.h"
#include "trireme/sequence_metrics.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr BleuOptions kLowerWords{.tokenizer = BleuOptions::Tokenizer::none, .lower_case = true};

BleuScore bleu_of(const std::string& hypothesis, const Texts& references,
                  const BleuOptions& options = kLowerWords) {
  return corpus_bleu(Texts{hypothesis}, std::vector<Texts>{references}, options);
}

// The examples of the paper, sections 2.1 and 2.2, without the full stops.
TEST(Bleu, CountsWhatPapineniAndOthersCount) {
  const Texts right{
      "It is a guide to action that ensures that the military will forever heed Party commands",
      "It is the guiding principle which guarantees the military forces always being under the "
      "command of the Party",
      "It is the practical guide for the army always to heed the directions of the party"};
  const BleuScore good = bleu_of(
      "It is a guide to action which ensures that the military always obeys the commands of the "
      "party",
      right);
  EXPECT_EQ(good.matches[0], 17);
  EXPECT_EQ(good.totals[0], 18);
  EXPECT_EQ(good.matches[1], 10);
  EXPECT_EQ(good.totals[1], 17);
  EXPECT_EQ(good.reference_length, 18);
  EXPECT_EQ(good.brevity_penalty, 1);
  const BleuScore bad = bleu_of(
      "It is to insure the troops forever hearing the activity guidebook that party direct", right);
  EXPECT_EQ(bad.matches[0], 8);
  EXPECT_EQ(bad.totals[0], 14);
  EXPECT_EQ(bad.matches[1], 1);
  EXPECT_EQ(bad.totals[1], 13);
  const BleuScore the = bleu_of("the the the the the the the",
                                {"The cat is on the mat", "There is a cat on the mat"});
  EXPECT_EQ(the.matches[0], 2);
  EXPECT_EQ(the.totals[0], 7);
  EXPECT_EQ(the.matches[1], 0);
}

TEST(Bleu, IsThePenaltyTimesTheGeometricMean) {
  // 5 words of 6: 5/5, 3/4, 2/3 and 1/2 of the n-grams match.
  const BleuScore score = bleu_of("a b c d f", {"a b c d e f"});
  EXPECT_THAT(score.matches, ElementsAre(5, 3, 2, 1));
  EXPECT_THAT(score.totals, ElementsAre(5, 4, 3, 2));
  EXPECT_DOUBLE_EQ(score.brevity_penalty, std::exp(1 - 6.0 / 5));
  EXPECT_NEAR(score.score, 100 * std::exp(-0.2) * std::pow(0.75 * 2 / 3 * 0.5, 0.25), 1e-12);
  EXPECT_NEAR(bleu_of("a b c d", {"a b c d"}).score, 100, 1e-12);
}

TEST(Bleu, SmoothsByHalves) {
  BleuOptions options = kLowerWords;
  const BleuScore score = bleu_of("a x b y c", {"a z b w c"});
  EXPECT_THAT(score.matches, ElementsAre(3, 0, 0, 0));
  EXPECT_THAT(score.precisions, ElementsAre(60, 100 / 2.0 / 4, 100 / 4.0 / 3, 100 / 8.0 / 2));
  options.smoothing = BleuOptions::Smoothing::none;
  EXPECT_EQ(bleu_of("a x b y c", {"a z b w c"}, options).score, 0);
  EXPECT_EQ(bleu_of("x y", {"a b"}).score, 0) << "nothing to smooth without any match";
  EXPECT_EQ(bleu_of("a b", {"a b"}).score, 0) << "no n-gram of 3 words to look for";
  options.effective_order = true;
  EXPECT_NEAR(bleu_of("a b", {"a b"}, options).score, 100, 1e-12);
  EXPECT_EQ(bleu_of("", {"a b"}, options).score, 0);
}

TEST(Bleu, TakesTheNearestReference) {
  const Texts references{"a b c d e f", "a b", "a b c d e"};
  EXPECT_EQ(bleu_of("x x x x", references).reference_length, 5);
  EXPECT_EQ(bleu_of("x", references).reference_length, 2);
  EXPECT_EQ(bleu_of("x x x x", {"a b c d e", "a b c"}).reference_length, 3) << "the shorter of two";
  EXPECT_EQ(bleu_of("x x", {"a b c", ""}).reference_length, 3);
}

TEST(Bleu, OfACorpusIsOfItsSums) {
  const Texts hypotheses{"a b c d e", "x", ""}, references{"a b c d", "y z", "w"};
  Bleu bleu(kLowerWords);
  EXPECT_TRUE(std::isnan(bleu.value()));
  for (std::size_t i = 0; i < 3; ++i) bleu.update(hypotheses[i], {references[i]});
  const BleuScore all = corpus_bleu(hypotheses, references, kLowerWords);
  EXPECT_THAT(all.matches, ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(all.totals, ElementsAre(6, 4, 3, 2));
  EXPECT_EQ(all.hypothesis_length, 6);
  EXPECT_EQ(all.reference_length, 7);
  EXPECT_EQ(bleu.value(), all.score);
  EXPECT_EQ(bleu.sentences(), 3);
  EXPECT_THROW(bleu.update("a\xff", {"a"}), Error);
  EXPECT_EQ(bleu.value(), all.score);
  bleu.reset();
  EXPECT_TRUE(std::isnan(bleu.value()));
  bleu.update("A B C D", {"a b c d"});
  EXPECT_NEAR(bleu.value(), 100, 1e-12) << "still in lower case";
}

TEST(Words13a, StandBetweenSpaces) {
  const auto words = [](const char* text) { return data::words_of(data::spaced_13a(text)); };
  EXPECT_THAT(words("Hello, world!"), ElementsAre("Hello", ",", "world", "!"));
  EXPECT_THAT(words("1,000.5 and 3.14."), ElementsAre("1,000.5", "and", "3.14", "."));
  EXPECT_THAT(words("don't stop-gap 5-year"), ElementsAre("don't", "stop-gap", "5", "-", "year"));
  EXPECT_THAT(words("&quot;a&quot; &amp; &lt;b&gt;"),
              ElementsAre("\"", "a", "\"", "&", "<", "b", ">"));
  EXPECT_THAT(words("a-\nb<skipped>\nc"), ElementsAre("ab", "c"));
  EXPECT_THAT(words("\u00c7a va\u00a0?\u202f\u00abOui\u00bb"),
              ElementsAre("\u00c7a", "va", "?", "\u00abOui\u00bb"));
  EXPECT_THAT(words("..."), ElementsAre(".", ".", "."));
  EXPECT_THAT(words(""), ElementsAre());
  EXPECT_THAT(data::words_of("\u3000a\tb\u2003\u2003c\x1f"), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace trireme
