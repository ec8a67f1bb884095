// Removal of channels: the rest of a Program computes what it computes with these channels at 0.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "base/testing/error.h"
#include "trireme/nn.h"
#include "trireme/pruning.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Tensor gaussian(std::vector<std::int64_t> shape, unsigned seed) {
  Tensor made(f32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < made.elements(); ++i) made.data<float>()[i] = normal(random);
  return made;
}

// A residual block between two convolutions, pooling, a flattened axis and two linear layers.
struct Residual {
  Program program{"residual"};
  Value image, output;
  std::unique_ptr<Session> session;
  Residual() {
    image = program.input("image", f32, {batch, 3, 8, 8});
    const auto conv = [](const Value& x, std::int64_t channels, const char* name) {
      return nn::batch_norm(
          nn::conv2d(x, {.channels = channels, .kernel = 3, .padding = 1, .name = name}),
          {.name = std::string(name) + "_norm"});
    };
    const Value x = nn::relu(conv(image, 8, "a"));
    const Value inside = nn::relu(conv(x, 6, "b"));
    Value y = nn::relu(x + conv(inside, 8, "c"));
    y = nn::linear(nn::flatten(nn::max_pool(y, {})),
                   {.units = 10, .activation = nn::relu, .name = "d"});
    output = nn::linear(y, {.units = 4, .name = "e"});
    session = std::make_unique<Session>(program, SessionOptions{.threads = 1, .seed = 3});
    for (const Value& parameter : program.parameters()) {
      const std::string name = parameter.name().substr(1);
      Tensor value = session->parameter(name);
      if (value.rank() != 1) continue;
      value = gaussian(value.shape(), static_cast<unsigned>(name.size()));
      for (std::int64_t i = 0; i < value.elements(); ++i) {
        value.data<float>()[i] = 0.5f + std::fabs(value.data<float>()[i]);
      }
      session->set_parameter(name, value);
    }
  }
};

// Sets channels of a parameter to 0.
void clear(Session& session, const std::string& name, const std::vector<std::int64_t>& channels,
           int axis = 0) {
  Tensor value = session.parameter(name).clone();
  std::int64_t inner = 1;
  for (int i = axis + 1; i < value.rank(); ++i) inner *= value.dim(i);
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const std::int64_t channel = i / inner % value.dim(axis);
    if (std::find(channels.begin(), channels.end(), channel) != channels.end()) {
      value.data<float>()[i] = 0;
    }
  }
  session.set_parameter(name, value);
}

TEST(PruneChannels, RemovesChannelsThatAreZero) {
  Residual net;
  // Channels 1 and 4 of the sum, 0, 2 and 5 inside of the block, and units 3 to 7 compute 0.
  for (const char* name : {"a", "c"}) {
    const std::string norm = std::string(name) + "_norm";
    clear(*net.session, std::string(name) + ".weight", {1, 4});
    for (const char* end : {".weight", ".bias"}) clear(*net.session, norm + end, {1, 4});
  }
  clear(*net.session, "b.weight", {0, 2, 5});
  for (const char* end : {".weight", ".bias"})
    clear(*net.session, std::string("b_norm") + end, {0, 2, 5});
  clear(*net.session, "d.weight", {3, 4, 5, 6, 7}, 1);
  clear(*net.session, "d.bias", {3, 4, 5, 6, 7});
  const Feeds feeds{{"image", gaussian({3, 3, 8, 8}, 1)}};
  const Tensor expected = net.session->run(feeds, {net.output})[0];
  for (const auto criterion : {ChannelCriterion::l1, ChannelCriterion::batch_norm}) {
    const bool is_norm = criterion == ChannelCriterion::batch_norm;
    ChannelModel small = prune_channels(net.program, *net.session, {net.output},
                                        {.ratio = 0.25, .criterion = criterion});
    ASSERT_EQ(small.groups.size(), 3u);
    EXPECT_THAT(small.groups[0].weights, UnorderedElementsAre("a.weight", "c.weight"));
    EXPECT_EQ(small.groups[0].after, 6);
    EXPECT_THAT(small.groups[1].weights, ElementsAre("b.weight"));
    EXPECT_EQ(small.groups[1].after, 5);
    EXPECT_EQ(small.groups[2].after, is_norm ? 10 : 8);  // no batch norm
    EXPECT_EQ(small.program.find("d.weight").shape(), (Shape{6 * 16, is_norm ? 10 : 8}));
    EXPECT_EQ(small.program.find("c.weight").shape(), (Shape{6, 5, 3, 3}));
    EXPECT_EQ(small.program.outputs()[0].shape(), (Shape{batch, 4}));
    const Tensor result = small.session.run(feeds, small.program.outputs())[0];
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      EXPECT_NEAR(result.data<float>()[i], expected.data<float>()[i], 1e-4);
    }
    // It can be trained further.
    const Value label = small.program.input("label", i64, {batch});
    const Value loss = mean(nn::cross_entropy(small.program.outputs()[0], label));
    Trainer trainer(small.program, {.loss = loss, .session = {.threads = 1}});
    trainer.step(
        {{"image", feeds.at("image")}, {"label", Tensor::from<std::int64_t>({3}, {0, 1, 2})}});
  }
}

