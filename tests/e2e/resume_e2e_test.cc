// Training in one go against training in pieces: the same bits.

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <utility>

#include "../command.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kExamples = 100, kBatch = 16, kBatches = 7;

// Noise with labels: there is something to learn, and never the end of it.
data::Dataset points(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 1);
  Tensor x(f32, {kExamples, 6}), label(i64, {kExamples});
  for (std::int64_t i = 0; i < kExamples; ++i) {
    label.data<std::int64_t>()[i] = i % 3;
    for (std::int64_t j = 0; j < 6; ++j) {
      x.data<float>()[i * 6 + j] = noise(random) + (j == i % 3 ? 1.0f : 0.0f);
    }
  }
  return data::from_tensors({{"x", x}, {"label", label}});
}

struct Choice {
  Optimizer optimizer;
  int threads;
};

// A network with all that has state: dropout, batch_norm, an optimizer and its schedule.
struct Pupil {
  Program program{"net"};
  std::unique_ptr<Trainer> trainer;
  data::Batches train = points(1).shuffle(3).batch(kBatch);
  data::Batches validation = points(2).batch(32);

  explicit Pupil(const Choice& choice, std::int64_t units = 8) {
    const Value x = program.input("x", f32, {batch, 6});
    const Value label = program.input("label", i64, {batch});
    Value h = nn::batch_norm(nn::linear(x, {.units = units}));
    h = nn::dropout(nn::relu(h), {.rate = 0.3});
    const Value logits = nn::linear(h, {.units = 3});
    trainer = std::make_unique<Trainer>(
        program, TrainerOptions{.loss = mean(nn::cross_entropy(logits, label)),
                                .optimizer = choice.optimizer,
                                .metrics = {accuracy(logits, label), f1(logits, label)},
                                .session = {.threads = choice.threads}});
  }

  // Every parameter's bytes, the optimizer's among them.
  std::map<std::string, std::string> bits() {
    std::map<std::string, std::string> bits;
    for (const Value& parameter : program.parameters()) {
      const Tensor value = trainer->session().parameter(parameter.name().substr(1));
      bits[parameter.name()] = {reinterpret_cast<const char*>(value.bytes()), value.size_bytes()};
    }
    return bits;
  }
};

const Choice kMomentum{Momentum{.learning_rate = Schedule::cosine(0.1, 30).warmup(5)}, 1};
const Choice kAdam{Adam{.learning_rate = Schedule::step_decay(0.02, 10, 0.5)}, 1};

class Resume : public InFolder {
 protected:
  FitOptions options(int epochs) const { return {.epochs = epochs, .progress = false}; }
};

TEST_F(Resume, InPiecesGivesTheBitsOfOneGo) {
  std::mt19937 random(7);
  int number = 0;
  for (Choice choice : {kMomentum, kAdam}) {
    for (const int threads : {1, 2}) {
      choice.threads = threads;
      Pupil whole(choice);
      FitOptions fit = options(4);
      fit.validation = &whole.validation;
      const Metrics measured = whole.trainer->fit(whole.train, fit);

      const std::string folder = path("run" + std::to_string(number++));
      std::int64_t step = 0;
      Metrics last;
      for (int pieces = 0; step < 4 * kBatches; ++pieces) {
        step += 1 + static_cast<std::int64_t>(random() % 6);
        choice.threads = 1 + pieces % 2;
        Pupil piece(choice);
        fit.validation = &piece.validation;
        fit.checkpoint.directory = folder;
        fit.resume = true;
        fit.max_steps = step;
        last = piece.trainer->fit(piece.train, fit);
        if (step >= 4 * kBatches) {
          EXPECT_EQ(piece.bits(), whole.bits());
          EXPECT_EQ(piece.trainer->steps(), 4 * kBatches);
        }
      }
      // What the last epoch measured, although other processes read parts of it.
      EXPECT_EQ(last["loss"], measured["loss"]);
      EXPECT_EQ(last["accuracy"], measured["accuracy"]);
      EXPECT_EQ(last.examples(), kExamples);
    }
  }
}

TEST_F(Resume, AtEveryStepOfAnEpochByName) {
  Pupil whole(kAdam);
  whole.trainer->fit(whole.train, options(2));
  for (std::int64_t step = 1; step <= kBatches + 1; ++step) {
    Pupil first(kAdam), second(kAdam);
    FitOptions fit = options(2);
    fit.max_steps = step;
    first.trainer->fit(first.train, fit);
    first.trainer->save_checkpoint(path("saved"));  // replaces the one before
    second.trainer->resume(path("saved"));
    second.trainer->fit(second.train, options(2));
    EXPECT_EQ(second.bits(), whole.bits()) << step;
  }
}

