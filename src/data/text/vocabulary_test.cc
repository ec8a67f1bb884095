// Vocabularies and their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/checksum.h"
#include "base/file.h"
#include "base/testing/error.h"
#include "data/testing/files.h"
#include "data/testing/needs_data.h"
#include "trireme/text.h"
#include "trireme/text_data.h"

namespace trireme::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TokenCounts counts_of(const std::string& text) {
  TokenCounts counts;
  count(split(text), counts);
  return counts;
}

TEST(Vocabulary, IsOrderedByCountThenBytes) {
  const Vocabulary vocabulary(counts_of("b a c b \u00E9 Z b a"));
  EXPECT_THAT(vocabulary.tokens(),
              ElementsAre("<unk>", "<s>", "</s>", "b", "a", "Z", "c", "\u00E9"));
  EXPECT_THAT(vocabulary.counts(), ElementsAre(0, 0, 0, 3, 2, 1, 1, 1));
  EXPECT_EQ(vocabulary.size(), 8);
  EXPECT_EQ(vocabulary.unknown_id(), 0);
  EXPECT_EQ(vocabulary.begin_id(), 1);
  EXPECT_EQ(vocabulary.end_id(), 2);
}

TEST(Vocabulary, LeavesOutRareTokens) {
  const TokenCounts counts = counts_of("b a c b d b a d");
  EXPECT_THAT(Vocabulary(counts, {.min_count = 2}).tokens(),
              ElementsAre("<unk>", "<s>", "</s>", "b", "a", "d"));
  const Vocabulary small(counts, {.max_size = 5});
  EXPECT_THAT(small.tokens(), ElementsAre("<unk>", "<s>", "</s>", "b", "a"));
  EXPECT_THAT(small.counts(), ElementsAre(3, 0, 0, 3, 2));
  const Vocabulary plain(counts, {.unknown = "", .begin = "", .end = ""});
  EXPECT_THAT(plain.tokens(), ElementsAre("b", "a", "d", "c"));
  EXPECT_EQ(plain.unknown_id(), -1);
  EXPECT_EQ(plain.begin_id(), -1);
}

TEST(Vocabulary, KnowsSpecialTokensOfTheText) {
  const Vocabulary vocabulary(counts_of("a <unk> b </s> <unk>"), {.begin = ""});
  EXPECT_THAT(vocabulary.tokens(), ElementsAre("<unk>", "</s>", "a", "b"));
  EXPECT_THAT(vocabulary.counts(), ElementsAre(2, 1, 1, 1));
  EXPECT_EQ(vocabulary.end_id(), 1);
}

TEST(Vocabulary, EncodesAndDecodes) {
  const Vocabulary vocabulary(counts_of("to be or not to be"));
  const std::vector<std::int64_t> ids = vocabulary.encode({"to", "be", "seen", "<s>"});
  EXPECT_THAT(ids, ElementsAre(4, 3, 0, 1));
  EXPECT_THAT(vocabulary.decode(ids), ElementsAre("to", "be", "<unk>", "<s>"));
  EXPECT_TRUE(vocabulary.contains("or"));
  EXPECT_FALSE(vocabulary.contains("seen"));
  EXPECT_EQ(vocabulary.token(3), "be");
  EXPECT_TRUE(vocabulary.encode({}).empty());
  EXPECT_THAT(error_of(ErrorKind::data, [&] { vocabulary.token(7); }),
              HasSubstr("id 7 is out of range: of the vocabulary's ids, they are 0 to 6"));
  EXPECT_THAT(
      error_of(ErrorKind::data, [&] { vocabulary.decode(std::vector<std::int64_t>{0, 1, -2}); }),
      HasSubstr("id -2 at place 2 is out of range"));
  const Vocabulary closed(counts_of("a b"), {.unknown = ""});
  EXPECT_THAT(error_of(ErrorKind::data, [&] { closed.encode({"c"}); }),
              HasSubstr("token \"c\" is not in the vocabulary, which has no token for unknown"));
}

