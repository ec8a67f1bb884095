// How text is cut into tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <locale.h>

#include <cwctype>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "data/testing/needs_data.h"
#include "data/text/unicode.h"
#include "data/text/utf8.h"
#include "trireme/text.h"
#include "trireme/text_data.h"

namespace trireme::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Utf8, CodePointsAreReadAndWritten) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    data::append_utf8(text, code);
    const data::Character read = data::first_character(text);
    ASSERT_EQ(static_cast<std::uint32_t>(read.code), static_cast<std::uint32_t>(code));
    ASSERT_EQ(read.length, text.size());
  }
  EXPECT_EQ(data::first_character("").length, 0u);
  EXPECT_EQ(data::first_character("\x80").length, 0u);
}

// The C library has the same facts from another source.
TEST(Unicode, AgreesWithTheCLibrary) {
  const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(locale, nullptr);
  int letters_as_marks = 0;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    const auto wide = static_cast<wint_t>(code);
    ASSERT_EQ(static_cast<wint_t>(data::to_lower(code)), towlower_l(wide, locale)) << wide;
    const data::CharacterKind kind = data::kind_of(code);
    // It has no-break spaces as punctuation.
    const bool no_break = code == 0xA0 || code == 0x2007 || code == 0x202F;
    const bool control = iswcntrl_l(wide, locale) != 0;
    const bool white = iswspace_l(wide, locale) != 0 || control || no_break;
    ASSERT_EQ(kind == data::CharacterKind::white, white) << wide;
    // And circled letters as letters.
    if (kind == data::CharacterKind::mark && iswalnum_l(wide, locale) != 0) ++letters_as_marks;
  }
  EXPECT_LT(letters_as_marks, 200);
  freelocale(locale);
}

TEST(Words, HavePunctuationApart) {
  EXPECT_THAT(words("Don't go (3.14%)!"), ElementsAre("Don't", "go", "(", "3.14", "%", ")", "!"));
  EXPECT_THAT(words("  a\tb\r\nc\xC2\xA0"
                    "d\u3000e\x01 f "),
              ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_THAT(words("\u00ABL\u2019\u00C9t\u00E9\u00BB, 1,000.5."),
              ElementsAre("\u00AB", "L\u2019\u00C9t\u00E9", "\u00BB", ",", "1,000.5", "."));
  EXPECT_THAT(words("'tis dogs' a.b snake_case x-y"),
              ElementsAre("'", "tis", "dogs", "'", "a", ".", "b", "snake_case", "x", "-", "y"));
  EXPECT_THAT(words("ha...\U0001F600\u2764\uFE0F!"),
              ElementsAre("ha", ".", ".", ".", "\U0001F600", "\u2764\uFE0F", "!"));
  EXPECT_THAT(words("\u3053\u3093\u3002 e\u0301"),
              ElementsAre("\u3053\u3093", "\u3002", "e\u0301"));
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" \n"), IsEmpty());
}

TEST(Words, BecomeLowerCase) {
  const WordOptions lower{.lower_case = true};
  EXPECT_THAT(
      words("The \u00C9COLE, \u03A3\u0399\u0393\u039C\u0391 \u0416 \u0130 Stra\u00DFe", lower),
      ElementsAre("the", "\u00E9cole", ",", "\u03C3\u03B9\u03B3\u03BC\u03B1", "\u0436", "i",
                  "stra\u00DFe"));
}

TEST(Tokens, OfOtherKinds) {
  EXPECT_THAT(split(" to be,\u2003or\n not "), ElementsAre("to", "be,", "or", "not"));
  EXPECT_THAT(split("a"), ElementsAre("a"));
  EXPECT_THAT(split(" "), IsEmpty());
  EXPECT_THAT(characters("a \u00E9\u20AC\U0001F600"),
              ElementsAre("a", " ", "\u00E9", "\u20AC", "\U0001F600"));
  EXPECT_THAT(characters(""), IsEmpty());
  EXPECT_THAT(bytes("a\xC3\xA9\xFF"), ElementsAre(97, 195, 169, 255));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_bytes(bytes(all)), all);
  EXPECT_THAT(error_of(ErrorKind::data, [] { from_bytes(std::vector<std::int64_t>{1, 256}); }),
              HasSubstr("id 256 at place 1 is no byte"));
}

TEST(Tokens, RefuseWhatIsNotUtf8) {
  for (const auto cut :
       {+[](std::string_view text) { words(text); }, +[](std::string_view text) { split(text); },
        +[](std::string_view text) { characters(text); }}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { cut("a\nb\xE9 c"); }),
                HasSubstr("the text:2: byte 2 of the line is not UTF-8"));
    EXPECT_THAT(error_of(ErrorKind::data, [&] { cut("\xE2\x82"); }), HasSubstr("byte 1"));
  }
}

TEST(TextFiles, AreReadWhole) {
  const data::TestDirectory directory;
  EXPECT_EQ(read(directory.write("a.txt", "one\ntwo")), "one\ntwo");
  EXPECT_THAT(lines("one\r\n\ntwo"), ElementsAre("one", "", "two"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { read(directory.write("e.txt", "")); }),
              HasSubstr("e.txt: the file is empty"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { read(directory.write("l.txt", "a\n\xE9")); }),
              HasSubstr("l.txt:2: byte 1 of the line is not UTF-8"));
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { read(directory.path() + "/n.txt"); }),
              HasSubstr("n.txt"));
}

TEST(Words, OfARealText) {
  NEEDS_DATA("tiny_shakespeare/test");
  const std::string text = data::open_text("tiny_shakespeare/test").field("text").at(0);
  // Nothing but white space is lost, in any way of cutting.
  const auto joined = [](const std::vector<std::string>& tokens) {
    std::string all;
    for (const std::string& token : tokens) all += token;
    return all;
  };
  EXPECT_EQ(joined(characters(text)), text);
  EXPECT_EQ(joined(words(text)), joined(split(text)));
  EXPECT_GT(words(text).size(), split(text).size());
  EXPECT_EQ(from_bytes(bytes(text)), text);
}

}  // namespace
}  // namespace trireme::text
