// Training of tables by rows: cost, size, threads, resuming, bad ids.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/testing/error.h"
#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "data/testing/files.h"
#include "ir/program.h"
#include "trireme/models.h"
#include "trireme/nn.h"
#include "trireme/saved_model.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

const RunOptions kTraining{.training = true, .updates = true};

// A click model: the sum of an example's embeddings decides.
struct Clicks {
  Program program{"clicks"};
  Value ids, loss, score;

  Clicks(std::int64_t rows, std::int64_t width, std::int64_t fields = 4) {
    ids = program.input("ids", i64, {batch, fields});
    const Value label = program.input("label", f32, {batch, 1});
    const Value x =
        nn::embedding(ids, {.num_embeddings = rows, .dim = width, .sparse_gradient = true});
    score = nn::linear(sum(x, {.axes = {1}}), {.units = 1});
    loss = mean(nn::binary_cross_entropy_with_logits(score, label));
  }
};

const std::vector<Optimizer> kOptimizers = {Sgd{}, Momentum{}, Adagrad{}, Adam{}, Ftrl{}};

std::shared_ptr<const plan::Plan> plan_of(std::int64_t rows, const Optimizer& optimizer) {
  Clicks model(rows, 16);
  minimize(model.loss, optimizer);
  const auto codegen = codegen::make_interpreter();
  return compiler::compile(model.program.ir(), {model.loss.get()}, *codegen,
                           {.training = true, .updates = true});
}

// Elements computed, bytes of the arena, and steps.
std::vector<std::int64_t> cost_of(const plan::Plan& plan) {
  const SymbolSizes sizes = {{"batch", 32}, {plan::kSeedSymbol, 0}};
  std::vector<std::int64_t> cost = {plan::place(plan, sizes).arena_bytes};
  for (const plan::Step& step : plan.steps) cost.push_back(step.work.evaluate(sizes));
  return cost;
}

TEST(Embeddings, AStepCostsTheSameWhateverTheSizeOfTheTable) {
  for (const Optimizer& optimizer : kOptimizers) {
    const auto small = plan_of(1000, optimizer), large = plan_of(1'000'000, optimizer);
    EXPECT_EQ(cost_of(*small), cost_of(*large)) << "optimizer " << optimizer.index();
    // Library kernels compute what their tensors hold; of a table only assign_rows takes part.
    for (const plan::Step& step : large->steps) {
      if (step.library.kernel.empty() || step.library.kernel == "assign_rows") continue;
      for (const int buffer : step.buffers) {
        const Shape& shape = large->buffers[static_cast<std::size_t>(buffer)].shape;
        EXPECT_FALSE(!shape.empty() && shape[0] == Dim(1'000'000)) << step.name;
      }
    }
  }
}

// Some 1000 different ids; an example is a click where most of its ids are odd.
Feeds random_feeds(std::int64_t rows, std::int64_t examples, std::int64_t fields, unsigned seed) {
  std::mt19937 random(seed);
  Tensor ids(i64, {examples, fields}), label(f32, {examples, 1});
  for (std::int64_t i = 0; i < examples * fields; ++i) {
    ids.data<std::int64_t>()[i] = static_cast<std::int64_t>(random() % 1000) * 997 % rows;
  }
  for (std::int64_t i = 0; i < examples; ++i) {
    const std::int64_t* own = ids.data<std::int64_t>() + i * fields;
    const auto odd = std::count_if(own, own + fields, [](std::int64_t id) { return id % 2 == 1; });
    label.data<float>()[i] = 2 * odd > fields ? 1 : 0;
  }
  return {{"ids", ids}, {"label", label}};
}

