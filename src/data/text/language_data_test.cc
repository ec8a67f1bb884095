// Examples for language models and taggers, by hand.

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/testing/error.h"
#include "data/text/language_data.h"
#include "data/text/tagged_data.h"

namespace trireme::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<std::int64_t>;
using Kind = text::TokenOptions::Kind;

Corpus running(const std::string& text) { return {"prose", {"text"}, {{text}}}; }

text::Encoder encoder_of(const Corpus& corpus, Kind kind = Kind::split) {
  const text::TokenOptions tokens{.kind = kind};
  return {tokens, vocabulary_of(corpus, tokens, {.begin = "", .end = ""})};
}

TEST(LanguageData, PiecesAndWhatFollowsEachToken) {
  const Corpus corpus = running("abcdefg");
  const text::Encoder bytes = encoder_of(corpus, Kind::bytes);
  EXPECT_EQ(bytes.vocabulary.size(), 256);
  const Dataset dataset = following_tokens(corpus, bytes, 4);
  ASSERT_EQ(dataset.size(), 2);
  EXPECT_EQ(dataset.column("next").ids, 256);
  const Batch all = dataset.all();
  EXPECT_THAT(RaggedTensor::from_feeds(all, "text").lengths(), ElementsAre(4, 2));
  EXPECT_THAT(all.at("text").to_vector<std::int64_t>(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  EXPECT_THAT(all.at("next").to_vector<std::int64_t>(), ElementsAre('b', 'c', 'd', 'e', 'f', 'g'));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { following_tokens(running("a"), bytes, 4); }),
              HasSubstr("prose: a text of 1 tokens has no next token"));
}

TEST(LanguageData, RunsOfTokens) {
  const Corpus corpus = running("a b a c");
  const text::Encoder words = encoder_of(corpus);
  const auto id = [&](const char* word) { return words.vocabulary.id(word); };
  const Dataset dataset = ngram_samples(corpus, words, 3);
  EXPECT_EQ(dataset.column("context").shape, Ids{2});
  EXPECT_EQ(dataset.column("next").words, words.vocabulary.tokens());
  const Batch all = dataset.all();
  EXPECT_THAT(all.at("context").to_vector<std::int64_t>(),
              ElementsAre(id("a"), id("b"), id("b"), id("a")));
  EXPECT_THAT(all.at("next").to_vector<std::int64_t>(), ElementsAre(id("a"), id("c")));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { ngram_samples(corpus, words, 5); }),
              HasSubstr("has no run of that length"));
}

std::string many_words() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += std::string(1, static_cast<char>('a' + i * i % 11)) + " ";
  return text;
}

TEST(LanguageData, PairsWithNoiseAreOthersInEveryEpoch) {
  const Corpus corpus = running(many_words());
  const text::Encoder words = encoder_of(corpus);
  const Ids ids = words.encode(corpus.field("text")[0]);
  const Dataset dataset =
      skip_gram_samples(corpus, words, {.window = 2, .subsample = 0, .seed = 3, .noise = 4});
  EXPECT_EQ(dataset.column("candidates").shape, Ids{5});
  std::set<std::pair<std::int64_t, std::int64_t>> near;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = i + 1; j < ids.size() && j <= i + 2; ++j) {
      near.insert({ids[i], ids[j]});
      near.insert({ids[j], ids[i]});
    }
  }
  std::vector<Ids> epochs;
  for (const std::int64_t epoch : {0, 1, 2, 0}) {
    const Batch all = dataset.gather(dataset.order(0), epoch);
    const Ids centers = all.at("centre").to_vector<std::int64_t>();
    const Ids candidates = all.at("candidates").to_vector<std::int64_t>();
    for (std::size_t i = 0; i < centers.size(); ++i) {
      EXPECT_TRUE(near.contains({centers[i], candidates[5 * i]})) << i;
    }
    const Ids target = all.at("target").to_vector<std::int64_t>();
    EXPECT_EQ(Ids(target.begin(), target.begin() + 5), (Ids{1, 0, 0, 0, 0}));
    epochs.push_back(candidates);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(epochs[0], epochs[3]) << "an epoch is the same whenever it is read";
}

