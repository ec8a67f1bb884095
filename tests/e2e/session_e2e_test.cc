// Session and Trainer through the public API, on made-up data with known answers.

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "../command.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

// Points of three classes around three centers.
data::Dataset points(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 0.5f);
  Tensor x(f32, {n, 4}), label(i64, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t k = i % 3;
    label.data<std::int64_t>()[i] = k;
    for (std::int64_t j = 0; j < 4; ++j) {
      x.data<float>()[i * 4 + j] = noise(random) + (j == k ? 2.0f : 0.0f);
    }
  }
  return data::from_tensors({{"x", x}, {"label", label}});
}

struct Net {
  Program program{"net"};
  Value x, label, logits, loss;
  explicit Net(double dropout = 0) {
    x = program.input("x", f32, {batch, 4});
    label = program.input("label", i64, {batch});
    Value h = nn::linear(x, {.units = 16, .activation = nn::relu});
    if (dropout > 0) h = nn::dropout(h, {.rate = dropout});
    logits = nn::linear(h, {.units = 3});
    loss = mean(nn::cross_entropy(logits, label));
  }
  TrainerOptions options() const {
    return {.loss = loss,
            .optimizer = Adam{.learning_rate = 0.01},
            .metrics = {accuracy(logits, label), confusion_matrix(logits, label)}};
  }
};

std::vector<float> weights_after(TrainerOptions options, Net& net, int epochs = 3) {
  Trainer trainer(net.program, std::move(options));
  trainer.fit(points(300, 1).shuffle(3).batch(32), {.epochs = epochs, .progress = false});
  return trainer.session().parameter("linear_0.weight").to_vector<float>();
}

TEST(Training, LearnsAndCountsWhatItPredicts) {
  Net net;
  Trainer trainer(net.program, net.options());
  const data::Dataset test = points(100, 2);
  const Metrics before = trainer.evaluate(test.batch(32));
  trainer.fit(points(600, 1).shuffle(3).batch(32), {.epochs = 20, .progress = false});
  const Metrics after = trainer.evaluate(test.batch(32));
  EXPECT_LT(after["loss"], before["loss"] / 2);
  EXPECT_GT(after["accuracy"], 0.95);
  EXPECT_EQ(after.examples(), 100);

  // Metrics of batches of 32, 32, 32 and 4 against a count of all 100 on the host.
  const Tensor logits = trainer.predict(test.batch(33), net.logits);
  ASSERT_EQ(logits.shape(), (std::vector<std::int64_t>{100, 3}));
  const Tensor labels = test.all().at("label");
  std::vector<double> confusion(9);
  double right = 0, loss = 0;
  for (int i = 0; i < 100; ++i) {
    const float* row = logits.data<float>() + i * 3;
    const std::int64_t truth = labels.data<std::int64_t>()[i];
    const std::int64_t best = std::max_element(row, row + 3) - row;
    confusion[static_cast<std::size_t>(truth * 3 + best)] += 1;
    right += best == truth;
    double sum = 0;
    for (int j = 0; j < 3; ++j) sum += std::exp(static_cast<double>(row[j]));
    loss += std::log(sum) - static_cast<double>(row[truth]);
  }
  EXPECT_NEAR(after["accuracy"], right / 100, 1e-6);
  EXPECT_NEAR(after["loss"], loss / 100, 1e-5);
  EXPECT_EQ(after.tensor("confusion").to_vector<double>(), confusion);
}

TEST(Training, TopKCountsLabelsAmongTheLargest) {
  Program program("p");
  Value logits = program.input("logits", f32, {batch, 4});
  Value label = program.input("label", i64, {batch});
  const Metric top1 = top_k_accuracy(logits, label, 1), top2 = top_k_accuracy(logits, label, 2),
               top4 = top_k_accuracy(logits, label, 4);
  Session session(program);
  const std::vector<Tensor> out =
      session.run({{"logits", Tensor::from<float>({3, 4}, {1, 2, 3, 4, 4, 3, 2, 1, 0, 9, 1, 5})},
                   {"label", Tensor::from<std::int64_t>({3}, {3, 1, 2})}},
                  {top1.value, top2.value, top4.value});
  EXPECT_FLOAT_EQ(out[0].item<float>(), 1.0f / 3);
  EXPECT_FLOAT_EQ(out[1].item<float>(), 2.0f / 3);
  EXPECT_FLOAT_EQ(out[2].item<float>(), 1.0f);
}

