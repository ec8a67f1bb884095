// Training on batches of sequences, whose number of examples no fed Tensor tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "base/testing/noise.h"
#include "data/testing/files.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kExamples = 60;

// Example i has 1 + 7 i % 11 rows "x" and as many numbers "y".
data::Dataset points() {
  std::vector<std::int64_t> lengths;
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < kExamples; ++i) rows += lengths.emplace_back(1 + 7 * i % 11);
  return data::from_ragged({{"x", RaggedTensor::from_lengths(noise({rows, 2}, 1), lengths)},
                            {"y", RaggedTensor::from_lengths(noise({rows, 1}, 2), lengths)}});
}

// Takes the packed rows alone.
struct Pupil {
  Program program{"net"};
  std::unique_ptr<Trainer> trainer;

  Pupil() {
    const Value x = program.input("x", f32, {Dim("rows"), 2});
    const Value y = program.input("y", f32, {Dim("rows"), 1});
    const Value h = nn::linear(x, {.units = 4, .activation = nn::tanh});
    const Value loss = mean(nn::mse(nn::linear(h, {.units = 1}), y));
    trainer =
        std::make_unique<Trainer>(program, TrainerOptions{.loss = loss,
                                                          .optimizer = Adam{.learning_rate = 0.01f},
                                                          .session = {.threads = 1}});
  }

  std::map<std::string, std::vector<float>> parameters() {
    std::map<std::string, std::vector<float>> values;
    for (const Value& parameter : program.parameters()) {
      const std::string name = parameter.name().substr(1);
      values[name] = trainer->session().parameter(name).cast(f32).to_vector<float>();
    }
    return values;
  }
};

TEST(RaggedBatches, CountExamplesNotRows) {
  Pupil pupil;
  for (const data::Batches& batches : {points().batch(7), points().batch_tokens(25, "x"),
                                       points().bucket_by_length(7, {.column = "y"})}) {
    double sum = 0;
    for (const data::Batch& batch : batches.epoch(0)) {
      const Feeds feeds{{"x", batch.at("x")}, {"y", batch.at("y")}};
      const Tensor loss = pupil.trainer->session().run(feeds, pupil.trainer->training_fetches())[0];
      sum += loss.item<float>() * static_cast<double>(batch.at("x.splits").dim(0) - 1);
    }
    const Metrics metrics = pupil.trainer->evaluate(batches);
    EXPECT_EQ(metrics.examples(), kExamples);
    EXPECT_NEAR(metrics["loss"], sum / kExamples, 1e-6);
  }
}

TEST(RaggedBatches, GoOnWhereTrainingWasInterrupted) {
  const data::TestDirectory directory;
  const data::Batches batches = points().shuffle(3).batch_tokens(40, "x", {.threads = 2});
  ASSERT_GT(batches.size(), 5);
  Pupil whole;
  std::int64_t steps = 0;
  const FitOptions options{.epochs = 3, .progress = false};
  FitOptions counted = options;
  counted.after_step = [&](std::int64_t, double) { ++steps; };
  const Metrics metrics = whole.trainer->fit(batches, counted);
  EXPECT_EQ(steps, 3 * batches.size());
  EXPECT_EQ(metrics.examples(), kExamples);
  for (const std::int64_t stop : {std::int64_t{3}, batches.size(), batches.size() + 2}) {
    const std::string path = directory.path() + "/" + std::to_string(stop);
    FitOptions part = options;
    part.max_steps = stop;
    Pupil first;
    first.trainer->fit(batches, part);
    first.trainer->save_checkpoint(path);
    Pupil second;
    second.trainer->resume(path);
    second.trainer->fit(batches, options);
    EXPECT_EQ(second.parameters(), whole.parameters()) << stop;
    Pupil other;
    other.trainer->resume(path);
    EXPECT_THAT(error_of(ErrorKind::data,
                         [&] { other.trainer->fit(points().batch_tokens(41, "x"), options); }),
                HasSubstr("in batches of 40, and the data given now"));
  }
}

TEST(RaggedBatches, PredictionsKeepTheirSequences) {
  Program program("net");
  const Value x = program.input("x", f32, ragged({batch}, {2}));
  program.input("y", f32, ragged({batch}, {1}));
  const Value h = nn::linear(x, {.units = 3, .name = "l"});
  const Value some = sequence::filter(x, sum(x, {.axes = {1}}) > 0.0);
  Trainer trainer(program, {.loss = mean(h), .session = {.threads = 1}});
  const data::Dataset all = points();
  const RaggedTensor whole = trainer.predict_ragged(all.batch(kExamples), h);
  EXPECT_EQ(whole.size(), kExamples);
  EXPECT_EQ(whole.lengths(), RaggedTensor::from_feeds(all.all(), "x").lengths());
  EXPECT_TRUE(equal(trainer.predict_ragged(all.batch(7), h), whole));
  EXPECT_TRUE(equal(trainer.predict_ragged(all.batch(7), some),
                    trainer.predict_ragged(all.batch(13), some)));
  EXPECT_EQ(trainer.predict(all.batch(7), sequence::mean(h)).dim(0), kExamples);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { trainer.predict(all.batch(7), h); }),
              HasSubstr("predict_ragged() gives them"));
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { trainer.predict_ragged(all.batch(7), sequence::mean(h)); }),
      HasSubstr("not those of sequences"));
}

}  // namespace
}  // namespace trireme
