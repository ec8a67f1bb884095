// Bad text, vocabularies and models of pieces: one error that says what and where, and files that
// were there stay as they were.
#include "../command.h"
#include "trireme/text.h"

namespace trireme::testing {
namespace {

using text::SubwordModel;
using text::Vocabulary;

class TextMisuse : public InFolder {};

TEST_F(TextMisuse, EmptyAndMissingFiles) {
  write(path("empty.txt"), "");
  write(path("blank.txt"), " \n\n");
  fails(ErrorKind::data, "empty.txt: the file is empty", [&] { text::read(path("empty.txt")); });
  fails(ErrorKind::data, "empty.txt: the file is empty",
        [&] { Vocabulary::load(path("empty.txt")); });
  fails(ErrorKind::data, "empty.txt: the file is empty",
        [&] { SubwordModel::load(path("empty.txt")); });
  fails(ErrorKind::not_found, "none.txt", [&] { text::read(path("none.txt")); });
  fails(ErrorKind::not_found, "none.txt", [&] { Vocabulary::load(path("none.txt")); });
  fails(ErrorKind::not_found, "none.txt", [&] { SubwordModel::load(path("none.txt")); });
  const std::string blank = text::read(path("blank.txt"));
  text::TokenCounts counts;
  text::count(text::words(blank), counts);
  fails(ErrorKind::data, "no tokens; the text is empty", [&] { Vocabulary vocabulary(counts); });
  fails(ErrorKind::data, "no text to learn from", [&] { SubwordModel::train(text::lines(blank)); });
}

TEST_F(TextMisuse, TextThatIsNotUtf8) {
  write(path("latin.txt"), "caf\xE9\n");
  fails(ErrorKind::data, "latin.txt:1: byte 4 of the line is not UTF-8",
        [&] { text::read(path("latin.txt")); });
  fails(ErrorKind::data, "byte 4 of the line is not UTF-8", [] { text::words("caf\xE9"); });
  fails(ErrorKind::data, "byte 4 of the line is not UTF-8", [] { text::characters("caf\xE9"); });
  fails(ErrorKind::data, "line 1: byte 4 is not UTF-8", [] { SubwordModel::train({"caf\xE9"}); });
}

TEST_F(TextMisuse, IdsOutOfRange) {
  const Vocabulary vocabulary = Vocabulary::of({"a", "b"});
  const std::vector<std::int64_t> ids = {3, 5, 1};
  fails(ErrorKind::data,
        "id 5 at place 1 is out of range: of the vocabulary's ids, they are 0 to 4",
        [&] { vocabulary.decode(ids); });
  fails(ErrorKind::data, "id -1 is out of range", [&] { vocabulary.token(-1); });
  fails(ErrorKind::data, "id 5 at place 1 is out of range",
        [&] { text::skip_grams(ids, vocabulary.counts()); });
  fails(ErrorKind::data, "id 300 at place 0 is no byte",
        [] { text::from_bytes(std::vector<std::int64_t>{300}); });
  const SubwordModel model = SubwordModel::train({"to be or not to be"}, {.fewer = true});
  fails(ErrorKind::data, "at place 0 is out of range",
        [&] { model.decode(std::vector<std::int64_t>{model.size()}); });
}

TEST_F(TextMisuse, DamagedVocabularies) {
  const Vocabulary vocabulary = Vocabulary::of({"a", "b"});
  vocabulary.save(path("v.txt"));
  const std::string whole = read(path("v.txt"));
  write(path("short.txt"), whole.substr(0, whole.size() - 40));
  fails(ErrorKind::data, "short.txt: damaged or cut short",
        [&] { Vocabulary::load(path("short.txt")); });
  std::string edited = whole;
  edited.replace(edited.find("\ta\n"), 3, "\tc\n");
  write(path("edited.txt"), edited);
  fails(ErrorKind::data, "edited.txt: damaged or cut short",
        [&] { Vocabulary::load(path("edited.txt")); });
  write(path("list.txt"), "a\nb\n");
  fails(ErrorKind::data, "list.txt: no vocabulary file, whose first line would be",
        [&] { Vocabulary::load(path("list.txt")); });
  write(path("newer.txt"), "trireme vocabulary 2\n");
  fails(ErrorKind::data, "version 2; this program reads version 1",
        [&] { Vocabulary::load(path("newer.txt")); });
  fails(ErrorKind::io, "cannot write", [&] { vocabulary.save(path("none/v.txt")); });
  fails(ErrorKind::io, "cannot write", [&] { vocabulary.save(path(".")); });
  EXPECT_EQ(read(path("v.txt")), whole);
}

TEST_F(TextMisuse, DamagedModelsOfPieces) {
  const SubwordModel model = SubwordModel::train({"to be or not to be"}, {.fewer = true});
  model.save(path("m.model"));
  const std::string whole = read(path("m.model"));
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 1);
  write(path("flipped.model"), flipped);
  fails(ErrorKind::data, "flipped.model: damaged",
        [&] { SubwordModel::load(path("flipped.model")); });
  write(path("short.model"), whole.substr(0, whole.size() / 2));
  fails(ErrorKind::data, "short.model: ", [&] { SubwordModel::load(path("short.model")); });
  write(path("text.model"), "not a model at all\n");
  fails(ErrorKind::data, "text.model: is not a model of SentencePiece",
        [&] { SubwordModel::load(path("text.model")); });
  fails(ErrorKind::usage, "8000 pieces are more than the text yields",
        [] { SubwordModel::train({"to be or not to be"}); });
  fails(ErrorKind::io, "cannot write", [&] { model.save(path("none/m.model")); });
  EXPECT_EQ(read(path("m.model")), whole);
}

}  // namespace
}  // namespace trireme::testing
