// Texts to ids by options, and corpora to data sets.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "trireme/text_data.h"

namespace trireme {
namespace {

using Kind = text::TokenOptions::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Encoder, CutsAsTheOptionsSay) {
  const char* const text = "Not so, not so.";
  EXPECT_THAT(text::tokens(text, {}), ElementsAre("Not", "so", ",", "not", "so", "."));
  EXPECT_THAT(text::tokens(text, {.kind = Kind::split}), ElementsAre("Not", "so,", "not", "so."));
  EXPECT_THAT(text::tokens("né", {.kind = Kind::characters}), ElementsAre("n", "é"));
  EXPECT_THAT(text::tokens(text, {.lower_case = true, .distinct = true}),
              ElementsAre("not", "so", ",", "."));
  EXPECT_THAT(text::tokens(text, {.grams = 3, .max_tokens = 3}),
              ElementsAre("Not", "so", ",", "Not so", "so ,", "Not so ,"));
  EXPECT_THAT(text::tokens("so so so", {.grams = 2, .distinct = true}), ElementsAre("so", "so so"));
  EXPECT_THAT(text::tokens("", {.grams = 2}), ElementsAre());
  EXPECT_THAT(text::tokens("a", {.grams = 4}), ElementsAre("a"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { text::tokens("a", {.grams = 0}); }),
              HasSubstr("grams must be 1 to 8"));
}

TEST(Encoder, WritesWhatItsIdsSay) {
  const auto encoder = [](Kind kind) {
    const text::TokenOptions tokens{.kind = kind};
    return text::Encoder{tokens, data::vocabulary_of({"one", {"text"}, {{"so né"}}}, tokens)};
  };
  const auto again = [&](Kind kind, const char* text) {
    const text::Encoder one = encoder(kind);
    return one.decode(one.encode(text));
  };
  EXPECT_EQ(again(Kind::words, "né  so\nso"), "né so so");
  EXPECT_EQ(again(Kind::characters, "né os"), "né os");
  EXPECT_EQ(again(Kind::bytes, "né\n"), "né\n");
  const text::Encoder words = encoder(Kind::words);
  const text::Vocabulary& known = words.vocabulary;
  EXPECT_EQ(words.decode(std::vector{known.begin_id(), known.id("so"), known.unknown_id(),
                                     known.id("né"), known.end_id()}),
            "so né");
  EXPECT_EQ(words.decode({}), "");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { words.decode(std::vector{known.size()}); }),
              HasSubstr("5"));
}

TEST(Encoder, TakesPiecesOfWords) {
  const text::SubwordModel model = text::SubwordModel::train(
      {"the cats sat", "the mats sat", "a cat"}, {.size = 30, .fewer = true});
  const text::Encoder all(model), two(model, 2);
  EXPECT_EQ(all.vocabulary.size(), model.size());
  EXPECT_EQ(all.vocabulary.begin_id(), model.begin_id());
  EXPECT_EQ(all.vocabulary.token(model.size() - 1), model.piece(model.size() - 1));
  const std::vector<std::int64_t> ids = all.encode("the mat sat");
  EXPECT_EQ(ids, model.encode("the mat sat"));
  EXPECT_EQ(all.decode(ids), "the mat sat");
  EXPECT_THAT(two.encode("the mat sat"), ElementsAre(ids[0], ids[1]));
  EXPECT_THAT(two.encode(""), ElementsAre());
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { text::Encoder(model, -1); }),
              HasSubstr("max_tokens"));
}

data::Corpus corpus() {
  return {"films", {"text", "label"}, {{"good good film", "", "bad film"}, {"pos", "neg", "neg"}}};
}

