// The losses of very many classes learn the distribution that the labels are drawn from.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "trireme/trireme.h"

namespace trireme {
namespace {

constexpr std::int64_t kContexts = 3, kClasses = 12;

// Classes by a falling frequency, turned round by the context.
double probability(std::int64_t context, std::int64_t k) {
  double total = 0;
  for (std::int64_t i = 0; i < kClasses; ++i) total += 1.0 / static_cast<double>(i + 1);
  return 1.0 / static_cast<double>((k + 4 * context) % kClasses + 1) / total;
}

double entropy() {
  double sum = 0;
  for (std::int64_t c = 0; c < kContexts; ++c) {
    for (std::int64_t k = 0; k < kClasses; ++k)
      sum -= probability(c, k) * std::log(probability(c, k));
  }
  return sum / kContexts;
}

// "x" is the context as one hot, "label" as often what its probability says, nearly.
data::Dataset examples() {
  constexpr double kEach = 4000;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t c = 0; c < kContexts; ++c) {
    for (std::int64_t k = 0; k < kClasses; ++k) {
      pairs.insert(pairs.end(), static_cast<std::size_t>(kEach * probability(c, k) + 0.5), {c, k});
    }
  }
  const auto n = static_cast<std::int64_t>(pairs.size());
  Tensor x(f32, {n, kContexts}), label(i64, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    const auto [context, k] = pairs[static_cast<std::size_t>(i)];
    x.data<float>()[i * kContexts + context] = 1;
    label.data<std::int64_t>()[i] = k;
  }
  return data::from_tensors({{"x", x}, {"label", label}});
}

using Loss = std::function<Value(Program&, Value x, Value label)>;

// The loss of all examples after training; in inference the losses are exact.
double learnt(const Loss& build, const std::function<void(Session&)>& prepare = {}) {
  Program program("words");
  const Value x = program.input("x", f32, {batch, kContexts});
  const Value label = program.input("label", i64, {batch});
  Trainer trainer(program, {.loss = mean(build(program, x, label)),
                            .optimizer = Adam{.learning_rate = Schedule::cosine(0.03, 940)}});
  if (prepare) prepare(trainer.session());
  const data::Dataset all = examples();
  trainer.fit(all.shuffle(1).batch(128), {.epochs = 10, .progress = false});
  return trainer.evaluate(all.batch(512))["loss"];
}

Value table(Program& program, const char* name, Shape shape) {
  return program.parameter(name, f32, std::move(shape));
}

TEST(ManyClasses, SampledLossesLearnTheDistribution) {
  for (const nn::Sampler sampler : {nn::Sampler::log_uniform, nn::Sampler::uniform}) {
    const double softmax_loss = learnt([&](Program& program, Value x, Value label) {
      return nn::sampled_softmax(x, label, table(program, "weight", {kClasses, kContexts}),
                                 table(program, "bias", {kClasses}),
                                 {.samples = 8, .sampler = sampler});
    });
    EXPECT_NEAR(softmax_loss, entropy(), 0.02);
    const double nce_loss = learnt([&](Program& program, Value x, Value label) {
      return nn::nce(x, label, table(program, "weight", {kClasses, kContexts}),
                     table(program, "bias", {kClasses}), {.samples = 8, .sampler = sampler});
    });
    EXPECT_NEAR(nce_loss, entropy(), 0.02);
  }
}

TEST(ManyClasses, TreesLearnTheDistribution) {
  const double complete = learnt([](Program& program, Value x, Value label) {
    return nn::hierarchical_softmax(x, label, table(program, "weight", {kClasses - 1, kContexts}),
                                    {});
  });
  EXPECT_NEAR(complete, entropy(), 0.02);

  std::vector<double> frequencies;
  for (std::int64_t k = 0; k < kClasses; ++k) frequencies.push_back(probability(0, k));
  const nn::ClassTree tree = nn::huffman_tree(frequencies);
  const Shape shape(tree.path.shape().begin(), tree.path.shape().end());
  const double huffman = learnt(
      [&](Program& program, Value x, Value label) {
        const Value path = program.parameter("tree.path", i64, shape, {.trainable = false});
        const Value code = program.parameter("tree.code", i64, shape, {.trainable = false});
        return nn::hierarchical_softmax(x, label, table(program, "weight", {tree.nodes, kContexts}),
                                        table(program, "bias", {tree.nodes}),
                                        {.path = path, .code = code});
      },
      [&](Session& session) {
        session.set_parameter("tree.path", tree.path);
        session.set_parameter("tree.code", tree.code);
      });
  EXPECT_NEAR(huffman, entropy(), 0.02);
}

}  // namespace
}  // namespace trireme
