// Pieces of words: training, encoding, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/testing/error.h"
#include "data/random.h"
#include "data/testing/files.h"
#include "data/testing/needs_data.h"
#include "trireme/text.h"
#include "trireme/text_data.h"

namespace trireme::text {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string>& fables() {
  static const std::vector<std::string> lines = {
      "The wolf came to the river and saw the lamb drinking there.",
      "The lamb said that the river flows from the wolf to the lamb.",
      "A fox saw the grapes, and the grapes were high above the fox.",
      "The grapes are sour, said the fox, and went away from the grapes.",
      "The hare laughed at the tortoise, and the tortoise went on walking.",
      "While the hare was sleeping, the tortoise came to the river."};
  return lines;
}

std::vector<std::string> all_pieces(const SubwordModel& model) {
  std::vector<std::string> pieces;
  for (std::int64_t id = 0; id < model.size(); ++id) pieces.push_back(model.piece(id));
  return pieces;
}

std::string file_of(const SubwordModel& model) {
  const data::TestDirectory directory;
  model.save(directory.path() + "/m.model");
  return read_file(directory.path() + "/m.model");
}

// The first merge of byte-pair encoding is that of the most frequent pair.
TEST(Subwords, MergeTheMostFrequentPair) {
  const std::vector<std::string> lines(10, "xab yab zab");
  const SubwordModel model =
      SubwordModel::train(lines, {.kind = SubwordKind::bpe, .size = 3 + 6 + 1, .coverage = 1});
  EXPECT_EQ(model.size(), 10);
  const std::vector<std::string> pieces = all_pieces(model);
  EXPECT_EQ(std::set<std::string>(pieces.begin() + 3, pieces.end()),
            (std::set<std::string>{"ab", "\u2581", "a", "b", "x", "y", "z"}));
  EXPECT_EQ(pieces[3], "ab");
  EXPECT_THAT(model.pieces("yab ba"), ElementsAre("\u2581", "y", "ab", "\u2581", "b", "a"));
}

class SubwordsOfKind : public testing::TestWithParam<SubwordKind> {};

TEST_P(SubwordsOfKind, GiveTheTextBack) {
  const SubwordModel model =
      SubwordModel::train(fables(), {.kind = GetParam(), .size = 60, .coverage = 1});
  EXPECT_EQ(model.size(), 60);
  EXPECT_EQ(model.unknown_id(), 0);
  EXPECT_EQ(model.begin_id(), 1);
  EXPECT_EQ(model.end_id(), 2);
  EXPECT_THAT(all_pieces(model), Contains("\u2581the"));
  for (const std::string& line : fables()) {
    const std::vector<std::int64_t> ids = model.encode(line);
    EXPECT_THAT(ids, Each(Ge(3)));
    EXPECT_LT(ids.size(), line.size());
    EXPECT_EQ(model.decode(ids), line);
    const std::vector<std::string> pieces = model.pieces(line);
    ASSERT_EQ(pieces.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(model.piece(ids[i]), pieces[i]);
      EXPECT_EQ(model.id(pieces[i]), ids[i]);
    }
  }
  EXPECT_EQ(model.decode(model.encode("  the \t wolf\n")), "the wolf");
  EXPECT_TRUE(model.encode("").empty());
  EXPECT_EQ(model.decode({}), "");
  EXPECT_THAT(model.encode("\u20AC"), Contains(0));
  EXPECT_EQ(model.id("no such piece"), 0);
  EXPECT_EQ(model.decode(std::vector<std::int64_t>{1, 2}), "");
}

// The rule nmt_nfkc: control characters vanish, other white space and forms of letters change.
TEST_P(SubwordsOfKind, NormalizeTheText) {
  const SubwordModel model =
      SubwordModel::train(fables(), {.kind = GetParam(), .size = 60, .coverage = 1});
  const auto as_read = [&](const std::string& text) { return model.decode(model.encode(text)); };
  EXPECT_EQ(as_read("the\x01 fox"), "the fox");
  EXPECT_EQ(as_read(" the\t\nfox\u3000and "), "the fox and");
  EXPECT_EQ(as_read("\uff46ox"), "fox") << "a wide letter";
  EXPECT_EQ(as_read("a\ufb02ow"), "aflow") << "a ligature";
}

TEST_P(SubwordsOfKind, AreTheSameEachTime) {
  const SubwordOptions options{.kind = GetParam(), .size = 50, .sample = 4, .seed = 7};
  const std::string first = file_of(SubwordModel::train(fables(), options));
  EXPECT_EQ(file_of(SubwordModel::train(fables(), options)), first);
}

TEST_P(SubwordsOfKind, LearnFromTheSmallestTexts) {
  const std::vector<std::vector<std::string>> texts = {
      {"a"},          {"a", ""},        {"aaaaaaaa"},    {"ab ab", "ab"},
      {"\u4E2D"},     {"a b c d"},      {"\u00E9"},      {"1"},
      {"."},          {"\u2581a"},      {"a\tb"},        {"\uFF21 \uFDFA"},
      {"x\xCC\x81x"}, {"abababababab"}, {"\u0E33\u0E33"}};
  for (const std::vector<std::string>& lines : texts) {
    const SubwordModel model = SubwordModel::train(lines, {.kind = GetParam(), .fewer = true});
    EXPECT_GT(model.size(), 3);
    EXPECT_FALSE(model.encode(lines[0]).empty()) << lines[0];
  }
  for (const char* nothing : {"", " ", "\t\n", "\x01", "\u200B", "\u3000\u00A0", "\u2585a"}) {
    EXPECT_THAT(error_of(ErrorKind::data,
                         [&] { SubwordModel::train({nothing, nothing}, {.kind = GetParam()}); }),
                HasSubstr("no text to learn from: 2 lines"))
        << testing::PrintToString(nothing);
  }
}

// Long lines are cut, not passed over.
TEST_P(SubwordsOfKind, LearnFromLongLines) {
  std::vector<std::string> lines;
  std::string line;
  for (int i = 0; i < 40; ++i) {
    for (const std::string& fable : fables()) {
      lines.push_back(fable);
      line += (line.empty() ? "" : " ") + fable;
    }
  }
  ASSERT_GT(line.size(), 3u * 4192);
  const SubwordOptions options{.kind = GetParam(), .size = 60, .coverage = 1};
  // No merge reaches over a space.
  if (GetParam() == SubwordKind::bpe) {
    EXPECT_EQ(all_pieces(SubwordModel::train({line}, options)),
              all_pieces(SubwordModel::train(lines, options)));
  }
  EXPECT_THAT(SubwordModel::train({line + " \u00FC"}, options).encode("\u00FC"), Not(Contains(0)));
  std::string unbroken;
  for (int i = 0; i < 3000; ++i) unbroken += "\u4E2D\u6587";
  const SubwordModel model = SubwordModel::train({unbroken}, {.kind = GetParam(), .fewer = true});
  EXPECT_EQ(model.decode(model.encode(unbroken)), unbroken);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SubwordsOfKind,
                         testing::Values(SubwordKind::unigram, SubwordKind::bpe),
                         [](const auto& info) {
                           return info.param == SubwordKind::bpe ? "Bpe" : "Unigram";
                         });

TEST(Subwords, FallBackToBytes) {
  const SubwordModel model = SubwordModel::train(
      fables(), {.size = 256 + 50, .fewer = true, .bytes = true, .lower_case = true});
  EXPECT_THAT(model.pieces("\u20AC"), ElementsAre("\u2581", "<0xE2>", "<0x82>", "<0xAC>"));
  EXPECT_EQ(model.decode(model.encode("The \u20AC")), "the \u20AC");
}

TEST(Subwords, RefuseWhatCannotBe) {
  const auto error = [](const SubwordOptions& options) {
    return error_of(ErrorKind::usage, [&] { SubwordModel::train(fables(), options); });
  };
  for (const SubwordKind kind : {SubwordKind::unigram, SubwordKind::bpe}) {
    EXPECT_THAT(error({.kind = kind, .size = 5000}),
                HasSubstr("5000 pieces are more than the text yields, "));
    EXPECT_THAT(error({.kind = kind, .size = 12}), HasSubstr("12 pieces are too few"));
  }
  EXPECT_THAT(error({.size = 12, .coverage = 1}), HasSubstr("the special pieces need 3"));
  EXPECT_THAT(error({.size = 3}), HasSubstr("size is 3, must be 4 to 1000000"));
  EXPECT_THAT(error({.size = 259, .bytes = true}), HasSubstr("must be 260 to"));
  EXPECT_THAT(error({.coverage = 0.5}), HasSubstr("coverage is 0.5"));
  EXPECT_THAT(error({.sample = -1}), HasSubstr("sample must be at least 0"));
  EXPECT_THAT(error_of(ErrorKind::data, [] { SubwordModel::train({}); }),
              HasSubstr("no text to learn from: 0 lines"));
  EXPECT_THAT(error_of(ErrorKind::data, [] { SubwordModel::train({"a", "b\xFF"}); }),
              HasSubstr("line 2: byte 2 is not UTF-8"));
  const SubwordModel model = SubwordModel::train(fables(), {.size = 50});
  EXPECT_THAT(error_of(ErrorKind::data, [&] { model.encode("a\xE9"); }),
              HasSubstr("byte 2 of the line is not UTF-8"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { model.decode(std::vector<std::int64_t>{3, 50}); }),
              HasSubstr("id 50 at place 1 is out of range: of the pieces' ids, they are 0 to 49"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { model.piece(-1); }), HasSubstr("id -1"));
}

TEST(SubwordFile, IsWrittenAndRead) {
  const data::TestDirectory directory;
  const std::string path = directory.path() + "/m.model";
  const SubwordModel written = SubwordModel::train(fables(), {.size = 50});
  written.save(path);
  const SubwordModel read = SubwordModel::load(path);
  EXPECT_EQ(all_pieces(read), all_pieces(written));
  EXPECT_EQ(read.encode(fables()[0]), written.encode(fables()[0]));
  EXPECT_EQ(file_of(read), read_file(path));
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { SubwordModel::load(path + "x"); }),
              HasSubstr("m.modelx"));
  const auto error = [&](const std::string& content) {
    return error_of(ErrorKind::data,
                    [&] { SubwordModel::load(directory.write("w.model", content)); });
  };
  EXPECT_THAT(error(""), HasSubstr("w.model: the file is empty"));
  EXPECT_THAT(error("to be or not to be"), HasSubstr("w.model: is not a model of SentencePiece"));
  EXPECT_THAT(error(Vocabulary::of({"a"}).str()), HasSubstr("w.model: is not a model"));
}

