// Members that train copies of one model, as threads of this process.

#include "distributed/strategy/data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <thread>

#include "distributed/coordination/memory_store.h"
#include "trireme/trireme.h"

namespace trireme::distributed {
namespace {

constexpr std::int64_t kWidth = 5;
constexpr double kMomentum = 0.2;

// Examples [begin, end) of an endless data set.
data::Batch batch_of(std::int64_t begin, std::int64_t end) {
  std::vector<float> x, y;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < kWidth; ++j) {
      x.push_back(static_cast<float>(std::sin(static_cast<double>(i * 7 + j * 3))));
      sum += x.back();
    }
    y.push_back(sum);
    ids.push_back(i % 9);
  }
  const std::int64_t count = end - begin;
  return {{"x", Tensor::from<float>({count, kWidth}, x)},
          {"y", Tensor::from<float>({count, 1}, y)},
          {"id", Tensor::from<std::int64_t>({count}, ids)}};
}

// A small network with an embedding whose rows have a sparse gradient.
struct Model {
  Program program{"model"};
  Value x = program.input("x", f32, {batch, kWidth});
  Value y = program.input("y", f32, {batch, 1});
  Value id = program.input("id", i64, {batch});
  Value loss;
  std::optional<Trainer> trainer;

  // With `normalized`, x is normalized by its batch, and a parameter grows by one in every step.
  explicit Model(bool normalized = false) {
    if (normalized) {
      x = nn::batch_norm(x, {.momentum = kMomentum});
      const Value steps = program.parameter("steps", f32, {}, {.trainable = false});
      assign(steps, steps + 1.0);
    }
    const Value row = nn::embedding(id, {.num_embeddings = 9, .dim = 3, .sparse_gradient = true});
    const Value h = nn::linear(concat({x, row}, {.axis = 1}), {.units = 8, .activation = nn::tanh});
    loss = mean(nn::mse(nn::linear(h, {.units = 1}), y));
  }
  TrainerOptions options() const {
    return {.loss = loss, .optimizer = Momentum{.learning_rate = 0.05}, .session = {.threads = 1}};
  }
  std::vector<float> parameter(const std::string& name) {
    return trainer->session().parameter(name).cast(f32).to_vector<float>();
  }
  std::vector<float> parameters() {
    std::vector<float> all;
    for (const Value& parameter : program.parameters()) {
      const auto values = this->parameter(parameter.name().substr(1));
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
};

struct Member {
  Member(Store& store, const std::string& name, std::size_t min_members, bool normalized = false)
      : model(normalized),
        parallel(store,
                 {.group = {.prefix = "job/ring/", .name = name, .min_members = min_members},
                  .bucket_bytes = 200},
                 model.program, model.x) {
    TrainerOptions options = model.options();
    parallel.extend(options);
    model.trainer.emplace(model.program, options);
  }
  Model model;
  DataParallel parallel;
};

// The examples of all members in a step, and the share of one member. Shares differ in size.
constexpr std::int64_t kStep = 23;
data::Batch part_of(std::int64_t step, int member, int members) {
  const auto cut = [&](int i) { return kStep * i / members; };
  return batch_of(kStep * step + cut(member), kStep * step + cut(member + 1));
}

class DataParallelOf : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, DataParallelOf, ::testing::Values(1, 2, 4));

TEST_P(DataParallelOf, IsTrainingOnAllBatchesTogether) {
  const int count = GetParam();
  constexpr int kSteps = 12;
  const std::unique_ptr<Store> store = make_memory_store();
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      Member member(*store, "member_" + std::to_string(rank), static_cast<std::size_t>(count));
      member.parallel.join(*member.model.trainer);
      for (int step = 0; step < kSteps; ++step) {
        member.parallel.step(part_of(step, rank, count));
        EXPECT_EQ(member.parallel.examples(), kStep);
      }
      EXPECT_EQ(member.parallel.members(), count);
      EXPECT_EQ(member.parallel.steps(), kSteps);
      parameters[static_cast<std::size_t>(rank)] = member.model.parameters();
    });
  }
  for (std::thread& thread : threads) thread.join();
  Model alone;
  alone.trainer.emplace(alone.program, alone.options());
  for (int step = 0; step < kSteps; ++step) alone.trainer->step(part_of(step, 0, 1));
  const std::vector<float> expected = alone.parameters();
  EXPECT_THAT(parameters[0], ::testing::Pointwise(::testing::FloatNear(2e-5f), expected));
  for (const std::vector<float>& other : parameters) EXPECT_EQ(other, parameters[0]);
}

// The running statistics of batch_norm from parts of a batch, weighted by their examples.
struct Running {
  std::vector<double> mean = std::vector<double>(kWidth, 0), var = std::vector<double>(kWidth, 1);