TEST(Embeddings, AMillionRowsTrain) {
  constexpr std::int64_t kRows = 1'000'000, kWidth = 16;
  Clicks model(kRows, kWidth);
  minimize(model.loss, Adam{.learning_rate = 0.02});
  Session session(model.program, {.threads = 2});
  const Tensor before = session.parameter("embedding_0.weight");
  std::vector<bool> touched(kRows, false);
  float first = 0, last = 0;
  for (unsigned step = 0; step < 60; ++step) {
    const Feeds feeds = random_feeds(kRows, 512, 4, step);
    const Tensor& ids = feeds.at("ids");
    for (std::int64_t i = 0; i < ids.elements(); ++i) {
      touched[static_cast<std::size_t>(ids.data<std::int64_t>()[i])] = true;
    }
    last = session.run(feeds, {model.loss}, kTraining)[0].item<float>();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, 0.5f * first);
  const Tensor after = session.parameter("embedding_0.weight");
  const Tensor m = session.parameter("embedding_0.weight.adam_m");
  const std::vector<float> zeros(kWidth);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto equals = [&](const Tensor& tensor, const float* values) {
      return std::memcmp(tensor.data<float>() + row * kWidth, values, kWidth * sizeof(float)) == 0;
    };
    const bool same = equals(after, before.data<float>() + row * kWidth);
    const bool rests = equals(m, zeros.data());
    wrong += same == touched[static_cast<std::size_t>(row)] || rests != same;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Embeddings, DoNotDependOnThreadsPlacesOrFusion) {
  for (const Optimizer& optimizer : kOptimizers) {
    const auto weights = [&](const SessionOptions& options) {
      Clicks model(5000, 24, 26);
      minimize(model.loss, optimizer);
      Session session(model.program, options);
      for (unsigned step = 0; step < 5; ++step) {
        session.run(random_feeds(5000, 300, 26, step), {}, kTraining);
      }
      return session.parameter("embedding_0.weight").to_vector<float>();
    };
    const std::vector<float> one = weights({.threads = 1});
    EXPECT_EQ(one, weights({.threads = 2})) << "optimizer " << optimizer.index();
    EXPECT_EQ(one, weights({.threads = 1, .plan_memory = false}));
    EXPECT_THAT(weights({.threads = 1, .fuse = false}),
                testing::Pointwise(testing::FloatNear(1e-5f), one));
  }
}

TEST(Embeddings, OfASharedTableLearnFromAllTheirLookups) {
  Program program;
  const Value a = program.input("a", i64, {batch}), b = program.input("b", i64, {batch});
  const Value table = program.parameter("table", f32, {50, 3}, {.initializer = nn::normal()});
  const auto look_up = [&](const Value& ids) {
    return gather(table, check_indices(ids, {.size = 50}), {.sparse_gradient = true});
  };
  minimize(mean(nn::mse(look_up(a), look_up(b))), Sgd{.learning_rate = 0.25});
  Session session(program, {.threads = 1});
  const std::vector<float> before = session.parameter("table").to_vector<float>();
  session.run(
      {{"a", Tensor::from<std::int64_t>({1}, {7})}, {"b", Tensor::from<std::int64_t>({1}, {9})}},
      {}, kTraining);
  const std::vector<float> after = session.parameter("table").to_vector<float>();
  for (std::size_t j = 0; j < 3; ++j) {
    const float apart = before[7 * 3 + j] - before[9 * 3 + j];
    EXPECT_NEAR(after[7 * 3 + j], before[7 * 3 + j] - 0.25f * 2 / 3 * apart, 1e-6f);
    EXPECT_NEAR(after[9 * 3 + j], before[9 * 3 + j] + 0.25f * 2 / 3 * apart, 1e-6f);
  }
}

TEST(Embeddings, NameIdsThatTheyDoNotHave) {
  Clicks model(10, 3, 2);
  minimize(model.loss, Adam{});
  Session session(model.program, {.threads = 1});
  Feeds feeds = {{"ids", Tensor::from<std::int64_t>({2, 2}, {0, 9, 10, 3})},
                 {"label", Tensor(f32, {2, 1})}};
  const auto before = session.parameter("embedding_0.weight").to_vector<float>();
  for (const RunOptions& mode : {kTraining, RunOptions{}}) {
    const std::string error =
        error_of(ErrorKind::data, [&] { session.run(feeds, {model.score}, mode); });
    EXPECT_THAT(error, HasSubstr("index 10 at [1, 0] is outside [0, 10): there are 10 rows"));
    EXPECT_THAT(error, HasSubstr("embedding_test.cc"));
    EXPECT_THAT(error, HasSubstr("embedding_0"));
  }
  EXPECT_EQ(session.parameter("embedding_0.weight").to_vector<float>(), before);
  feeds["ids"].data<std::int64_t>()[2] = -1;
  EXPECT_THAT(error_of(ErrorKind::data, [&] { session.run(feeds, {model.score}); }),
              HasSubstr("index -1 at [1, 0]"));
}