TEST(Encoder, MakesIdsAndClassesOfACorpus) {
  const text::Encoder encoder{{}, data::vocabulary_of(corpus(), {}, {.begin = "", .end = ""})};
  EXPECT_EQ(encoder.vocabulary.size(), 4);  // <unk>, film, good, bad
  const data::Dataset dataset = data::classified_texts(corpus(), encoder);
  EXPECT_EQ(dataset.class_names(), (std::vector<std::string>{"neg", "pos"}));
  EXPECT_EQ(dataset.column("text").ids, 4);
  EXPECT_EQ(dataset.columns().size(), 2u);
  const data::Batch all = dataset.all();
  EXPECT_THAT(RaggedTensor::from_feeds(all, "text").lengths(), ElementsAre(3, 0, 2));
  EXPECT_THAT(all.at("label").to_vector<std::int64_t>(), ElementsAre(1, 0, 0));
  EXPECT_THAT(encoder.encode("a good film"),
              ElementsAre(0, encoder.vocabulary.id("good"), encoder.vocabulary.id("film")));
  // Other texts get the numbers of the first ones' classes.
  const data::Dataset swapped = data::classified_texts(corpus(), encoder, {"pos", "neg"});
  EXPECT_THAT(swapped.all().at("label").to_vector<std::int64_t>(), ElementsAre(0, 1, 1));
  EXPECT_THAT(
      error_of(ErrorKind::data, [&] { data::classified_texts(corpus(), encoder, {"pos"}); }),
      HasSubstr("films: example 1 has the label \"neg\", which is none of the 1 classes"));
}

TEST(TranslatedTexts, StandBesideThemselvesByOne) {
  const data::Corpus pairs{
      "pairs", {"source", "target"}, {{"go on", "stop", ""}, {"va", "", "arrête va"}}};
  const auto train = [&](const char* field) {
    return text::SubwordModel::train(pairs.field(field), {.size = 20, .fewer = true});
  };
  const text::SubwordModel english = train("source"), french = train("target");
  const text::Encoder reads(english), writes(french);
  const data::Dataset dataset = data::translated_texts(pairs, reads, writes);
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_EQ(dataset.column("source").ids, english.size());
  EXPECT_EQ(dataset.column("next").ids, french.size());
  const data::Batch all = dataset.all();
  const auto ids = [&](const char* column, std::int64_t i) {
    return RaggedTensor::from_feeds(all, column).sequence(i).to_vector<std::int64_t>();
  };
  EXPECT_EQ(english.decode(ids("source", 0)), "go on");
  EXPECT_THAT(ids("source", 2), ElementsAre());
  EXPECT_THAT(ids("previous", 1), ElementsAre(french.begin_id()));
  EXPECT_THAT(ids("next", 1), ElementsAre(french.end_id()));
  std::vector<std::int64_t> previous = ids("previous", 2), next = ids("next", 2);
  EXPECT_EQ(previous.front(), french.begin_id());
  EXPECT_EQ(next.back(), french.end_id());
  previous.erase(previous.begin());
  next.pop_back();
  EXPECT_EQ(previous, next);
  EXPECT_EQ(french.decode(next), "arrête va");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { data::translated_texts(corpus(), reads, writes); }),
              HasSubstr("source"));
}

TEST(CorpusOfOnesOwn, IsALineForEachExample) {
  const data::TestDirectory folder;
  const std::string path = folder.write("pairs.tsv", "go on\tva\tby Anna\n\nstop\tarrête\r\n\t\n");
  const data::Corpus pairs = data::read_lines(path, {"source", "target"});
  EXPECT_THAT(pairs.field("source"), ElementsAre("go on", "stop", ""));
  EXPECT_THAT(pairs.field("target"), ElementsAre("va", "arrête", ""));
  EXPECT_EQ(data::open_corpus(path, {"text"}).field("text"), pairs.field("source"));
  const std::string book = folder.write("book.txt", "It was\na night.\n");
  EXPECT_THAT(data::open_corpus(book, {"source"}).field("text"), ElementsAre("It was\na night.\n"));
  EXPECT_TRUE(data::names_corpus("pairs.tsv.gz") && data::names_corpus("tatoeba/test"));
  EXPECT_FALSE(data::names_corpus("mnist/test"));

  const auto refusal = [&](const std::string& content) {
    const std::string bad = folder.write("bad.tsv", content);
    return error_of(ErrorKind::data, [&] { data::read_lines(bad, {"text", "label"}); });
  };
  EXPECT_THAT(refusal("good\tpos\nbad"),
              HasSubstr("bad.tsv:2: there is no \"label\": the line has 1 of 2 fields"));
  EXPECT_THAT(refusal("\n"), HasSubstr("the file has no examples"));
  EXPECT_THAT(refusal("g\xc3\tpos"), HasSubstr("UTF-8"));
  folder.write("empty.txt", "");
  EXPECT_THAT(
      error_of(ErrorKind::data, [&] { data::read_running_text(folder.path() + "/empty.txt"); }),
      HasSubstr("the file is empty"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { data::open_corpus("mnist/test", {"text"}); }),
              HasSubstr("are no texts"));
}

}  // namespace
}  // namespace trireme