TEST(Vocabulary, OfAList) {
  const Vocabulary labels =
      Vocabulary::of({"O", "B-ARG0", "I-ARG0"}, {.unknown = "O", .begin = "", .end = ""});
  EXPECT_THAT(labels.tokens(), ElementsAre("O", "B-ARG0", "I-ARG0"));
  EXPECT_EQ(labels.unknown_id(), 0);
  EXPECT_THAT(Vocabulary::of({"x", "</s>"}).tokens(), ElementsAre("<unk>", "<s>", "x", "</s>"));
  const auto error = [](const std::vector<std::string>& tokens) {
    return error_of(ErrorKind::data, [&] { Vocabulary::of(tokens); });
  };
  EXPECT_THAT(error({}), HasSubstr("no tokens"));
  EXPECT_THAT(error({"a", "b", "a"}), HasSubstr("token \"a\" comes twice"));
  EXPECT_THAT(error({"a", ""}), HasSubstr("an empty token"));
  EXPECT_THAT(error({"\xFF"}), HasSubstr("not UTF-8"));
}

TEST(Vocabulary, RefusesWhatCannotBe) {
  EXPECT_THAT(error_of(ErrorKind::data, [] { Vocabulary(TokenCounts{}); }),
              HasSubstr("no tokens; the text is empty"));
  EXPECT_THAT(error_of(ErrorKind::data, [] { Vocabulary(counts_of("a b"), {.min_count = 2}); }),
              HasSubstr("none of the 2 different tokens is there 2 times"));
  const auto error = [](const VocabularyOptions& options) {
    return error_of(ErrorKind::usage, [&] { Vocabulary(counts_of("a b"), options); });
  };
  EXPECT_THAT(error({.min_count = 0}), HasSubstr("min_count is 0"));
  EXPECT_THAT(error({.max_size = 3}), HasSubstr("more than the 3 special tokens"));
  EXPECT_THAT(error({.max_size = -1}), HasSubstr("max_size is -1"));
  EXPECT_THAT(error({.begin = "<unk>"}), HasSubstr("two special tokens are \"<unk>\""));
}

TEST(Vocabulary, IsWrittenAndRead) {
  const data::TestDirectory directory;
  const std::string path = directory.path() + "/v.txt";
  TokenCounts counts{{"a b\tc\n\r\\n", 3}, {"\u00E9", 2}, {"\\", 1}, {" ", 1}};
  const Vocabulary written(counts, {.end = ""});
  written.save(path);
  const Vocabulary read = Vocabulary::load(path);
  EXPECT_EQ(read.tokens(), written.tokens());
  EXPECT_EQ(read.counts(), written.counts());
  EXPECT_EQ(read.unknown_id(), 0);
  EXPECT_EQ(read.begin_id(), 1);
  EXPECT_EQ(read.end_id(), -1);
  EXPECT_EQ(read.id("\\"), written.id("\\"));
  EXPECT_EQ(read.str(), written.str());
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { Vocabulary::load(path + "x"); }),
              HasSubstr("v.txtx"));
}

// The page of the format shows this file. `head -n -1 v.txt | xxhsum -H2` prints its last line.
TEST(VocabularyFile, IsAsDocumented) {
  EXPECT_EQ(Vocabulary(counts_of("to be or not to be"), {.end = ""}).str(),
            "trireme vocabulary 1\n"
            "tokens 6\n"
            "unknown 0\n"
            "begin 1\n"
            "end none\n"
            "0\t<unk>\n"
            "0\t<s>\n"
            "2\tbe\n"
            "2\tto\n"
            "1\tnot\n"
            "1\tor\n"
            "f8657633030d8d1dec0a644bb0c07d57\n");
}

std::string with_digest(const std::string& text) { return text + checksum(text) + "\n"; }

