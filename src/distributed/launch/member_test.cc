// A program of a user without a launcher: it refuses what would not run with many processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "trireme/distributed.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Mode = Distribution::Mode;

// Trains a straight line in this mode; returns the final loss.
double learned(Mode mode, TrainerOptions options) {
  Program program("line");
  const Value x = program.input("x", f32, {batch, 1});
  const Value y = program.input("y", f32, {batch, 1});
  options.loss = mean(nn::mse(nn::linear(x, {.units = 1}), y));
  Member member = Member::join({.distribution = {.mode = mode}});
  Trainer trainer(program, member.distribute(program, options));
  const data::Batches points =
      data::from_tensors({{"x", Tensor::from<float>({4, 1}, {0, 1, 2, 3})},
                          {"y", Tensor::from<float>({4, 1}, {1, 3, 5, 7})}})
          .batch(4);
  member.train(trainer, points, {.epochs = 60});
  return trainer.evaluate(points)["loss"];
}

std::string refused(Mode mode, const TrainerOptions& options) {
  return error_of(ErrorKind::usage, [&] { learned(mode, options); });
}

TEST(Member, AloneLearnsWhatManyCould) {
  const TrainerOptions options{.optimizer = Sgd{.learning_rate = 0.1, .clip = {.norm = 30}},
                               .updates = {.l2 = 1e-4}};
  for (const Mode mode : {Mode::all_reduce, Mode::asynchronous, Mode::geo}) {
    EXPECT_LT(learned(mode, options), 0.05);
  }
  EXPECT_LT(learned(Mode::all_reduce,
                    {.optimizer = Sgd{.learning_rate = 0.1}, .updates = {.accumulate = 2}}),
            0.5);
}

TEST(Member, AloneRefusesWhatManyCannotKeepTo) {
  for (const Mode mode : {Mode::asynchronous, Mode::synchronous, Mode::geo}) {
    EXPECT_THAT(refused(mode, {.updates = {.accumulate = 2}}),
                HasSubstr("TrainerOptions: accumulate is not for parameter servers"));
    EXPECT_THAT(refused(mode, {.updates = {.average = Average::exponential()}}),
                HasSubstr("TrainerOptions: average is not for parameter servers"));
    EXPECT_THAT(refused(mode, {.optimizer = Lamb{}}),
                AllOf(HasSubstr("TrainerOptions: optimizer is none of parameter servers"),
                      HasSubstr("sgd, adagrad, adam and ftrl alone")));
  }
  EXPECT_THAT(refused(Mode::synchronous, {.optimizer = Sgd{.clip = {.value = 1}}}),
              HasSubstr("TrainerOptions: clip would be of the sum"));
  EXPECT_THAT(refused(Mode::all_reduce, {.optimizer = Sgd{Schedule().on_plateau({})}}),
              HasSubstr("TrainerOptions: schedule goes by what is measured"));
}

TEST(Member, AloneEndsInAnyWay) {
  Member finished = Member::join(), abandoned = Member::join();
  EXPECT_EQ(finished.name(), "");
  finished.finish();
  finished.finish();
  abandoned.abandon();
  abandoned.finish();
}

TEST(Member, RefusesSettingsOfAnotherMode) {
  const auto wrong = [](const Distribution& how) {
    return error_of(ErrorKind::usage, [&] { Member::join({.distribution = how}); });
  };
  const std::string servers = "is of parameter servers";
  EXPECT_THAT(wrong({.admission = 2}), HasSubstr("Distribution::admission " + servers));
  EXPECT_THAT(wrong({.memory_limit = 5}), HasSubstr("Distribution::memory_limit " + servers));
  EXPECT_THAT(wrong({.cold_rows = "here"}), HasSubstr("Distribution::cold_rows " + servers));
  EXPECT_THAT(wrong({.float16 = true}), HasSubstr("Distribution::float16 " + servers));
  EXPECT_THAT(wrong({.eviction = {.unused_for = 2}}),
              HasSubstr("Distribution::eviction " + servers));
  EXPECT_THAT(wrong({.mode = Mode::synchronous, .prefetch = true}),
              HasSubstr("Distribution::prefetch is of mode"));
  EXPECT_THAT(wrong({.checkpoint_seconds = 0, .resume = true}),
              HasSubstr("Distribution::resume needs the checkpoints"));
}

}  // namespace
}  // namespace trireme
