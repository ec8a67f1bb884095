#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "base/testing/error.h"
#include "trireme/sequence_metrics.h"

namespace trireme {
namespace {

using Tags = std::vector<std::string>;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

auto numbers(const ChunkCounts& c) { return std::tuple(c.correct, c.predicted, c.reference); }

ChunkCounts counts(const Tags& predicted, const Tags& reference, const ChunkOptions& options = {}) {
  ChunkF1 chunks(options);
  chunks.update(predicted, reference);
  return chunks.counts();
}

// The chunks of a sequence, by counting them against itself.
std::int64_t chunks_in(const Tags& tags, ChunkScheme scheme) {
  const ChunkCounts found = counts(tags, tags, {.scheme = scheme});
  EXPECT_EQ(found.correct, found.predicted);
  EXPECT_EQ(found.correct, found.reference);
  return found.correct;
}

// The example of the page of seqeval, and of many others after it.
TEST(Chunks, OfAPublishedExample) {
  const std::vector<Tags> right{{"O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"},
                                {"B-PER", "I-PER", "O"}};
  const std::vector<Tags> predicted{{"O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"},
                                    {"B-PER", "I-PER", "O"}};
  const ChunkCounts found = chunk_f1(predicted, right);
  EXPECT_EQ(numbers(found), std::tuple(1, 2, 2));
  EXPECT_DOUBLE_EQ(found.f1(), 0.5);
  ChunkF1 chunks;
  for (std::size_t i = 0; i < right.size(); ++i) chunks.update(predicted[i], right[i]);
  EXPECT_EQ(numbers(chunks.types().at("MISC")), std::tuple(0, 1, 1));
  EXPECT_EQ(numbers(chunks.types().at("PER")), std::tuple(1, 1, 1));
}

// What the page of the CoNLL-2000 shared task shows of conlleval: 371 of 539 found, 459 there.
TEST(Chunks, RatesOfThePageOfConlleval) {
  const ChunkCounts all{.correct = 371, .predicted = 539, .reference = 459};
  EXPECT_NEAR(100 * all.precision(), 68.83, 0.005);
  EXPECT_NEAR(100 * all.recall(), 80.83, 0.005);
  EXPECT_NEAR(100 * all.f1(), 74.35, 0.005);
  EXPECT_EQ(ChunkCounts{}.f1(), 0);
  EXPECT_EQ((ChunkCounts{.predicted = 3}).precision(), 0);
  EXPECT_EQ((ChunkCounts{.predicted = 3}).recall(), 0);
}

TEST(Chunks, AreReadByTheirScheme) {
  using enum ChunkScheme;
  EXPECT_EQ(chunks_in({"B-X", "I-X", "B-X", "O", "B-Y", "B-X"}, iob), 4);
  EXPECT_EQ(chunks_in({"I-X", "I-X", "B-X", "O", "I-Y", "I-X"}, iob), 4) << "IOB1";
  EXPECT_EQ(chunks_in({"I-X", "E-X", "I-X", "E-X", "O", "E-Y"}, ioe), 3) << "IOE2";
  EXPECT_EQ(chunks_in({"I-X", "E-X", "I-X", "O", "I-Y", "I-X"}, ioe), 4) << "IOE1";
  EXPECT_EQ(chunks_in({"S-X", "B-X", "E-X", "B-X", "I-X", "E-X", "S-Y", "O", "S-X"}, iobes), 5);
  EXPECT_EQ(chunks_in({"X", "X", "Y", "O", "Y", "X"}, plain), 4);
  EXPECT_EQ(chunks_in({"B-X", "B-X"}, plain), 1) << "a type, whatever it looks like";
  EXPECT_EQ(chunks_in({"O", "O"}, iob), 0);
  EXPECT_EQ(chunks_in({}, iob), 0);
  // The type is everything after the first hyphen.
  EXPECT_EQ(numbers(counts({"B-R-ARG0"}, {"B-R-ARG1"})), std::tuple(0, 1, 1));
  EXPECT_EQ(numbers(counts({"B-C-V", "I-C-V"}, {"B-C-V", "I-C-V"})), std::tuple(1, 1, 1));
}

TEST(Chunks, OfTheSameTokensInTwoSchemesAreTheSame) {
  const Tags iob{"B-X", "I-X", "B-X", "O", "B-Y", "I-Y", "I-Y"};
  const Tags iobes{"B-X", "E-X", "S-X", "O", "B-Y", "I-Y", "E-Y"};
  EXPECT_EQ(chunks_in(iob, ChunkScheme::iob), chunks_in(iobes, ChunkScheme::iobes));
}

TEST(Chunks, CountOnlyWithBothBordersAndTheType) {
  const Tags right{"B-X", "I-X", "I-X", "O"};
  EXPECT_EQ(numbers(counts({"B-X", "I-X", "I-X", "O"}, right)), std::tuple(1, 1, 1));
  EXPECT_EQ(numbers(counts({"B-X", "I-X", "O", "O"}, right)), std::tuple(0, 1, 1));
  EXPECT_EQ(numbers(counts({"O", "B-X", "I-X", "O"}, right)), std::tuple(0, 1, 1));
  EXPECT_EQ(numbers(counts({"B-X", "I-X", "I-X", "I-X"}, right)), std::tuple(0, 1, 1));
  EXPECT_EQ(numbers(counts({"B-Y", "I-Y", "I-Y", "O"}, right)), std::tuple(0, 1, 1));
  EXPECT_EQ(numbers(counts({"B-X", "B-X", "I-X", "O"}, right)), std::tuple(0, 2, 1));
  EXPECT_EQ(numbers(counts({"O", "O", "O", "O"}, right)), std::tuple(0, 0, 1));
}

TEST(Chunks, TypesCanBeLeftOut) {
  const Tags right{"B-ARG0", "B-V", "B-ARG1", "I-ARG1"};
  const Tags given{"B-ARG0", "B-V", "I-V", "B-ARG1"};
  EXPECT_EQ(numbers(counts(given, right)), std::tuple(1, 3, 3));
  EXPECT_EQ(numbers(counts(given, right, {.leave_out = {"V", "none"}})), std::tuple(1, 2, 2));
  ChunkF1 chunks({.leave_out = {"V"}});
  chunks.update(given, right);
  EXPECT_THAT(chunks.types(), UnorderedElementsAre(Key("ARG0"), Key("ARG1")));
  EXPECT_EQ(numbers(counts({"x", "-", "x"}, {"x", "-", "-"},
                           {.scheme = ChunkScheme::plain, .outside = "-"})),
            std::tuple(1, 2, 1));
}

// --- The rules of conlleval: which pairs of neighbors end and begin a chunk, and whether a chunk
// is right so far.

bool listed(const char* pairs, char before, char tag) {
  const std::string pair{before, tag};
  for (std::string_view rest = pairs; rest.size() >= 2; rest.remove_prefix(3)) {
    if (rest.substr(0, 2) == pair) return true;
    if (rest.size() < 3) break;
  }
  return false;
}

struct Parted {
  char prefix = 'O';
  std::string type;
  explicit Parted(const std::string& tag) : prefix(tag[0]) {
    if (tag.size() > 2) type = tag.substr(2);
  }
};

bool ends(const Parted& before, const Parted& tag) {
  return listed("BB BO IB IO EE EI EO", before.prefix, tag.prefix) ||
         (before.prefix != 'O' && before.type != tag.type);
}
bool begins(const Parted& before, const Parted& tag) {
  return listed("BB IB OB OI EE EI OE", before.prefix, tag.prefix) ||
         (tag.prefix != 'O' && before.type != tag.type);
}

ChunkCounts by_conlleval(Tags predicted, Tags reference) {
  predicted.emplace_back("O");
  reference.emplace_back("O");
  ChunkCounts counts;
  bool right_so_far = false;
  Parted p("O"), r("O");
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const Parted guess(predicted[i]), truth(reference[i]);
    const bool p_ends = ends(p, guess), r_ends = ends(r, truth);
    if (right_so_far && p_ends && r_ends) ++counts.correct;
    if (p_ends || r_ends || guess.type != truth.type) right_so_far = false;
    const bool p_begins = begins(p, guess), r_begins = begins(r, truth);
    if (p_begins && r_begins && guess.type == truth.type) right_so_far = true;
    counts.predicted += p_begins;
    counts.reference += r_begins;
    p = guess;
    r = truth;
  }
  return counts;
}

TEST(Chunks, OfTagsAtRandomAreThoseOfConlleval) {
  std::mt19937 random(5);
  std::int64_t correct = 0;
  for (const auto scheme : {ChunkScheme::iob, ChunkScheme::ioe}) {
    const Tags tags = scheme == ChunkScheme::iob ? Tags{"O", "B-X", "I-X", "B-Y", "I-Y"}
                                                 : Tags{"O", "I-X", "E-X", "I-Y", "E-Y"};
    for (int i = 0; i < 2000; ++i) {
      Tags right, given;
      for (unsigned left = random() % 12; left > 0; --left) {
        right.push_back(tags[random() % tags.size()]);
        given.push_back(random() % 3 == 0 ? tags[random() % tags.size()] : right.back());
      }
      const ChunkCounts found = counts(given, right, {.scheme = scheme});
      ASSERT_EQ(numbers(found), numbers(by_conlleval(given, right)))
          << testing::PrintToString(given) << " for " << testing::PrintToString(right);
      correct += found.correct;
    }
  }
  EXPECT_GT(correct, 1000);
}

TEST(Chunks, OfIdsAreThoseOfTheirTags) {
  const Tags tags{"O", "B-X", "I-X", "B-Y", "I-Y"};
  std::mt19937 random(6);
  ChunkF1 by_ids({.tags = tags}), packed({.tags = tags}), by_tags;
  std::vector<std::int64_t> given, right, splits{0};
  for (int i = 0; i < 200; ++i) {
    Tags given_tags, right_tags;
    for (unsigned left = random() % 6; left > 0; --left) {
      right.push_back(random() % 5);
      given.push_back(random() % 4 == 0 ? random() % 5 : right.back());
      right_tags.push_back(tags[static_cast<std::size_t>(right.back())]);
      given_tags.push_back(tags[static_cast<std::size_t>(given.back())]);
    }
    const auto begin = static_cast<std::size_t>(splits.back());
    splits.push_back(static_cast<std::int64_t>(given.size()));
    by_tags.update(given_tags, right_tags);
    by_ids.update(std::span(given).subspan(begin), std::span(right).subspan(begin));
  }
  packed.update(given, right, splits);
  EXPECT_EQ(packed.sequences(), 200);
  EXPECT_GT(packed.counts().correct, 50);
  EXPECT_EQ(numbers(packed.counts()), numbers(by_tags.counts()));
  EXPECT_EQ(numbers(by_ids.counts()), numbers(by_tags.counts()));
  EXPECT_EQ(packed.value(), by_tags.value());
}

TEST(Chunks, AreToldPieceByPiece) {
  ChunkF1 chunks;
  EXPECT_TRUE(std::isnan(chunks.value()));
  chunks.update(Tags{}, Tags{});
  EXPECT_EQ(chunks.value(), 0);
  chunks.update(Tags{"B-X"}, Tags{"B-X"});
  EXPECT_EQ(chunks.value(), 1);
  EXPECT_THROW(chunks.update(Tags{"B-X", "Z-Y"}, Tags{"B-X", "B-X"}), Error);
  EXPECT_EQ(numbers(chunks.counts()), std::tuple(1, 1, 1)) << "what threw counted nothing";
  EXPECT_EQ(chunks.sequences(), 2);
  chunks.reset();
  EXPECT_TRUE(std::isnan(chunks.value()));
  EXPECT_TRUE(chunks.types().empty());
}

}  // namespace
}  // namespace trireme
