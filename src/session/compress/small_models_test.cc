// Product quantization and products of low rank.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "base/testing/error.h"
#include "trireme/nn.h"
#include "trireme/packing.h"
#include "trireme/state.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

Tensor random_numbers(std::vector<std::int64_t> shape, unsigned seed) {
  Tensor made(f32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < made.elements(); ++i) made.data<float>()[i] = normal(random);
  return made;
}

struct Lookup {
  Program program{"lookup"};
  Value ids, rows;
  std::unique_ptr<Session> session;
  Lookup(const Tensor& table) {
    ids = program.input("ids", i64, {batch, 2});
    rows = nn::embedding(ids, {.num_embeddings = table.dim(0), .dim = table.dim(1)});
    session = std::make_unique<Session>(program, SessionOptions{.threads = 1});
    session->set_parameter("embedding_0.weight", table);
  }
};

TEST(ProductQuantize, KeepsTablesOfFewDifferentParts) {
  // 40 rows; each half is one of 5.
  const Tensor halves = random_numbers({5, 3}, 1);
  Tensor table(f32, {40, 6});
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t k = 0; k < 6; ++k) {
      const std::int64_t half = k < 3 ? i % 5 : i / 5 % 5;
      table.data<float>()[i * 6 + k] = halves.data<float>()[half * 3 + k % 3];
    }
  }
  Lookup lookup(table);
  PackedModel small = product_quantize(lookup.program, *lookup.session, {lookup.rows},
                                       {.parts = 2, .centroids = 5});
  const Feeds feeds{{"ids", Tensor::from<std::int64_t>({2, 2}, {0, 39, 17, 3})}};
  EXPECT_EQ(small.session.run(feeds, small.program.outputs())[0].to_vector<float>(),
            lookup.session->run(feeds, {lookup.rows})[0].to_vector<float>());
  EXPECT_FALSE(small.program.find("embedding_0.weight"));
  EXPECT_EQ(small.bytes, 40 * 2 + 2 * 5 * 3 * 4);
  EXPECT_EQ(small.weights.at(0).bytes_before, 40 * 6 * 4);
  EXPECT_EQ(small.weights.at(0).bytes_after, small.bytes);
}

// A row is the nearest centroid, and a centroid the mean of its rows: k-means has converged.
TEST(ProductQuantize, FindsNearestCentroidsThatAreMeans) {
  const Tensor table = random_numbers({200, 2}, 2);
  Lookup lookup(table);
  PackedModel small = product_quantize(lookup.program, *lookup.session, {lookup.rows},
                                       {.parts = 1, .centroids = 7, .iterations = 500});
  const auto codes = small.session.parameter("embedding_0.weight.codes").to_vector<std::uint8_t>();
  const Tensor centroids = small.session.parameter("embedding_0.weight.centroids");
  const float* c = centroids.data<float>();
  const float* rows = table.data<float>();
  std::vector<double> sums(14), sizes(7);
  for (std::size_t i = 0; i < 200; ++i) {
    const auto distance = [&](std::size_t k) {
      return std::hypot(rows[2 * i] - c[2 * k], rows[2 * i + 1] - c[2 * k + 1]);
    };
    for (std::size_t k = 0; k < 7; ++k) EXPECT_LE(distance(codes[i]), distance(k) + 1e-6);
    ++sizes[codes[i]];
    sums[2 * codes[i]] += rows[2 * i];
    sums[2 * codes[i] + 1] += rows[2 * i + 1];
  }
  for (std::size_t k = 0; k < 14; ++k) EXPECT_NEAR(c[k], sums[k] / sizes[k / 2], 1e-5);
}

TEST(ProductQuantize, RefusesOtherTables) {
  Lookup lookup(random_numbers({10, 6}, 3));
  const auto refusal = [&](ErrorKind kind, const ProductQuantizationOptions& options) {
    return error_of(
        kind, [&] { product_quantize(lookup.program, *lookup.session, {lookup.rows}, options); });
  };
  EXPECT_THAT(refusal(ErrorKind::usage, {}), HasSubstr("parts must be"));
  EXPECT_THAT(refusal(ErrorKind::usage, {.parts = 4}), HasSubstr("4 parts do not divide"));
  EXPECT_THAT(refusal(ErrorKind::usage, {.parts = 2, .centroids = 257}), HasSubstr("2 to 256"));
  EXPECT_THAT(refusal(ErrorKind::not_found, {.tables = {"other*"}, .parts = 2}),
              HasSubstr("matches \"other*\""));
}

