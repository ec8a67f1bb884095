// Metrics of sequences with wrong input: one error of the right kind that says what and where.

#include <gmock/gmock.h>

#include <limits>

#include "../command.h"
#include "trireme/sequence_metrics.h"

namespace trireme::testing {
namespace {

using Ids = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

TEST(SequenceMisuse, LengthsThatDiffer) {
  ChunkF1 chunks;
  chunks.update(Texts{"O"}, Texts{"O"});
  fails(ErrorKind::usage, "sequence 1 has 2 predicted tags, but 1 right ones",
        [&] { chunks.update(Texts{"O", "O"}, Texts{"O"}); });
  ChunkF1 of_ids({.tags = {"O", "B-X"}});
  fails(ErrorKind::usage, "sequence 0 has 1 predicted tags, but 2 right ones",
        [&] { of_ids.update(Ids{1}, Ids{1, 0}); });
  fails(ErrorKind::usage, "there are 1 predicted tags, but 2 right ones",
        [&] { of_ids.update(Ids{1}, Ids{1, 0}, Ids{0, 1}); });
  fails(ErrorKind::usage, "there are 1 predicted sequences, but 2 right ones",
        [] { chunk_f1(std::vector<Texts>{{"O"}}, std::vector<Texts>{{"O"}, {"O"}}); });
  fails(ErrorKind::usage, "there are 2 hypotheses, but references for 1",
        [] { corpus_bleu(Texts{"a", "b"}, Texts{"a"}); });
  fails(ErrorKind::usage, "there are 1 hypotheses, but references for 2",
        [] { corpus_bleu(Texts{"a"}, std::vector<Texts>{{"a"}, {"b"}}); });
  EditRate rate;
  fails(ErrorKind::usage, "edit rate: 1 hypotheses, but 2 references", [&] {
    const Ids ids{1}, one{0, 1}, two{0, 1, 1};
    rate.update({ids, one}, {ids, two});
  });
}

TEST(SequenceMisuse, UnknownTags) {
  const auto refused = [](ChunkScheme scheme, const std::string& tag, const std::string& what) {
    ChunkF1 chunks({.scheme = scheme});
    chunks.update(Texts{"O"}, Texts{"O"});
    fails(ErrorKind::data, what, [&] { chunks.update(Texts{"O", "O"}, Texts{"O", tag}); });
    EXPECT_EQ(chunks.sequences(), 1);
  };
  refused(ChunkScheme::iob, "X-ARG0",
          "token 1 of the right sequence 1 is the tag \"X-ARG0\", which is none of the scheme IOB: "
          "\"O\", or one of BI before \"-\" and a type");
  refused(ChunkScheme::iob, "E-ARG0", "none of the scheme IOB");
  refused(ChunkScheme::ioe, "B-ARG0", "none of the scheme IOE");
  refused(ChunkScheme::iobes, "ARG0", "none of the scheme IOBES");
  refused(ChunkScheme::iob, "", "the tag \"\"");
  refused(ChunkScheme::iob, "-X", "the tag \"-X\"");
  refused(ChunkScheme::iob, "o", "the tag \"o\"");
  fails(ErrorKind::usage, "entry 2 of tags is the tag \"S-X\"",
        [] { ChunkF1({.tags = {"O", "B-X", "S-X"}}); });
}

TEST(SequenceMisuse, IdsWithoutTags) {
  ChunkF1 chunks;
  fails(ErrorKind::usage, "need the list of tags", [&] { chunks.update(Ids{0}, Ids{0}); });
  ChunkF1 of_ids({.tags = {"O", "B-X"}});
  fails(ErrorKind::data, "token 1 of the predicted sequence 0 is 2, but there are tags 0 to 1",
        [&] { of_ids.update(Ids{0, 2}, Ids{0, 0}); });
  fails(ErrorKind::data, "token 0 of the right sequence 2 is -1",
        [&] { of_ids.update(Ids{0, 0, 0}, Ids{0, 0, -1}, Ids{0, 2, 2, 3}); });
  EXPECT_EQ(of_ids.sequences(), 0);
}

TEST(SequenceMisuse, WrongSplits) {
  ChunkF1 chunks({.tags = {"O", "B-X"}});
  const auto refused = [&](const Ids& splits, const std::string& what) {
    const Ids ids{0, 1, 0}, whole{0, 3};
    fails(ErrorKind::data, "chunk F1: splits " + what, [&] { chunks.update(ids, ids, splits); });
    EditRate rate;
    fails(ErrorKind::data, "edit rate, references: splits " + what,
          [&] { rate.update({ids, whole}, {ids, splits}); });
    EXPECT_EQ(rate.sequences(), 0);
  };
  refused({}, "must begin with 0, but are empty");
  refused({1, 3}, "must begin with 0, but begin with 1");
  refused({0, 2, 1, 3}, "must not fall, but splits[2] is 1 after 2");
  refused({0, 2}, "end with 2, but there are 3 ids");
  refused({0, 4}, "end with 4, but there are 3 ids");
  EXPECT_EQ(chunks.sequences(), 0);
}

TEST(SequenceMisuse, InvalidUtf8) {
  fails(ErrorKind::data, "edit_distance: byte 1 of the hypothesis is not UTF-8",
        [] { edit_distance("a\xc3", "a"); });
  EditRate rate;
  fails(ErrorKind::data, "byte 0 of the reference", [&] { rate.update("a", "\xed\xa0\x80"); });
  EXPECT_EQ(rate.sequences(), 0);
  fails(ErrorKind::data, "BLEU: sentence 1: byte 2 of the hypothesis is not UTF-8",
        [] { corpus_bleu(Texts{"a", "bc\xff"}, Texts{"a", "b"}); });
  fails(ErrorKind::data, "BLEU: sentence 0: byte 0 of reference 1 is not UTF-8",
        [] { corpus_bleu(Texts{"a"}, std::vector<Texts>{{"a", "\x80"}}); });
}

TEST(SequenceMisuse, NothingToMeasure) {
  fails(ErrorKind::usage, "BLEU: there are no sentences", [] { corpus_bleu(Texts{}, Texts{}); });
  fails(ErrorKind::usage, "BLEU: sentence 1 has no reference",
        [] { corpus_bleu(Texts{"a", "b"}, std::vector<Texts>{{"a"}, {}}); });
  fails(ErrorKind::usage, "chunk F1: there are no sequences",
        [] { chunk_f1(std::vector<Texts>{}, std::vector<Texts>{}); });
  fails(ErrorKind::usage, "perplexity: there are no tokens",
        [] { perplexity(std::vector<float>{}); });
}

TEST(SequenceMisuse, LossesThatAreNone) {
  Perplexity perplexity;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  fails(ErrorKind::data, "the loss of token 1 is NaN",
        [&] { perplexity.update(std::vector<double>{1, nan}); });
  fails(ErrorKind::data, "the sum of losses is NaN", [&] { perplexity.update(nan, 3); });
  fails(ErrorKind::usage, "a loss of 2 by 0 tokens", [&] { perplexity.update(2, 0); });
  fails(ErrorKind::usage, "a loss of 2 by -1 tokens", [&] { perplexity.update(2, -1); });
  EXPECT_EQ(perplexity.tokens(), 0);
}

}  // namespace
}  // namespace trireme::testing