TEST(PruneChannels, RemovesTheFiltersNearestToTheOthers) {
  Program program;
  const Value x = program.input("x", f32, {batch, 2});
  const Value y = nn::linear(nn::linear(x, {.units = 4, .bias = false}), {.units = 1});
  Session session(program, {.threads = 1});
  // Units (0, 0), (1, 0), (0, 1) and (9, 9): the sums of distances are smallest for the second and
  // the third, then for the first.
  session.set_parameter("linear_0.weight", Tensor::from<float>({2, 4}, {0, 1, 0, 9, 0, 0, 1, 9}));
  const auto left = [&](ChannelCriterion criterion) {
    ChannelModel small =
        prune_channels(program, session, {y}, {.ratio = 0.5, .criterion = criterion});
    return small.session.parameter("linear_0.weight").to_vector<float>();
  };
  EXPECT_THAT(left(ChannelCriterion::median), ElementsAre(0, 9, 0, 9));
  EXPECT_THAT(left(ChannelCriterion::l1), ElementsAre(0, 9, 1, 9));
}

TEST(PruneChannels, MeasuresTheSensitivityOfEachGroup) {
  Residual net;
  const auto measured =
      channel_sensitivity(net.program, *net.session, {net.output}, {0, 0.5},
                          [](ChannelModel& model) { return static_cast<double>(model.parameters); },
                          {.parameters = {"b.*", "d.*"}});
  ASSERT_EQ(measured.size(), 4u);
  EXPECT_THAT(measured[1].weights, ElementsAre("b.weight"));
  EXPECT_EQ(measured[0].measured, measured[2].measured);
  // 3 of 6 channels: inputs and outputs of two convolutions, a bias and four numbers of the norm.
  EXPECT_EQ(measured[0].measured - measured[1].measured, 3 * (8 * 9 + 8 * 9 + 5));
  EXPECT_EQ(measured[2].measured - measured[3].measured, 5 * (8 * 16 + 1 + 4));
}

TEST(PruneChannels, LeavesWhatItDoesNotKnow) {
  Program program;
  const Value x = program.input("x", f32, {batch, 4, 5, 5});
  const Value a = nn::conv2d(x, {.channels = 8, .kernel = 1, .name = "a"});
  const Value b = nn::conv2d(a, {.channels = 8, .kernel = 1, .groups = 8, .name = "b"});
  const Value out = nn::conv2d(b, {.channels = 2, .kernel = 1, .name = "out"});
  Session session(program, {.threads = 1});
  const auto prune = [&](const ChannelOptions& options) {
    return prune_channels(program, session, {out}, options).groups.size();
  };
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { prune({}); }), HasSubstr("no channels"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { prune({.ratio = 1}); }), HasSubstr("in [0, 1)"));
}

}  // namespace
}  // namespace trireme