TEST_F(Resume, StopIsAskedAfterEveryStepAndSaves) {
  Pupil whole(kMomentum);
  whole.trainer->fit(whole.train, options(3));
  FitOptions fit = options(3);
  fit.run = path("run");
  fit.resume = true;
  int asked = 0;
  fit.stop = [&] { return ++asked % 5 == 0; };
  for (int pieces = 0; pieces < 5; ++pieces) {
    Pupil piece(kMomentum);
    piece.trainer->fit(piece.train, fit);
    EXPECT_EQ(piece.trainer->steps(), std::min<std::int64_t>(5 * (pieces + 1), 3 * kBatches));
    if (pieces == 4) {
      EXPECT_EQ(piece.bits(), whole.bits());
    }
  }
}

TEST_F(Resume, KeepsTheLastAndTheBest) {
  Pupil run(kAdam);
  FitOptions fit = options(6);
  fit.run = path("run");
  fit.validation = &run.validation;
  fit.evaluate_every = 3;
  fit.checkpoint.keep = 2;
  fit.checkpoint.every_steps = 4;
  // The largest loss, which comes early: so that keeping it is not keeping the newest.
  fit.checkpoint.best = {"loss", true};
  double best = 0;
  std::int64_t best_step = 0;
  fit.after_evaluation = [&](std::int64_t step, const Metrics& metrics) {
    if (metrics["loss"] <= best) return;
    best = metrics["loss"];
    best_step = step;
  };
  run.trainer->fit(run.train, fit);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path("run/checkpoints"))) {
    names.push_back(entry.path().filename().string());
  }
  char expected[64];
  std::snprintf(expected, sizeof expected, "checkpoint-%09d", static_cast<int>(best_step));
  EXPECT_LT(best_step, 40);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("checkpoint-000000042", "checkpoint-000000040",
                                                     std::string(expected), "lock"));

  // The best one is the parameters that were measured as the best.
  Pupil again(kAdam);
  again.trainer->resume(path("run/checkpoints/") + expected);
  EXPECT_EQ(again.trainer->evaluate(again.validation)["loss"], best);
}

TEST_F(Resume, EarlyStoppingEndsTrainingAndStaysEnded) {
  Pupil run(kAdam);
  FitOptions fit = options(200);
  fit.run = path("run");
  fit.validation = &run.validation;
  fit.early_stopping = {.watch = {"accuracy", true}, .patience = 3, .min_delta = 0.01};
  std::vector<double> seen;
  fit.after_epoch = [&](const EpochReport& report) {
    seen.push_back(report.validation["accuracy"]);
    return true;
  };
  run.trainer->fit(run.train, fit);
  // By the definition: the first moment at which three in a row did not gain.
  double best = seen[0];
  int waited = 0;
  std::size_t end = 1;
  for (; end < seen.size() && waited < 3; ++end) {
    if (seen[end] > best + 0.01) {
      best = seen[end];
      waited = 0;
    } else {
      ++waited;
    }
  }
  EXPECT_EQ(waited, 3);
  EXPECT_EQ(seen.size(), end);
  Pupil again(kAdam);
  fit.validation = &again.validation;
  fit.resume = true;
  const std::size_t before = seen.size();
  again.trainer->fit(again.train, fit);
  EXPECT_EQ(seen.size(), before);
  EXPECT_EQ(again.bits(), run.bits());
}

TEST_F(Resume, EarlyStoppingInPiecesStopsAtTheSameStep) {
  FitOptions fit = options(100);
  fit.evaluate_every = 2;
  fit.early_stopping = {.watch = {"loss"}, .patience = 6};
  Pupil whole(kMomentum);
  fit.validation = &whole.validation;
  whole.trainer->fit(whole.train, fit);
  ASSERT_LT(whole.trainer->steps(), 100 * kBatches);
  fit.run = path("run");
  fit.resume = true;
  fit.checkpoint.best = {"accuracy", true};
  int asked = 0;
  fit.stop = [&] { return ++asked % 5 == 0; };
  std::int64_t before = -1, now = 0;
  while (now != before) {
    Pupil piece(kMomentum);
    fit.validation = &piece.validation;
    piece.trainer->fit(piece.train, fit);
    before = std::exchange(now, piece.trainer->steps());
    if (now == before) {
      EXPECT_EQ(piece.bits(), whole.bits());
    }
  }
  EXPECT_EQ(now, whole.trainer->steps());
}

