// The public interface to event files. python/tests/test_tensorboard.py compares the contents with
// NumPy, and reads them with TensorBoard.

#include "trireme/tensorboard.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/testing/directory.h"
#include "base/testing/error.h"
#include "session/train/event_values.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The bytes of all event files of a folder.
std::string bytes_of_events(const std::string& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("events.out.tfevents.")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

TEST(Histograms, CountAsNumpyDoes) {
  const Histogram made = histogram_of(Tensor::from<double>({5}, {0, 1, 1, 3, 4}), 4);
  EXPECT_THAT(made.limits, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(made.counts, ElementsAre(1, 2, 0, 2));
  EXPECT_EQ(made.count, 5);
  EXPECT_EQ(made.sum, 9);
  EXPECT_EQ(made.sum_squares, 27);
}

TEST(Histograms, OfSpecialValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(histogram_of(Tensor(f32, {0}), 30).counts, ElementsAre(0));
  EXPECT_THAT(histogram_of(Tensor::from<double>({3}, {kNan, kInfinity, -kInfinity}), 30).counts,
              ElementsAre(0));
  EXPECT_THAT(histogram_of(Tensor::from<double>({3}, {7, 7, kNan}), 30).counts, ElementsAre(2));
  const Histogram wide = histogram_of(Tensor::from<double>({2}, {-1.7e308, 1.7e308}), 3);
  EXPECT_THAT(wide.counts, ElementsAre(1, 0, 1));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { histogram_of(Tensor(f32, {1}), 0); }),
              HasSubstr("1 bin or more"));
}

TEST(PrCurves, CountAtEachThreshold) {
  const PrCurve made = pr_curve_of(Tensor::from<float>({4}, {0.0f, 0.5f, 0.75f, 1.0f}),
                                   Tensor::from<float>({4}, {0, 1, 0, 1}), 3);
  EXPECT_THAT(made.true_positives, ElementsAre(2, 2, 1));
  EXPECT_THAT(made.false_positives, ElementsAre(2, 1, 0));
  EXPECT_THAT(made.true_negatives, ElementsAre(0, 1, 2));
  EXPECT_THAT(made.false_negatives, ElementsAre(0, 0, 1));
  EXPECT_THAT(made.precision, ElementsAre(0.5f, 2.0f / 3, 1));
  EXPECT_THAT(made.recall, ElementsAre(1, 1, 0.5f));
  // Nothing is predicted, and nothing is there.
  EXPECT_THAT(pr_curve_of(Tensor(f32, {0}), Tensor(f32, {0}), 2).precision, Each(0));
}

TEST(TensorBoards, FollowATraining) {
  const TestDirectory folder;
  Program program("line");
  const Value x = program.input("x", f32, {batch, 1}), y = program.input("y", f32, {batch, 1});
  const Value out = nn::linear(x, {.units = 1, .name = "line"});
  Trainer trainer(program, {.loss = mean(nn::mse(out, y)), .optimizer = Sgd{.learning_rate = 0.1}});
  const data::Batches points = data::from_tensors({{"x", Tensor::from<float>({2, 1}, {0, 1})},
                                                   {"y", Tensor::from<float>({2, 1}, {0, 1})}})
                                   .batch(2);
  const auto board = std::make_shared<TensorBoard>(
      folder.path(), TensorBoardOptions{.scalars_every = 1,
                                        .curves = {{.tag = "mine", .scores = out, .labels = y}}});
  trainer.fit(points,
              {.epochs = 2, .progress = false, .validation = &points, .callbacks = {board}});
  EXPECT_THAT(bytes_of_events(folder.path()),
              AllOf(HasSubstr("train/loss"), HasSubstr("learning_rate"), HasSubstr("epoch/loss"),
                    HasSubstr("validation/loss"), HasSubstr("parameters/line.weight"),
                    HasSubstr("pr_curves"), HasSubstr("line/matmul")));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { trainer.fit(points, {.progress = false, .callbacks = {board}}); }),
              HasSubstr("\"mine\" has no batches"));
  EXPECT_THAT(error_of(ErrorKind::io, [] { EventWriter("/proc/none"); }), HasSubstr("/proc/none"));
}

TEST(TensorBoards, LeaveMetricsToARunFolder) {
  const TestDirectory folder;
  Program program("line");
  const Value x = program.input("x", f32, {batch, 1});
  const Value out = nn::linear(x, {.units = 1, .name = "line"});
  Trainer trainer(program, {.loss = mean(out * out), .optimizer = Sgd{.learning_rate = 0.1}});
  const data::Batches points =
      data::from_tensors({{"x", Tensor::from<float>({2, 1}, {0, 1})}}).batch(2);
  const std::string run = folder.path() + "/run";
  trainer.fit(points, {.progress = false,
                       .run = run,
                       .callbacks = {std::make_shared<TensorBoard>(folder.path() + "/./run")}});
  const std::string events = bytes_of_events(run);
  EXPECT_THAT(events, HasSubstr("parameters/line.weight"));
  EXPECT_THAT(events.substr(events.find("epoch/loss") + 1), Not(HasSubstr("epoch/loss")));
}

}  // namespace
}  // namespace trireme