// A model of two fields of 200 ids each; what it makes of an id of each.
std::vector<float> scores(DType dtype, const std::vector<std::int64_t>& a,
                          const std::vector<std::int64_t>& b) {
  Program program("fields");
  const Value first = program.input("a", dtype, {batch}),
              second = program.input("b", dtype, {batch});
  const Value score =
      models::wide_and_deep({{first, 200}, {second, 200}}, {}, {.crosses = {{0, 1}}});
  Session session(program, {.threads = 1, .seed = 5});
  Tensor weights(f32, {400 + 200 * 200, 1});
  for (std::int64_t i = 0; i < weights.elements(); ++i) {
    weights.data<float>()[i] = static_cast<float>(i);
  }
  session.set_parameter("wide_and_deep_0/embedding_0.weight", weights);
  const auto column = [&](const std::vector<std::int64_t>& ids) {
    return Tensor::from<std::int64_t>({static_cast<std::int64_t>(ids.size())}, ids).cast(dtype);
  };
  return session.run({{"a", column(a)}, {"b", column(b)}}, {score})[0].to_vector<float>();
}

TEST(Fields, NameIdsThatTheyDoNotHave) {
  const std::string above =
      error_of(ErrorKind::data, [] { scores(i64, {0, 199, 3}, {1, 2, 200}); });
  EXPECT_THAT(above, HasSubstr("index 200 at [2] is outside [0, 200): there are 200 rows"));
  EXPECT_THAT(above, HasSubstr("wide_and_deep_0/field_1"));
  EXPECT_THAT(above, HasSubstr("embedding_test.cc"));
  const std::string below = error_of(ErrorKind::data, [] { scores(i64, {0, -1}, {1, 2}); });
  EXPECT_THAT(below, HasSubstr("index -1 at [1]"));
  EXPECT_THAT(below, HasSubstr("wide_and_deep_0/field_0"));
}

// Joined and crossed ids are larger than those of a field.
TEST(Fields, OfNarrowIdsDoNotOverflow) {
  const std::vector<std::int64_t> a = {0, 199, 120}, b = {199, 3, 101};
  EXPECT_EQ(scores(u8, a, b), scores(i64, a, b));
  EXPECT_EQ(scores(i32, a, b), scores(i64, a, b));
}

class EmbeddingFolders : public testing::Test {
 protected:
  const data::TestDirectory directory_;
  const std::string& folder_ = directory_.path();
};

struct Pupil {
  Clicks model{3000, 8};
  Trainer trainer{model.program,
                  {.loss = model.loss, .optimizer = Adam{}, .session = {.threads = 2}}};
  data::Batches batches = data::from_tensors(random_feeds(3000, 200, 4, 1)).shuffle(5).batch(16);

  void fit(int epochs, std::int64_t most = 0) {
    FitOptions options{.epochs = epochs, .progress = false};
    if (most > 0) options.max_steps = most;
    trainer.fit(batches, options);
  }
  std::vector<std::vector<float>> all() {
    std::vector<std::vector<float>> values;
    for (const char* suffix : {"", ".adam_m", ".adam_v"}) {
      const std::string name = std::string("embedding_0.weight") + suffix;
      values.push_back(trainer.session().parameter(name).to_vector<float>());
    }
    return values;
  }
};

TEST_F(EmbeddingFolders, TrainingResumesToTheBit) {
  Pupil whole, first, second;
  whole.fit(3);
  first.fit(3, 17);
  first.trainer.save_checkpoint(folder_ + "/saved");
  second.trainer.resume(folder_ + "/saved");
  second.fit(3);
  EXPECT_EQ(second.all(), whole.all());
}

TEST_F(EmbeddingFolders, ASavedModelNamesBadIdsToo) {
  Pupil pupil;
  pupil.fit(1);
  pupil.trainer.save(folder_ + "/clicks",
                     {.inputs = {pupil.model.ids}, .outputs = {pupil.model.score}});
  Model model = load_model(folder_ + "/clicks");
  const std::string error = error_of(ErrorKind::data, [&] {
    model.predict({{"ids", Tensor::from<std::int64_t>({1, 4}, {0, 1, 2, 3000})}});
  });
  EXPECT_THAT(error, HasSubstr("index 3000 at [0, 3] is outside [0, 3000)"));
}

}  // namespace
}  // namespace trireme
