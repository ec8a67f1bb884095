// The readers of text: what is right is read, what is damaged is refused with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "data/lines.h"
#include "data/testing/files.h"
#include "data/text/dialogue.h"
#include "data/text/lower_case.h"
#include "data/text/roles.h"
#include "data/text/utf8.h"
#include "trireme/text_data.h"

namespace trireme::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Lines, EndInOneOrTwoCharacters) {
  EXPECT_THAT(lines_of("a\n\r\nb\r\n c"), ElementsAre("a", "", "b", " c"));
  EXPECT_TRUE(lines_of("").empty());
}

TEST(Utf8, KnowsWhatIsValid) {
  constexpr std::size_t kNone = std::string_view::npos;
  EXPECT_EQ(find_invalid_utf8("a\u00e9\u20ac\U0001f600"), kNone);
  EXPECT_EQ(find_invalid_utf8("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"), kNone);
  EXPECT_EQ(find_invalid_utf8("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), kNone);
  for (const char* wrong : {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf",
                            "\xe2\x82", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                            "\xf5\x80\x80\x80", "\xff", "\xf0\x9f\x98z"}) {
    EXPECT_EQ(find_invalid_utf8(std::string("ab") + wrong), 2u) << testing::PrintToString(wrong);
  }
  EXPECT_THAT(error_of(ErrorKind::data, [] { check_utf8("a\nb\xff", "f"); }),
              HasSubstr("f:2: byte 2 of the line"));
}

TEST(Utf8, IsTakenApartAndPutTogether) {
  EXPECT_EQ(code_points("a\u00e9\u20ac\U0001f600"), U"a\u00e9\u20ac\U0001f600");
  std::string all;
  std::u32string codes;
  for (char32_t code = 0; code <= 0x10FFFF; code = code == 0xD7FF ? 0xE000 : code + 1) {
    append_utf8(all, code);
    codes += code;
  }
  EXPECT_EQ(all.size(), 0x80u + 0x780 * 2 + 0xF000 * 3 + 0x100000 * 4);
  EXPECT_EQ(find_invalid_utf8(all), std::string_view::npos);
  EXPECT_TRUE(code_points(all) == codes);
}

TEST(LowerCase, OfLettersAndWords) {
  EXPECT_EQ(lower_case("Stra\u00dfe \u00c9T\u00c9 \u0152UF 12"),
            "stra\u00dfe \u00e9t\u00e9 \u0153uf 12");
  EXPECT_EQ(lower_case("\u0130"), "i\u0307");
  // Sigma at the end of a word, alone, and before more of the word.
  EXPECT_EQ(lower_case("\u039f\u03a3 \u03a3 \u03a3\u039f \u039f\u03a3."),
            "\u03bf\u03c2 \u03c3 \u03c3\u03bf \u03bf\u03c2.");
}

constexpr const char* kRoles =
    "I PRP - - (ARG0*) (ARG0*)\n"
    "can MD - - * *\n"
    "go VB go go.01 (V*) *\n"
    "to TO - - (ARG1* *\n"
    "bed NN - - *) *\n"
    "sing\tVB\tsing\tsing.01\t*\t(V*)\n"
    "\n"
    "No DT - -\n";

TEST(Roles, BecomeLabelsOfWords) {
  const std::vector<RoleSentence> sentences = parse_roles(kRoles, "f");
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_THAT(sentences[0].words, ElementsAre("I", "can", "go", "to", "bed", "sing"));
  EXPECT_THAT(sentences[0].tags, ElementsAre("PRP", "MD", "VB", "TO", "NN", "VB"));
  ASSERT_EQ(sentences[0].predicates.size(), 2u);
  const RoleSentence::Predicate& go = sentences[0].predicates[0];
  EXPECT_EQ(go.position, 2u);
  EXPECT_EQ(go.sense, "go.01");
  EXPECT_THAT(go.roles, ElementsAre("B-ARG0", "O", "B-V", "B-ARG1", "I-ARG1", "O"));
  EXPECT_THAT(sentences[0].predicates[1].roles, ElementsAre("B-ARG0", "O", "O", "O", "O", "B-V"));
  EXPECT_TRUE(sentences[1].predicates.empty());
}

TEST(Roles, AreRefusedWithTheirLine) {
  const auto error = [](const std::string& text) {
    return error_of(ErrorKind::data, [&] { parse_roles(text, "f"); });
  };
  EXPECT_THAT(error(""), HasSubstr("no sentences"));
  EXPECT_THAT(error("I PRP\n"), HasSubstr("f:1: 2 columns"));
  EXPECT_THAT(error("I P - - *\ngo V - -\n"), HasSubstr("f:2: 4 columns, but the sentence began"));
  EXPECT_THAT(error("go V go go.01\n\n"), HasSubstr("f:2: the sentence before has 1 predicates"));
  EXPECT_THAT(error("go V go go.01 (V*\n\n"), HasSubstr("is not closed"));
  for (const std::string wrong : {"V", "V*", "(*", "(*)", "*)", "(V", "((V*)", "(V*))", ""}) {
    EXPECT_THAT(error("I P - - *\ngo V go go.01 " + wrong + "\n\n"), HasSubstr("f:2: ")) << wrong;
  }
  EXPECT_THAT(error("go V go go.01 (V*\nI P - - (ARG0*)\n"), HasSubstr("f:2: \"(ARG0*)\""));
}

TEST(TextFiles, ByteOrderMarksAreNoContent) {
  const TestDirectory directory;
  const std::string mark = "\xef\xbb\xbf";
  const std::string lines =
      directory.write("bom.tsv", mark + "pos\tgood film\nneg\tbad\npos\tfine\n");
  const Corpus corpus = read_lines(lines, {"label", "text"});
  EXPECT_THAT(corpus.values[0], ElementsAre("pos", "neg", "pos"));
  EXPECT_EQ(text::read(directory.write("bom.txt", mark + "good")), "good");
  const text::Vocabulary words = text::Vocabulary::of({"a", "b"});
  const std::string file = directory.write("words.vocabulary.txt", mark + words.str());
  EXPECT_EQ(text::Vocabulary::load(file).str(), words.str());
}

TEST(Conversations, AreListsOfTurns) {
  const auto conversations = parse_conversations(
      "categories:\n- small\nconversations:\n- - Hi\n  - Hello\n- - One?\n  - 1\n  - 'yes'\n", "f");
  EXPECT_THAT(conversations,
              ElementsAre(ElementsAre("Hi", "Hello"), ElementsAre("One?", "1", "yes")));
  const auto error = [](const std::string& text) {
    return error_of(ErrorKind::data, [&] { parse_conversations(text, "f.yml"); });
  };
  EXPECT_THAT(error("a: b\n- c\n"), HasSubstr("f.yml:2: "));
  EXPECT_THAT(error("categories: x\n"), HasSubstr("f.yml: no list of conversations"));
  EXPECT_THAT(error("conversations: x\n"), HasSubstr("no list"));
  EXPECT_THAT(error(""), HasSubstr("no list"));
  EXPECT_THAT(error("conversations:\n- \xff\n"), HasSubstr("f.yml:2: byte 3"));
  EXPECT_THAT(error("conversations:\n- &a [*a]\n"), HasSubstr("nested too deeply"));
  std::string repeated = "conversations:\n- &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {  // 9^12 texts
    repeated += "- &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) repeated += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    repeated += "]\n";
  }
  EXPECT_THAT(error(repeated), HasSubstr("aliases repeat too much"));
}