TEST(Training, ChecksAndChoicesDoNotChangeTheBits) {
  Net plain(0.25), unplanned(0.25), two(0.25);
  const std::vector<float> weights = weights_after(plain.options(), plain);
  TrainerOptions options = unplanned.options();
  options.session.plan_memory = false;
  EXPECT_EQ(weights_after(options, unplanned), weights) << "without memory planning";
  options = two.options();
  options.session.threads = 2;
  EXPECT_EQ(weights_after(options, two), weights) << "with two threads";
}

TEST(Training, TheInterpreterAndUnfusedKernelsAgree) {
  Net plain(0.25), interpreted(0.25), unfused(0.25);
  const std::vector<float> weights = weights_after(plain.options(), plain, 1);
  TrainerOptions options = interpreted.options();
  options.session.interpreter = true;
  const std::vector<float> by_interpreter = weights_after(options, interpreted, 1);
  options = unfused.options();
  options.session.fuse = false;
  const std::vector<float> by_op = weights_after(options, unfused, 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(by_interpreter[i], weights[i], 1e-5) << i;
    EXPECT_NEAR(by_op[i], weights[i], 1e-5) << i;
  }
}

TEST(Training, DropoutDiffersFromStepToStepAndCanBeRepeated) {
  Program program("p");
  Value x = program.input("x", f32, {batch, 8});
  Value y = nn::dropout(x, {.rate = 0.5});
  Session session(program);
  const Feeds feeds{{"x", Tensor::from<float>({2, 8}, std::vector<float>(16, 1.0f))}};
  const auto once = session.run(feeds, {y}, {.training = true})[0].to_vector<float>();
  const auto twice = session.run(feeds, {y}, {.training = true})[0].to_vector<float>();
  EXPECT_NE(once, twice);
  session.set_step(0);
  EXPECT_EQ(session.run(feeds, {y}, {.training = true})[0].to_vector<float>(), once);
  EXPECT_EQ(session.run(feeds, {y})[0].to_vector<float>(), std::vector<float>(16, 1.0f));
}

TEST(Sessions, OnePlanServesAllBatchSizes) {
  Net net;
  Session session(net.program);
  int kernels = -1;
  for (const std::int64_t n : {1, 7, 64, 100, 0, 7}) {
    const data::Batch feeds = points(std::max<std::int64_t>(n, 1), 5).rows(0, n);
    const Tensor logits = session.run({{"x", feeds.at("x")}}, {net.logits})[0];
    EXPECT_EQ(logits.shape(), (std::vector<std::int64_t>{n, 3}));
    const SessionStatistics statistics = session.statistics();
    EXPECT_EQ(statistics.plans, 1);
    if (kernels >= 0) {
      EXPECT_EQ(statistics.kernels_compiled + statistics.kernels_cached, kernels);
    }
    kernels = statistics.kernels_compiled + statistics.kernels_cached;
  }
}

TEST(Sessions, KeepTheirProgramAlive) {
  std::optional<Session> session;
  std::optional<Trainer> trainer;
  Value y;
  {
    Program program("short");
    const Value x = program.input("x", f32, {batch, 2});
    y = nn::linear(x, {.units = 1});
    session.emplace(program);
    trainer.emplace(program,
                    TrainerOptions{.loss = mean(y * y), .optimizer = Sgd{.learning_rate = 0.1}});
    Program moved = std::move(program);
    const auto scope = moved.scope("open");
  }
  const Feeds feeds{{"x", Tensor::from<float>({1, 2}, {1, 2})}};
  EXPECT_EQ(session->run(feeds, {y})[0].elements(), 1);
  const double first = trainer->step(feeds);
  EXPECT_LT(trainer->step(feeds), first);
  EXPECT_EQ(y.dtype(), f32);
}

TEST(Sessions, ResultsBelongToTheCaller) {
  Program program("p");
  Value x = program.input("x", f32, {batch});
  Value y = x * 2.0;
  Session session(program);
  const Tensor first = session.run({{"x", Tensor::from<float>({2}, {1, 2})}}, {y})[0];
  const Tensor second = session.run({{"x", Tensor::from<float>({2}, {5, 6})}}, {y})[0];
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(second.to_vector<float>(), (std::vector<float>{10, 12}));
}