TEST(LanguageData, PairsInATreeGoTheWayToTheWord) {
  const Corpus corpus = running(many_words());
  const text::Encoder words = encoder_of(corpus);
  // Word k is k ones and a zero, like unary numbers.
  const std::int64_t count = words.vocabulary.size();
  Ids path, code;
  for (std::int64_t word = 0; word < count; ++word) {
    for (std::int64_t node = 0; node < count; ++node) {
      path.push_back(node <= word ? node : -1);
      code.push_back(node < word ? 1 : 0);
    }
  }
  const Tensor ways = Tensor::from<std::int64_t>({count, count}, path);
  const Tensor branches = Tensor::from<std::int64_t>({count, count}, code);
  const SkipGramData tree{
      .window = 2, .subsample = 0, .path = ways, .code = branches, .nodes = count};
  const Dataset dataset = skip_gram_samples(corpus, words, tree);
  const Dataset noisy = skip_gram_samples(corpus, words, {.window = 2, .subsample = 0, .noise = 1});
  const Ids right = noisy.all().at("candidates").to_vector<std::int64_t>();
  const Batch all = dataset.all();
  const RaggedTensor nodes = RaggedTensor::from_feeds(all, "candidates");
  const RaggedTensor taken = RaggedTensor::from_feeds(all, "target");
  EXPECT_EQ(nodes.lengths(), taken.lengths());
  EXPECT_EQ(nodes.lengths(), dataset.lengths("candidates", dataset.order(0)));
  for (std::int64_t i = 0; i < nodes.size(); ++i) {
    const Ids way = taken.sequence(i).to_vector<std::int64_t>();
    const auto word = static_cast<std::size_t>(right[static_cast<std::size_t>(2 * i)]);
    Ids expected(word, 1);
    expected.push_back(0);
    EXPECT_EQ(way, expected) << i;
  }
}

Corpus sentences() {
  return {"roles",
          {"words", "tags", "position", "roles"},
          {{"I saw it", "They Saw"},
           {"P V P", "P V"},
           {"1", "1"},
           {"B-ARG0 B-V B-ARG1", "B-ARG0 B-V"}}};
}

TEST(TaggedData, WordsTagsAndRoles) {
  const Corpus corpus = sentences();
  const std::vector<std::string> labels = role_labels(corpus, 2);
  EXPECT_THAT(labels, ElementsAre("O", "B-ARG0", "I-ARG0"));
  const text::TokenOptions lower{.kind = Kind::split, .lower_case = true};
  const text::Encoder words{lower, vocabulary_of(corpus, lower, {.min_count = 2}, "words")};
  const text::Encoder tags{lower, vocabulary_of(corpus, lower, {}, "tags")};
  const Dataset dataset = tagged_words(corpus, {{"words", words}, {"tags", tags}}, labels);
  EXPECT_EQ(dataset.class_names(), labels);
  EXPECT_EQ(dataset.column("roles").ids, 5) << "and those of other roles";
  const Batch all = dataset.all();
  const std::int64_t saw = words.vocabulary.id("saw"), other = words.vocabulary.unknown_id();
  EXPECT_THAT(all.at("words").to_vector<std::int64_t>(),
              ElementsAre(other, saw, other, other, saw));
  EXPECT_THAT(all.at("roles").to_vector<std::int64_t>(), ElementsAre(1, 0, 3, 1, 0));
  EXPECT_THAT(all.at("position").to_vector<std::int64_t>(), ElementsAre(1, 1));

  Corpus wrong = corpus;
  wrong.values[2][1] = "2";
  EXPECT_THAT(error_of(ErrorKind::data, [&] { tagged_words(wrong, {}, labels); }),
              HasSubstr("example 1 has the position \"2\", but 2 words"));
  wrong = corpus;
  wrong.values[0][0] = "I saw";
  EXPECT_THAT(error_of(ErrorKind::data, [&] { tagged_words(wrong, {{"words", words}}, labels); }),
              HasSubstr("example 0 has 2 entries of \"words\" and 3 roles"));
  EXPECT_THROW(role_labels(corpus, 9), Error);
}

}  // namespace
}  // namespace trireme::data