constexpr std::size_t kSeal = 35;  // bytes of the checksum's field

TEST(SubwordFile, DamageIsFound) {
  const std::string whole = file_of(SubwordModel::train(fables(), {.size = 50}));
  const std::size_t body = whole.size() - kSeal;
  const auto error = [](const std::string& content) {
    return error_of(ErrorKind::data, [&] { SubwordModel::parse(content, "m"); });
  };
  for (std::size_t at = 0; at < body; at += 997) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_THAT(error(flipped), HasSubstr("m: damaged")) << at;
    EXPECT_THAT(error(whole.substr(0, at)), HasSubstr("m: ")) << at;
  }
  for (std::size_t at = body + 1; at < whole.size(); ++at) {
    EXPECT_THAT(error(whole.substr(0, at)), HasSubstr("cut short")) << at;
  }
  // Files of other programs have no checksum.
  EXPECT_EQ(error(whole.substr(0, body)), "no error");
}

// Without a checksum, too, a damaged file is refused, or what it says can be done.
TEST(SubwordFile, DamageWithoutChecksumDoesNoHarm) {
  const std::string whole = file_of(SubwordModel::train(fables(), {.size = 50}));
  const std::string body = whole.substr(0, whole.size() - kSeal);
  int refused = 0;
  data::ExampleRandom random(5, 0, 0);
  for (int i = 0; i < 150; ++i) {
    std::string damaged = body;
    // Near the ends lie the pieces and the double array's root, of which damage reaches far.
    const std::int64_t size = static_cast<std::int64_t>(body.size());
    const std::int64_t at =
        i % 3 == 0 ? random.below(size) : random.below(std::min<std::int64_t>(4000, size));
    damaged[static_cast<std::size_t>(at)] = static_cast<char>(random.below(256));
    try {
      const SubwordModel model = SubwordModel::parse(damaged, "m");
      for (const std::string& line : fables()) model.decode(model.encode(line));
      model.encode("\uFF21\u00BD\u1E9B\u0323 \uFDFA \u30D7\u30ED");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

TEST(Subwords, OfARealText) {
  NEEDS_DATA("tiny_shakespeare/test");
  const std::vector<std::string> play =
      lines(data::open_text("tiny_shakespeare/test").field("text").at(0));
  std::size_t characters = 0;
  for (const std::string& line : play) characters += line.size();
  for (const SubwordKind kind : {SubwordKind::unigram, SubwordKind::bpe}) {
    const SubwordModel model =
        SubwordModel::train(play, {.kind = kind, .size = 1000, .coverage = 1});
    std::size_t pieces = 0;
    for (const std::string& line : play) {
      const std::vector<std::int64_t> ids = model.encode(line);
      EXPECT_THAT(ids, Not(Contains(0)));
      pieces += ids.size();
      // Shakespeare's lines have single spaces alone.
      EXPECT_EQ(model.decode(ids), line);
    }
    const double length = static_cast<double>(characters) / static_cast<double>(pieces);
    EXPECT_GT(length, 2.5);
    EXPECT_LT(length, 3.5);
  }
}

}  // namespace
}  // namespace trireme::text