TEST(Intents, ArePairs) {
  const Corpus corpus =
      intents_from_json(R"({"val": [["hi", "greet"], ["by", "leave"]]})", "f", "val");
  EXPECT_THAT(corpus.field("text"), ElementsAre("hi", "by"));
  EXPECT_THAT(corpus.field("label"), ElementsAre("greet", "leave"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { corpus.field("texts"); }),
              HasSubstr("did you mean \"text\"?"));
  const auto error = [](const std::string& text) {
    return error_of(ErrorKind::data, [&] { intents_from_json(text, "f", "val"); });
  };
  EXPECT_THAT(error("{"), HasSubstr("no JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("no list \"val\""));
  EXPECT_THAT(error(R"({"val": []})"), HasSubstr("no list \"val\""));
  EXPECT_THAT(error(R"({"val": [["a", "b"], ["a"]]})"), HasSubstr("example 1 is no pair"));
  EXPECT_THAT(error(R"({"val": [["a", 1]]})"), HasSubstr("example 0 is no pair"));
}

TEST(Corpora, AreToldByName) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { open_text("tiny_shakespear/train"); }),
              HasSubstr("did you mean \"tiny_shakespeare\"?"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { open_text("wikitext2"); }),
              HasSubstr("wikitext2/validation"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { open_text("wikitext2/train"); }),
              HasSubstr("there are validation and test"));
  const TestDirectory directory;
  EXPECT_THAT(error_of(ErrorKind::not_found,
                       [&] { open_text("tatoeba/train", {.directory = directory.path()}); }),
              HasSubstr("put fra-eng.zip"));
}

TEST(Corpora, RefuseDamagedFiles) {
  const TestDirectory directory;
  const LoadOptions here{.directory = directory.path()};
  const auto error = [&](const std::string& name) {
    return error_of(ErrorKind::data, [&] { open_text(name, here); });
  };
  directory.write("movie_reviews.zip", "PK\x03\x04 no more");
  EXPECT_THAT(error("movie_reviews/train"), HasSubstr("movie_reviews.zip: "));
  directory.write("wikitext2.test.txt", "");
  EXPECT_THAT(error("wikitext2/test"), HasSubstr("wikitext2.test.txt: the file is empty"));
  directory.write("tinyshakespeare.txt", "all \xe9 is lost");
  EXPECT_THAT(error("tiny_shakespeare/train"), HasSubstr("tinyshakespeare.txt:1: byte 5"));
  directory.write("banking77.test.csv", "text,category\n");
  EXPECT_THAT(error("banking77/test"), HasSubstr("but no rows"));
}

}  // namespace
}  // namespace trireme::data
