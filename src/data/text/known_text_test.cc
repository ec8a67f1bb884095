// The real corpora, where this machine has them, with the numbers that their authors give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "data/testing/needs_data.h"
#include "trireme/text_data.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class KnownText : public testing::Test {
 protected:
  // Tests run in the build directory; the data may lie beside the source.
  KnownText() {
    const char* source = std::getenv("TRIREME_SOURCE_DIR");
    if (source != nullptr) std::filesystem::current_path(source);
  }
};

std::size_t different(const std::vector<std::string>& values) {
  return std::set<std::string>(values.begin(), values.end()).size();
}

void expect_two_classes(const Corpus& corpus, std::int64_t of_each) {
  EXPECT_EQ(corpus.size(), 2 * of_each);
  const std::vector<std::string>& labels = corpus.field("label");
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "neg"), of_each);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "pos"), of_each);
}

TEST_F(KnownText, MovieReviews) {
  NEEDS_DATA("movie_reviews/train");
  const Corpus train = open_text("movie_reviews/train"), test = open_text("movie_reviews/test");
  expect_two_classes(train, 800);
  expect_two_classes(test, 200);
  std::set<std::string> texts(train.field("text").begin(), train.field("text").end());
  for (const std::string& text : test.field("text")) EXPECT_FALSE(texts.contains(text));
}

TEST_F(KnownText, SentencePolarity) {
  NEEDS_DATA("sentence_polarity/train");
  expect_two_classes(open_text("sentence_polarity/train"), 5331 - 1066);
  expect_two_classes(open_text("sentence_polarity/test"), 1066);
}

TEST_F(KnownText, RunningText) {
  NEEDS_DATA("tiny_shakespeare/train");
  const std::string train = open_text("tiny_shakespeare/train").field("text").at(0);
  const std::string test = open_text("tiny_shakespeare/test").field("text").at(0);
  EXPECT_EQ(train.size() + test.size(), 1115394u);
  EXPECT_EQ(test.size(), 111539u);
  EXPECT_THAT(train, StartsWith("First Citizen:\nBefore we proceed"));
  NEEDS_DATA("wikitext2/test");
  const std::string wiki = open_text("wikitext2/test").field("text").at(0);
  // Words, and an end for each line: 245,569 tokens.
  std::int64_t words = std::count(wiki.begin(), wiki.end(), '\n');
  for (std::size_t i = 1; i < wiki.size(); ++i) {
    const auto blank = [&](std::size_t at) { return wiki[at] == ' ' || wiki[at] == '\n'; };
    words += !blank(i) && blank(i - 1) ? 1 : 0;
  }
  EXPECT_EQ(words, 245569);
}

TEST_F(KnownText, Tatoeba) {
  NEEDS_DATA("tatoeba/train");
  const Corpus train = open_text("tatoeba/train"), test = open_text("tatoeba/test");
  EXPECT_EQ(train.size() + test.size(), 142787);
  EXPECT_GE(test.size(), 2000);
  EXPECT_LT(test.size(), 2020);
  const std::set<std::string> known(train.field("source").begin(), train.field("source").end());
  for (const std::string& source : test.field("source")) EXPECT_FALSE(known.contains(source));
}

TEST_F(KnownText, Propbank) {
  NEEDS_DATA("propbank/train");
  const Corpus train = open_text("propbank/train"), test = open_text("propbank/test");
  EXPECT_EQ(train.size() + test.size(), 50092);
  EXPECT_GT(test.size(), 4000);
  for (std::size_t i = 0; i < 100; ++i) {
    const auto words_in = [&](const char* field) {
      const std::string& text = test.field(field)[i];
      return std::count(text.begin(), text.end(), ' ') + 1;
    };
    EXPECT_EQ(words_in("words"), words_in("roles"));
    EXPECT_EQ(words_in("words"), words_in("tags"));
    EXPECT_LT(std::stoll(test.field("position")[i]), words_in("words"));
    EXPECT_THAT(test.field("roles")[i], HasSubstr("B-V"));
  }
}

TEST_F(KnownText, Dialogue) {
  NEEDS_DATA("banking77/train");
  const Corpus banking = open_text("banking77/train");
  EXPECT_EQ(banking.size(), 10003);
  EXPECT_EQ(different(banking.field("label")), 77u);
  EXPECT_EQ(open_text("banking77/test").size(), 3080);
  EXPECT_EQ(banking.field("text")[0], "I am still waiting on my card?");

  NEEDS_DATA("clinc150/train");
  const Corpus clinc = open_text("clinc150/train");
  EXPECT_EQ(clinc.size(), 15000);
  EXPECT_EQ(different(clinc.field("label")), 150u);
  EXPECT_EQ(open_text("clinc150/validation").size(), 3000);
  EXPECT_EQ(open_text("clinc150/test").size(), 4500);
  EXPECT_EQ(open_text("clinc150/test_oos").size(), 1000);

  NEEDS_DATA("chatterbot/english");
  const Corpus chat = open_text("chatterbot/english");
  EXPECT_EQ(different(chat.field("category")), 21u);
  const std::vector<std::string>& categories = chat.field("category");
  EXPECT_GE(std::count(categories.begin(), categories.end(), "tech_support"), 1000);
}

}  // namespace
}  // namespace trireme::data
