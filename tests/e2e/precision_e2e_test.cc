// Values stored in 16 bits: trainings and predictions against those in f32.

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "../command.h"
#include "data/testing/needs_data.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

constexpr Precision kHalves[] = {Precision::bf16, Precision::f16};

// Uniform in [-1, 1).
Tensor noise(const std::vector<std::int64_t>& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor result(f32, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) result.data<float>()[i] = uniform(random);
  return result;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.type_str(), b.type_str());
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = a.data<float>()[i] - b.data<float>()[i];
    worst = std::isnan(difference) ? 1 : std::max(worst, std::abs(difference));
  }
  return worst;
}

// A scale of 1 for batch_norm that is not learnt yet is kind to numbers; the statistics are of this
// batch.
struct Resnet {
  Program program{"resnet20"};
  Value image, label, logits, loss;
  Resnet() {
    image = program.input("image", f32, {batch, 3, 32, 32});
    label = program.input("label", i64, {batch});
    logits = models::resnet(image, {.depth = 20});
    loss = mean(nn::cross_entropy(logits, label));
  }
};

struct Lenet {
  Program program{"lenet"};
  Value image, label, logits, loss;
  Lenet() {
    image = program.input("image", f32, {batch, 1, 28, 28});
    label = program.input("label", i64, {batch});
    logits = models::lenet(image, {});
    loss = mean(nn::cross_entropy(logits, label));
  }
};

double accuracy_after(Precision precision) {
  Lenet net;
  Trainer trainer(net.program, {.loss = net.loss,
                                .optimizer = Adam{.learning_rate = 1e-3},
                                .metrics = {accuracy(net.logits, net.label)},
                                .session = {.precision = precision}});
  trainer.fit(data::fashion_mnist("train").shuffle(7).batch(64), {.epochs = 2, .progress = false});
  return trainer.evaluate(data::fashion_mnist("test").batch(250))["accuracy"];
}

TEST(Precision, LenetLearnsAsWellWithBf16) {
  NEEDS_DATA("fashion_mnist/train");
  const double wide = accuracy_after(Precision::f32), narrow = accuracy_after(Precision::bf16);
  std::printf("accuracy: f32 %.4f, bf16 %.4f\n", wide, narrow);
  EXPECT_GT(wide, 0.84);
  EXPECT_GT(narrow, wide - 0.005);
}

std::vector<float> weights_after(int threads, Precision precision) {
  Lenet net;
  Trainer trainer(net.program, {.loss = net.loss,
                                .optimizer = Adam{},
                                .session = {.threads = threads, .precision = precision}});
  Tensor label(i64, {96});
  for (std::int64_t i = 0; i < 96; ++i) label.data<std::int64_t>()[i] = i % 10;
  const data::Dataset images =
      data::from_tensors({{"image", noise({96, 1, 28, 28}, 5)}, {"label", label}});
  trainer.fit(images.shuffle(3).batch(32), {.epochs = 2, .progress = false});
  return trainer.session().parameter("lenet_0/conv2d_1.weight").to_vector<float>();
}

TEST(Precision, BitsDoNotDependOnThreads) {
  const std::vector<float> one = weights_after(1, Precision::bf16);
  EXPECT_EQ(one, weights_after(2, Precision::bf16));
  EXPECT_NE(one, weights_after(1, Precision::f32)) << "nothing was rounded";
}

TEST(Precision, TrainingResnetTakesLessMemory) {
  Resnet net;
  minimize(net.loss, Sgd{.learning_rate = 0.1});
  const auto arena = [&](Precision precision) {
    Session session(net.program, {.precision = precision});
    return session.memory({net.loss}, {.training = true, .updates = true}, {{"batch", 128}})
        .arena_bytes;
  };
  const std::int64_t wide = arena(Precision::f32), narrow = arena(Precision::bf16);
  std::printf("arena of resnet20 at batch 128: f32 %.1f MB, bf16 %.1f MB\n",
              static_cast<double>(wide) / 1e6, static_cast<double>(narrow) / 1e6);
  EXPECT_LT(narrow, wide * 13 / 20);
}

TEST(Precision, ResnetPredictsTheSameWithinBounds) {
  Resnet net;
  const Value scores = softmax(net.logits);
  const Feeds feeds{{"image", noise({16, 3, 32, 32}, 1)}};
  Session wide(net.program);
  const Tensor expected = wide.run(feeds, {scores}).at(0);
  for (const Precision precision : kHalves) {
    // Half a last bit for each of 20 layers adds up to a few last bits.
    const double bound = precision == Precision::bf16 ? 0.02 : 0.0025;
    for (const bool libraries : {true, false}) {
      Session narrow(net.program, {.libraries = libraries, .precision = precision});
      const Tensor actual = narrow.run(feeds, {scores}).at(0);
      const double worst = largest_difference(actual, expected);
      std::printf("%s: %.2g\n", name_of(precision).data(), worst);
      EXPECT_LE(worst, bound) << name_of(precision);
      EXPECT_GT(worst, 0) << "nothing was rounded";
      EXPECT_TRUE(equal(actual, narrow.run(feeds, {scores}).at(0)));
    }
  }
}