TEST_F(Resume, CheckpointsByTime) {
  Pupil run(kAdam);
  FitOptions fit = options(1);
  fit.checkpoint = {
      .directory = path("all"), .every_epoch = false, .every_seconds = 1e-9, .keep = 0};
  run.trainer->fit(run.train, fit);
  for (std::int64_t step = 1; step <= kBatches; ++step) {
    EXPECT_TRUE(std::filesystem::exists(path("all/checkpoint-00000000" + std::to_string(step))));
  }
  std::filesystem::remove_all(path("all"));
  fit.checkpoint.every_seconds = 3600;
  fit.checkpoint.every_epoch = false;
  Pupil again(kAdam);
  again.trainer->fit(again.train, fit);  // only at the end
  EXPECT_FALSE(std::filesystem::exists(path("all/checkpoint-000000001")));
  EXPECT_TRUE(std::filesystem::exists(path("all/checkpoint-000000007")));
}

TEST_F(Resume, ADamagedCheckpointFallsBackToTheOneBefore) {
  Pupil whole(kAdam);
  whole.trainer->fit(whole.train, options(3));
  FitOptions fit = options(3);
  fit.run = path("run");
  {
    Pupil run(kAdam);
    fit.max_steps = 17;
    run.trainer->fit(run.train, fit);
  }
  const std::string newest = path("run/checkpoints/checkpoint-000000017/parameters.safetensors");
  std::string bytes = read(newest);
  bytes[bytes.size() / 2] ^= 4;
  write(newest, bytes);
  Pupil run(kAdam);
  fit.max_steps = 0;
  fit.resume = true;
  ::testing::internal::CaptureStderr();
  run.trainer->fit(run.train, fit);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("warning: " + newest + " is damaged"));
  EXPECT_THAT(said, HasSubstr("going on from " + path("run/checkpoints/checkpoint-000000014")));
  EXPECT_EQ(run.bits(), whole.bits());
}

TEST_F(Resume, RefusesWhatIsNotItsOwn) {
  Pupil run(kAdam);
  run.trainer->save_checkpoint(path("saved"));
  const auto resumed = [&](Pupil& other) {
    return error_of([&] { other.trainer->resume(path("saved")); });
  };
  Pupil wider(kAdam, 12), momentum(kMomentum);
  EXPECT_THAT(resumed(wider), HasSubstr("f32[6, 8] there and f32[6, 12] here"));
  EXPECT_THAT(resumed(momentum), HasSubstr("another model"));
  Pupil other_rate({Adam{.learning_rate = Schedule::step_decay(0.02, 11, 0.5)}, 1});
  EXPECT_THAT(resumed(other_rate), HasSubstr("the parameters are the same, but the ops are not"));
  const std::map<std::string, std::string> before = Pupil(kAdam).bits();
  Pupil same(kAdam);
  EXPECT_EQ(resumed(same), "no error");
  EXPECT_EQ(same.bits(), before);

  FitOptions fit = options(1);
  run.trainer->fit(run.train, fit);
  run.trainer->save_checkpoint(path("saved"));
  EXPECT_EQ(resumed(same), "no error");
  EXPECT_THAT(error_of([&] { same.trainer->fit(points(1).batch(20), fit); }),
              HasSubstr("100 examples in batches of 16, and the data given now are 100 in batches "
                        "of 20"));
  EXPECT_THAT(error_of([&] { same.trainer->resume(path("nothing")); }), HasSubstr("no folder"));
  EXPECT_THAT(error_of([&] { same.trainer->resume(folder_ + "/.."); }),
              HasSubstr("holds no checkpoint"));

  fit.run = path("run");
  Pupil one(kAdam), two(kAdam);
  one.trainer->fit(one.train, fit);
  EXPECT_THAT(error_of([&] { two.trainer->fit(two.train, fit); }),
              HasSubstr("holds checkpoints of an earlier run"));
  fit.run = path("run2");
  std::string refusal;
  fit.after_step = [&](std::int64_t step, double) {
    if (step != 1) return;
    Pupil third(kAdam);
    FitOptions same_folder = options(1);
    same_folder.run = path("run2");
    refusal = error_of([&] { third.trainer->fit(third.train, same_folder); });
  };
  Pupil third(kAdam);
  third.trainer->fit(third.train, fit);
  EXPECT_THAT(refusal, HasSubstr("run2 is in use by another training run"));
}

}  // namespace
}  // namespace trireme::testing