  void learn(const std::vector<data::Batch>& parts) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(kWidth); ++j) {
      double means = 0, vars = 0, all = 0;
      for (const data::Batch& part : parts) {
        const std::vector<float> x = part.at("x").to_vector<float>();
        const auto count = static_cast<double>(x.size()) / kWidth;
        double sum = 0, squares = 0;
        for (std::size_t i = j; i < x.size(); i += kWidth) sum += x[i];
        for (std::size_t i = j; i < x.size(); i += kWidth) {
          squares += (x[i] - sum / count) * (x[i] - sum / count);
        }
        means += sum;
        vars += count * squares / (count - 1);
        all += count;
      }
      mean[j] += kMomentum * (means / all - mean[j]);
      var[j] += kMomentum * (vars / all - var[j]);
    }
  }
};

// Each member has its own batches, and one member has none. All members have the same bits, so that
// any of them can save the model.
TEST_P(DataParallelOf, RunningStatisticsAreThoseOfAll) {
  const int count = GetParam();
  constexpr int kSteps = 7;
  const std::unique_ptr<Store> store = make_memory_store();
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(count) + 1);
  std::vector<float> mean, var, steps;
  std::vector<std::thread> threads;
  for (int rank = 0; rank <= count; ++rank) {
    threads.emplace_back([&, rank] {
      Member member(*store, "member_" + std::to_string(rank), static_cast<std::size_t>(count) + 1,
                    /*normalized=*/true);
      member.parallel.join(*member.model.trainer);
      for (int step = 0; step < kSteps; ++step) {
        const bool share = rank < count;
        member.parallel.step(share ? part_of(step, rank, count) : batch_of(700, 705), share);
        EXPECT_EQ(member.parallel.examples(), kStep);
        member.parallel.step(batch_of(900 + rank, 905), /*share=*/false);
        EXPECT_EQ(member.parallel.examples(), 0) << "nothing changes";
      }
      parameters[static_cast<std::size_t>(rank)] = member.model.parameters();
      if (rank > 0) return;
      mean = member.model.parameter("batch_norm_0.running_mean");
      var = member.model.parameter("batch_norm_0.running_var");
      steps = member.model.parameter("steps");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& other : parameters) EXPECT_EQ(other, parameters[0]);
  Running expected;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<data::Batch> parts;
    for (int rank = 0; rank < count; ++rank) parts.push_back(part_of(step, rank, count));
    expected.learn(parts);
  }
  EXPECT_THAT(mean, ::testing::Pointwise(::testing::DoubleNear(1e-5), expected.mean));
  EXPECT_THAT(var, ::testing::Pointwise(::testing::DoubleNear(1e-5), expected.var));
  EXPECT_EQ(steps, std::vector<float>{kSteps});
}

// The number of steps that two members made.
void train_together(Member& member, int steps, bool share) {
  for (int together = 0; together < steps;) {
    const data::Batch own = share ? part_of(together, 0, 1) : batch_of(1000, 1003);
    member.parallel.step(own, share);
    EXPECT_EQ(member.parallel.examples(), share || member.parallel.members() == 2 ? kStep : 0);
    together += member.parallel.members() == 2 ? 1 : 0;
  }
}

TEST(DataParallelMembers, MayHaveNoBatchAndComeLate) {
  const std::unique_ptr<Store> store = make_memory_store();
  std::vector<float> early, late;
  std::barrier started(2), ended(2);
  std::thread other([&] {
    Member member(*store, "late", 1);
    started.arrive_and_wait();
    member.parallel.join(*member.model.trainer);
    train_together(member, 4, /*share=*/false);
    late = member.model.parameters();
    ended.arrive_and_wait();
  });
  {
    Member member(*store, "early", 1);
    const std::vector<float> before = member.model.parameters();
    member.parallel.join(*member.model.trainer);
    for (int step = 0; step < 3; ++step) member.parallel.step(part_of(step, 0, 1));
    started.arrive_and_wait();
    train_together(member, 4, /*share=*/true);
    early = member.model.parameters();
    EXPECT_NE(early, before);
    EXPECT_GE(member.parallel.steps(), 7);
    ended.arrive_and_wait();
  }
  other.join();
  EXPECT_EQ(early, late);
}

// While members wait for tasks, no member has a batch. Momentum must not change parameters then.
TEST(DataParallelMembers, LearnNothingWithoutExamples) {
  const std::unique_ptr<Store> store = make_memory_store();
  Member member(*store, "alone", 1);
  member.parallel.join(*member.model.trainer);
  for (int step = 0; step < 3; ++step) member.parallel.step(part_of(step, 0, 1));
  const std::vector<float> before = member.model.parameters();
  for (int step = 0; step < 5; ++step) {
    member.parallel.step(part_of(3, 0, 1), /*share=*/false);
    EXPECT_EQ(member.parallel.examples(), 0);
  }
  EXPECT_EQ(member.model.parameters(), before);
  EXPECT_EQ(member.model.trainer->steps(), 3);
  for (int step = 3; step < 6; ++step) member.parallel.step(part_of(step, 0, 1));
  Model alone;
  alone.trainer.emplace(alone.program, alone.options());
  for (int step = 0; step < 6; ++step) alone.trainer->step(part_of(step, 0, 1));
  EXPECT_THAT(member.model.parameters(),
              ::testing::Pointwise(::testing::FloatNear(2e-5f), alone.parameters()));
}

}  // namespace
}  // namespace trireme::distributed