class CompiledPrecision : public InFolder {};

TEST_F(CompiledPrecision, PredictsWhatTheSessionDoesFromHalfTheConstants) {
  Lenet net;
  Session session(net.program);
  save_model(net.program, session, path("model"), {.outputs = {softmax(net.logits)}});
  Model model = load_model(path("model"));
  const std::int64_t bytes = compile_model(model, path("f32")).constant_bytes;
  const Feeds feeds{{"image", noise({3, 1, 28, 28}, 1)}};
  const Tensor expected = model.predict(feeds).at(0);
  for (const Precision precision : kHalves) {
    const std::string folder = path(std::string(name_of(precision)));
    const CompiledSize size = compile_model(model, folder, {.precision = precision});
    EXPECT_LT(size.constant_bytes, bytes * 11 / 20);
    Model same = load_model(path("model"), {.libraries = false, .precision = precision});
    const Tensor by_session = same.predict(feeds).at(0);
    EXPECT_LE(largest_difference(by_session, expected), 0.01);
    EXPECT_GT(largest_difference(by_session, expected), 0);
    for (const int threads : {1, 2}) {
      CompiledModel compiled = CompiledModel::load(folder, {.threads = threads});
      const Tensor actual = compiled.predict(feeds).at(0);
      EXPECT_LE(largest_difference(actual, by_session), 1e-6) << name_of(precision);
    }
  }
}

TEST_F(CompiledPrecision, ByTheCommandLine) {
  Lenet net;
  Session session(net.program);
  save_model(net.program, session, path("model"), {.outputs = {softmax(net.logits)}});
  const std::string command = std::string(TRIREME_CLI) + " compile model ";
  const Outcome good = run_here(command + "--precision bf16 -o compiled");
  ASSERT_EQ(good.code, 0) << good.output;
  EXPECT_THAT(read(path("compiled/plan.json")), HasSubstr("\"bf16\""));
  const Outcome bad = run_here(command + "--precision half -o other");
  EXPECT_EQ(bad.code, 2) << bad.output;
  EXPECT_THAT(bad.output, HasSubstr("there is no precision \"half\": there are f32, bf16 and f16"));
}

TEST(PrecisionMisuse, HalvesAreStoredAndMovedAndNothingElse) {
  Program program("p");
  const Value x = program.input("x", bf16, {batch, 3});
  const std::string hint = "cast it to f32 first";
  fails(ErrorKind::usage, hint, [&] { x + x; });
  fails(ErrorKind::usage, hint, [&] { x * 2.0; });
  fails(ErrorKind::usage, hint, [&] { exp(x); });
  fails(ErrorKind::usage, hint, [&] { maximum(x, x); });
  fails(ErrorKind::usage, hint, [&] { equal(x, x); });
  fails(ErrorKind::usage, hint, [&] { sum(x); });
  fails(ErrorKind::usage, "f32", [&] { matmul(x, transpose(x, {.permutation = {1, 0}})); });
  Session session(program);
  const Value y = reshape(
      transpose(concat({x, slice(x, {.starts = {0, 0}, .limits = {batch, 2}})}, {.axis = 1}),
                {.permutation = {1, 0}}),
      {.shape = {5 * batch}});
  const Tensor in = noise({2, 3}, 1).cast(bf16);
  const Tensor out = session.run({{"x", in}}, {y}).at(0);
  EXPECT_EQ(out.type_str(), "bf16[10]");
  const std::vector<float> from = in.cast(f32).to_vector<float>(),
                           to = out.cast(f32).to_vector<float>();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(to[i], from[i % 2 * 3 + i / 2 % 3]) << i;
  fails(ErrorKind::usage, "convert it: tensor.cast(trireme::bf16)",
        [&] { session.run({{"x", noise({2, 3}, 1).cast(f16)}}, {y}); });
}

TEST(PrecisionMisuse, F16DoesNotTrain) {
  Lenet net;
  fails(ErrorKind::usage, "train with bf16 or f32", [&] {
    Trainer trainer(
        net.program,
        {.loss = net.loss, .optimizer = Adam{}, .session = {.precision = Precision::f16}});
  });
  minimize(net.loss, Adam{});
  Session session(net.program, {.precision = Precision::f16});
  const Feeds feeds{{"image", noise({2, 1, 28, 28}, 1)}, {"label", Tensor(i64, {2})}};
  fails(ErrorKind::usage, "train with bf16 or f32",
        [&] { session.run(feeds, {net.loss}, {.training = true, .updates = true}); });
  EXPECT_TRUE(std::isfinite(session.run(feeds, {net.loss}).at(0).item<float>()));
  fails(ErrorKind::usage, "there is no precision \"fp8\"", [] { parse_precision("fp8"); });
}

}  // namespace
}  // namespace trireme::testing