TEST(Sessions, WrongFeedsAreTold) {
  Net net;
  Session session(net.program);
  const auto run = [&](const Feeds& feeds) { session.run(feeds, {net.loss}); };
  const Tensor x(f32, {3, 4}), label(i64, {3});
  fails(ErrorKind::usage, "input \"label\" : i64[batch] is needed", [&] { run({{"x", x}}); });
  fails(ErrorKind::usage, "did you mean \"label\"?", [&] { run({{"x", x}, {"lable", label}}); });
  fails(ErrorKind::usage, "convert it: tensor.cast(trireme::i64)",
        [&] { run({{"x", x}, {"label", Tensor(i32, {3})}}); });
  fails(ErrorKind::usage, "axis 1 must be 4",
        [&] { run({{"x", Tensor(f32, {3, 5})}, {"label", label}}); });
  fails(ErrorKind::usage, "batch is 3 here, but 2 in feed \"label\"",
        [&] { run({{"x", x}, {"label", Tensor(i64, {2})}}); });
  fails(ErrorKind::usage, "needs axis 0 of size 1",
        [&] { run({{"x", Tensor(f32, {4})}, {"label", label}}); });
  fails(ErrorKind::not_found, "did you mean \"linear_0.bias\"?",
        [&] { session.parameter("linear_0.bais"); });
  fails(ErrorKind::usage, "but the value given is f32[3]",
        [&] { session.set_parameter("linear_0.bias", Tensor(f32, {3})); });
}