// A matrix of rank 3 as a product of [rows, 3] and [3, columns].
Tensor low_rank_matrix(std::int64_t rows, std::int64_t columns) {
  const Tensor a = random_numbers({rows, 3}, 4), b = random_numbers({3, columns}, 5);
  Tensor made(f32, {rows, columns});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t k = 0; k < 3; ++k) {
        made.data<float>()[i * columns + j] +=
            a.data<float>()[i * 3 + k] * b.data<float>()[k * columns + j];
      }
    }
  }
  return made;
}

TEST(Factorize, FindsTheRankOfProductsAndConvolutions) {
  Program program;
  const Value image = program.input("image", f32, {batch, 4, 9, 9});
  Value x = nn::conv2d(image, {.channels = 16, .kernel = 3, .stride = 2, .padding = 1});
  x = nn::batch_norm(x);
  const Value y = nn::linear(nn::flatten(x), {.units = 20});
  const Value label = program.input("label", i64, {batch});
  minimize(mean(nn::cross_entropy(y, label)), Sgd{.learning_rate = 0.1});
  Session session(program, {.threads = 1});
  session.set_parameter("conv2d_0.weight", low_rank_matrix(16, 36).reshaped({16, 4, 3, 3}));
  session.set_parameter("linear_0.weight", low_rank_matrix(400, 20));
  FactorizedModel small = factorize(program, session, {y}, {.energy = 0.99999});
  ASSERT_EQ(small.weights.size(), 2u);
  for (const FactorizedWeight& weight : small.weights) EXPECT_EQ(weight.rank, 3);
  EXPECT_EQ(small.weights[0].full_rank, 16);
  EXPECT_EQ(small.parameters, 3 * (16 + 36) + 3 * (400 + 20) + 16 + 20 + 4 * 16);
  EXPECT_FALSE(small.program.find("label"));
  const Feeds feeds{{"image", random_numbers({2, 4, 9, 9}, 6)}};
  for (const bool training : {false, true}) {
    const Tensor expected = session.run(feeds, {y}, {.training = training})[0];
    const Tensor result =
        small.session.run(feeds, small.program.outputs(), {.training = training})[0];
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      EXPECT_NEAR(result.data<float>()[i], expected.data<float>()[i], 1e-3);
    }
  }
  // It can be trained further.
  const Value target = small.program.input("label", i64, {batch});
  const Value loss = mean(nn::cross_entropy(small.program.outputs()[0], target));
  Trainer trainer(small.program, {.loss = loss, .session = {.threads = 1}});
  load_state_dict(trainer.session(), state_dict(small.session));
  Feeds batch_of_two = feeds;
  batch_of_two.emplace("label", Tensor::from<std::int64_t>({2}, {3, 7}));
  const double first = trainer.step(batch_of_two);
  EXPECT_LT(trainer.step(batch_of_two), first);
}

TEST(Factorize, LeavesWeightsThatWouldNotBecomeSmaller) {
  Program program;
  const Value x = program.input("x", f32, {batch, 8});
  const Value y = nn::linear(x, {.units = 8});
  Session session(program, {.threads = 1});
  FactorizedModel same = factorize(program, session, {y}, {.energy = 1});
  EXPECT_TRUE(same.weights.empty());
  EXPECT_EQ(same.parameters, 8 * 8 + 8);
  session.set_parameter("linear_0.weight", Tensor(f32, {8, 8}));
  EXPECT_EQ(factorize(program, session, {y}).weights.at(0).rank, 1);  // zeros
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { factorize(program, session, {y}, {.energy = 0}); }),
              HasSubstr("in (0, 1]"));
}

}  // namespace
}  // namespace trireme