TEST(VocabularyFile, IsRefusedWithItsLine) {
  const auto error = [](const std::string& text) {
    return error_of(ErrorKind::data, [&] { Vocabulary::parse(text, "f"); });
  };
  const std::string head = "trireme vocabulary 1\ntokens 2\nunknown 0\nbegin none\nend none\n";
  EXPECT_EQ(error(with_digest(head + "1\ta\n2\tb\n")), "no error");
  EXPECT_THAT(error(""), HasSubstr("f: the file is empty"));
  EXPECT_THAT(error("a\nb\n"), HasSubstr("f: no vocabulary file"));
  EXPECT_THAT(error("trireme vocabulary 2\nall new\n"), HasSubstr("version 2; this program reads"));
  EXPECT_THAT(error("trireme vocabulary one\n"), HasSubstr("f:1: no version"));
  EXPECT_THAT(error("trireme vocabulary 1\n"), HasSubstr("damaged or cut short"));
  EXPECT_THAT(error(head + "1\ta\n2\tb\n"), HasSubstr("damaged or cut short"));
  const auto error_in = [&](const std::string& rest) { return error(with_digest(head + rest)); };
  EXPECT_THAT(error_in("1\ta\n"), HasSubstr("f:6: the file ends here"));
  EXPECT_THAT(error_in("1\ta\n2\tb\n3\tc\n"), HasSubstr("f:7: more lines than the 2 tokens"));
  EXPECT_THAT(error_in("1\ta\n2\ta\n"), HasSubstr("token \"a\" comes twice, as id 0 and 1"));
  EXPECT_THAT(error_in("1\ta\nb\n"), HasSubstr("f:7: must be a count, a tab and a token"));
  EXPECT_THAT(error_in("1\ta\n-2\tb\n"), HasSubstr("f:7: \"-2\" is no count"));
  EXPECT_THAT(error_in("1\ta\n\tb\n"), HasSubstr("f:7: \"\" is no count"));
  EXPECT_THAT(error_in("1\ta\n99999999999999999999\tb\n"), HasSubstr("is no count"));
  EXPECT_THAT(error_in("1\ta\n2\t\n"), HasSubstr("f:7: an empty token"));
  EXPECT_THAT(error_in("1\ta\n2\tb\\\n"), HasSubstr("f:7: after a backslash"));
  EXPECT_THAT(error_in("1\ta\n2\t\\x\n"), HasSubstr("f:7: after a backslash"));
  EXPECT_THAT(error_in("1\ta\n2\tb\r\n"), HasSubstr("f:7: a tab or \\r"));
  EXPECT_THAT(error_in("1\ta\n2\t\xFF\n"), HasSubstr("f:7: byte 3 of the line is not UTF-8"));
  const auto error_of_head = [&](const std::string& line, const std::string& instead) {
    std::string text = head + "1\ta\n2\tb\n";
    text.replace(text.find(line), line.size(), instead);
    return error(with_digest(text));
  };
  EXPECT_THAT(error_of_head("tokens 2", "tokens 0"), HasSubstr("f:2: the number of tokens"));
  EXPECT_THAT(error_of_head("tokens 2", "words 2"), HasSubstr("f:2: must be \"tokens\""));
  EXPECT_THAT(error_of_head("unknown 0", "unknown 2"), HasSubstr("f:3: must be \"none\" or an id"));
  EXPECT_THAT(error_of_head("begin none", "begin 0"), HasSubstr("f:4: id 0 is another special"));
}

TEST(VocabularyFile, AByteOrderMarkIsNoPartOfIt) {
  const data::TestDirectory directory;
  const std::string text = Vocabulary(counts_of("to be or not to be")).str();
  const Vocabulary read = Vocabulary::load(directory.write("words", "\xef\xbb\xbf" + text));
  EXPECT_EQ(read.str(), text);
}

// A flipped bit anywhere, or a file cut short anywhere, is found.
TEST(VocabularyFile, DamageIsFound) {
  const std::string whole = Vocabulary(counts_of("to be or not to be")).str();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_NE(error_of(ErrorKind::data, [&] { Vocabulary::parse(flipped, "f"); }), "no error")
        << at;
    const std::string cut = whole.substr(0, at);
    EXPECT_NE(error_of(ErrorKind::data, [&] { Vocabulary::parse(cut, "f"); }), "no error") << at;
  }
}

TEST(Vocabulary, OfARealText) {
  NEEDS_DATA("wikitext2/validation");
  TokenCounts counts;
  const std::vector<std::string> tokens =
      split(data::open_text("wikitext2/validation").field("text").at(0));
  count(tokens, counts);
  const Vocabulary vocabulary(counts, {.min_count = 3});
  const std::vector<std::int64_t>& numbers = vocabulary.counts();
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}),
            static_cast<std::int64_t>(tokens.size()));
  EXPECT_TRUE(std::is_sorted(numbers.begin() + 3, numbers.end(), std::greater<>()));
  // The corpus has <unk> of its own, and what is rare joins it.
  const std::vector<std::int64_t> ids = vocabulary.encode(tokens);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 0), numbers[0]);
  EXPECT_EQ(vocabulary.token(3), "the");
}

}  // namespace
}  // namespace trireme::text