TEST(Sessions, ParametersCanBeReadAndSet) {
  Net net;
  Session session(net.program), other(net.program), seeded(net.program, {.seed = 2});
  const Tensor first = session.parameter("linear_0.weight");
  EXPECT_TRUE(equal(first, other.parameter("linear_0.weight"))) << "the seed decides";
  EXPECT_FALSE(equal(first, seeded.parameter("linear_0.weight")));
  session.set_parameter("linear_1.weight", Tensor(f32, {16, 3}));
  const Tensor logits = session.run({{"x", Tensor(f32, {1, 4})}}, {net.logits})[0];
  EXPECT_EQ(logits.to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Training, NaNIsTracedToItsLayer) {
  Program program("p");
  Value x = program.input("x", f32, {batch, 4});
  Value label = program.input("label", i64, {batch});
  Value h = nn::linear(x, {.units = 8, .name = "first"});
  {
    const Program::Scope scope = program.scope("culprit");
    h = log(h * h - 1e6);
  }
  Value logits = nn::linear(h, {.units = 3, .name = "last"});
  Trainer trainer(program, {.loss = mean(nn::cross_entropy(logits, label)),
                            .optimizer = Sgd{.learning_rate = 0.1},
                            .trace_nan = true});
  fails(ErrorKind::numeric, "culprit",
        [&] { trainer.fit(points(64, 1).batch(32), {.epochs = 1, .progress = false}); });
}

class Saving : public InFolder {};

TEST_F(Saving, ASavedModelPredictsTheSame) {
  Net net(0.5);
  Trainer trainer(net.program, net.options());
  trainer.fit(points(300, 1).batch(32), {.epochs = 2, .progress = false});
  const Value scores = softmax(net.logits);
  trainer.save(path("model"), {.inputs = {net.x},
                               .outputs = {scores},
                               .output_names = {"scores"},
                               .labels = {"a", "b", "c"},
                               .target = "label"});
  const data::Dataset test = points(50, 4);
  const Tensor expected = trainer.predict(test.batch(50), scores);

  Model model = load_model(path("model"));
  EXPECT_EQ(model.labels(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.outputs()[0].name, "scores");
  EXPECT_EQ(model.target(), "label");
  EXPECT_TRUE(equal(model.predict({{"x", test.all().at("x")}})[0], expected));
  // Nothing of training is left.
  const std::string text = model.program().str();
  EXPECT_EQ(text.find("assign"), std::string::npos);
  EXPECT_EQ(text.find("random"), std::string::npos);
  EXPECT_EQ(text.find("adam"), std::string::npos);
  EXPECT_EQ(text.find("label"), std::string::npos);
  EXPECT_EQ(model.program().parameters().size(), 4u);

  // Saving again replaces it.
  trainer.fit(points(300, 1).batch(32), {.epochs = 1, .progress = false});
  trainer.save(path("model/"), {.outputs = {scores}});
  EXPECT_FALSE(equal(load_model(path("model")).predict({{"x", test.all().at("x")}})[0], expected));
}

TEST_F(Saving, InputsThatAreNotListedAreTold) {
  Net net;
  Session session(net.program);
  fails(ErrorKind::usage, "the outputs need input \"label\"", [&] {
    save_model(net.program, session, path("model"), {.inputs = {net.x}, .outputs = {net.loss}});
  });
  fails(ErrorKind::usage, ".outputs is empty",
        [&] { save_model(net.program, session, path("model"), {}); });
  EXPECT_FALSE(std::filesystem::exists(path("model")));
}

// docs/how-to/training.md says when each is called.
TEST(Training, CallbacksComeInTheirOrder) {
  Net net;
  Trainer trainer(net.program, net.options());
  const data::Batches held_out = points(50, 2).batch(32);
  std::string order;
  std::vector<double> accuracies;
  FitOptions fit{.epochs = 5, .progress = false, .validation = &held_out, .evaluate_every = 2};
  fit.after_step = [&](std::int64_t step, double loss) {
    EXPECT_TRUE(std::isfinite(loss));
    order += std::to_string(step) + " ";
  };
  fit.after_evaluation = [&](std::int64_t step, const Metrics& metrics) {
    order += "evaluation@" + std::to_string(step) + " ";
    accuracies.push_back(metrics["accuracy"]);
    EXPECT_EQ(trainer.evaluate(held_out)["accuracy"], metrics["accuracy"]);
  };
  fit.after_epoch = [&](const EpochReport& report) {
    order += "epoch" + std::to_string(report.epoch) + " ";
    EXPECT_EQ(report.validation["accuracy"], accuracies.back());
    return report.epoch < 2;
  };
  trainer.fit(points(96, 1).batch(32), fit);
  EXPECT_EQ(order,
            "1 2 evaluation@2 3 evaluation@3 epoch1 4 evaluation@4 5 6 evaluation@6 epoch2 ");

  int asked = 0;
  trainer.fit(points(96, 1).batch(32),
              {.epochs = 5, .progress = false, .stop = [&] { return ++asked == 4; }});
  EXPECT_EQ(trainer.steps(), 6 + 4);
}

// The metrics of one's own of docs/how-to/training.md.
TEST(Training, MetricsOfOnesOwn) {
  Program program("p");
  const Value x = program.input("x", f32, {batch, 1}), target = program.input("y", f32, {batch, 1});
  const Value predicted = nn::linear(x, {.units = 1, .bias = false});
  const Value miss = abs(predicted - target);
  Metric far = mean_of("far", cast(0.1 < miss, {.dtype = f32}));
  const Metric worst{.name = "worst",
                     .value = reduce_max(miss, {.axes = {1}}),
                     .combine = Metric::Combine::join,
                     .finish = [](const Tensor& all) {
                       const auto misses = all.to_vector<float>();
                       return double(*std::max_element(misses.begin(), misses.end()));
                     }};
  Trainer trainer(program, {.loss = mean(miss), .metrics = {far, worst}});
  trainer.session().set_parameter("linear_0.weight", Tensor::from<float>({1, 1}, {1}));
  const data::Batches examples =
      data::from_tensors({{"x", Tensor::from<float>({5, 1}, {1, 2, 3, 4, 5})},
                          {"y", Tensor::from<float>({5, 1}, {1, 4, 3, 7, 5})}})
          .batch(2);
  const Metrics measured = trainer.evaluate(examples);
  EXPECT_FLOAT_EQ(static_cast<float>(measured["far"]), 0.4f);
  EXPECT_EQ(measured["worst"], 3);
  FitOptions fit{.epochs = 1, .progress = false, .validation = &examples};
  fit.early_stopping.watch.metric = "far";
  fails(ErrorKind::usage, "it is not known whether larger is better",
        [&] { trainer.fit(examples, fit); });
  fit.early_stopping.watch = {"wurst", false};
  fails(ErrorKind::usage, "did you mean \"worst\"?", [&] { trainer.fit(examples, fit); });
}

TEST(Training, MistakesInOptionsAreTold) {
  Net net, other;
  fails(ErrorKind::usage, ".loss is not set", [&] { Trainer(net.program, {}); });
  fails(ErrorKind::usage, "belongs to another Program",
        [&] { Trainer(net.program, {.loss = other.loss}); });
}

}  // namespace
}  // namespace trireme::testing
