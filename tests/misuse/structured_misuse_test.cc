// Losses and decoders of sequences of labels used wrongly: one error that says what, where and what
// to try.

#include <gmock/gmock.h>

#include <limits>

#include "../command.h"
#include "trireme/session.h"
#include "trireme/structured.h"

namespace trireme::testing {
namespace {

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

class StructuredMisuse : public ::testing::Test {
 protected:
  Program program{"net"};
  Value x = program.input("x", f32, ragged({batch}, {4}));
  Value labels = program.input("labels", i64, {x.dim(0)});
  Value others = program.input("others", i64, ragged({batch}));
  Value dense = program.input("dense", f32, {batch, 4});
  nn::CrfScores scores = nn::crf_scores(x, {.name = "tags"});
  Feeds feeds(const std::vector<std::int64_t>& right) const {
    return {{"x", Tensor(f32, {3, 4})},
            {"x.splits", integers({0, 2, 3})},
            {"labels", integers(right)},
            {"others", integers(right)},
            {"others.splits", integers({0, 2, 3})}};
  }
};

TEST_F(StructuredMisuse, CrfOfWrongShapes) {
  fails(ErrorKind::usage, "structured_misuse_test.cc", [&] { nn::crf_loss(x, others, scores); });
  fails(ErrorKind::usage,
        "crf_loss: labels must be integers, one for each row: [x], not %others : i64[others]",
        [&] { nn::crf_loss(x, others, scores); });
  fails(ErrorKind::usage, "not %x : f32[x, 4]", [&] { nn::crf_loss(x, x, scores); });
  fails(ErrorKind::usage, "not empty", [&] { nn::crf_loss(x, Value(), scores); });
  fails(ErrorKind::usage, "crf_loss: its rows are not rows of sequences",
        [&] { nn::crf_loss(dense, labels, scores); });
  fails(ErrorKind::usage, "emissions must be floats [rows, tags]", [&] { nn::crf_scores(labels); });
  nn::CrfScores wrong = scores;
  wrong.transition = program.input("wrong", f32, {4, 5});
  fails(ErrorKind::usage,
        "crf_decode: the scores `transition` must be f32[4, 4], but are %wrong : f32[4, 5]",
        [&] { nn::crf_decode(x, wrong); });
  fails(ErrorKind::usage, "the scores `start` must be f32[4], but are empty",
        [&] { nn::crf_decode(x, {}); });
  fails(ErrorKind::usage, "tags.start", [&] { nn::crf_scores(x, {.name = "tags"}); });
}

TEST_F(StructuredMisuse, CrfLabelsOutOfRange) {
  const Value loss = nn::crf_loss(x, labels, scores);
  Session session(program);
  fails(ErrorKind::data, "index 4 at [1] is outside [0, 4)",
        [&] { session.run(feeds({0, 4, 1}), {loss}); });
  fails(ErrorKind::data, "index -1 at [0]", [&] { session.run(feeds({-1, 0, 1}), {loss}); });
  session.run(feeds({3, 0, 1}), {loss});
}

TEST_F(StructuredMisuse, CtcOfWrongShapes) {
  fails(ErrorKind::usage, "structured_misuse_test.cc", [&] { nn::ctc_loss(dense, others); });
  fails(ErrorKind::usage, "ctc_loss: its rows are not rows of sequences",
        [&] { nn::ctc_loss(dense, others); });
  fails(ErrorKind::usage, "labels must be integers [label_rows], not %x : f32[x, 4]",
        [&] { nn::ctc_loss(x, x); });
  fails(ErrorKind::usage, "labels must be integers [label_rows], not empty",
        [&] { nn::ctc_loss(x, Value()); });
  const Value more = program.input("more", i64, ragged({Dim(std::string_view("more_batch"))}));
  fails(ErrorKind::usage, "there are batch sequences of logits, but more_batch of labels",
        [&] { nn::ctc_loss(x, more); });
  fails(ErrorKind::usage, "the blank is class 4, but there are 4 classes",
        [&] { nn::ctc_loss(x, others, {.blank = 4}); });
  fails(ErrorKind::usage, "ctc_greedy: the blank is class -1",
        [&] { nn::ctc_greedy(x, {.blank = -1}); });
  fails(ErrorKind::usage, "ctc_greedy: logits must be floats [rows, classes]",
        [&] { nn::ctc_greedy(labels); });
}

TEST_F(StructuredMisuse, CtcLabelsThatAreNone) {
  const Value loss = nn::ctc_loss(x, others, {.blank = 1});
  Session session(program);
  fails(ErrorKind::data, "label 1 at [2] is the blank",
        [&] { session.run(feeds({0, 3, 1}), {loss}); });
  fails(ErrorKind::data, "label 4 at [0] is no class",
        [&] { session.run(feeds({4, 3, 0}), {loss}); });
  session.run(feeds({0, 3, 2}), {loss});
}

TEST_F(StructuredMisuse, BeamsThatCannotBe) {
  const auto search = [](const Tensor& rows, const nn::CtcBeamOptions& options) {
    return [=] { nn::ctc_beam_search(RaggedTensor(rows, integers({0, rows.dim(0)})), options); };
  };
  const Tensor good(f32, {2, 3});
  search(good, {})();
  fails(ErrorKind::usage, "a width of 0 is out of range", search(good, {.width = 0}));
  fails(ErrorKind::usage, "a width of 1099511627776 is out of range",
        search(good, {.width = std::int64_t{1} << 40}));
  fails(ErrorKind::usage, "5 hypotheses are not possible with a width of 4",
        search(good, {.width = 4, .best = 5}));
  fails(ErrorKind::usage, "the blank is class 3, but there are 3 classes",
        search(good, {.blank = 3}));
  fails(ErrorKind::usage, "logits must be f32 or f64 [rows, classes] with one level",
        search(Tensor(i64, {2, 3}), {}));
  Tensor bad(f32, {2, 3});
  bad.data<float>()[4] = std::numeric_limits<float>::quiet_NaN();
  fails(ErrorKind::data, "logits at [1, 1] are NaN", search(bad, {}));
}

}  // namespace
}  // namespace trireme::testing
