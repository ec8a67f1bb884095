// Sessions that share parameters.

#include <gmock/gmock.h>

#include <optional>
#include <thread>

#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

// y = x * w, with a loss that moves w.
struct Net {
  Program program;
  Value x, y, loss;
  explicit Net(std::int64_t units, bool trains) {
    x = program.input("x", f32, {batch, 3});
    y = nn::linear(x, {.units = units, .name = "shared"});
    const Value own = program.parameter("own", f32, {trains ? 2 : 5}, {.initializer = nn::ones()});
    loss = mean(y * y) + sum(own * own);
    if (trains) minimize(loss, Sgd{.learning_rate = 0.1});
  }
};

const Feeds kFeeds{{"x", Tensor::from<float>({1, 3}, {1, -2, 3})}};

TEST(SharedParameters, AreOneMemory) {
  const Net training(4, true), prediction(4, false);
  std::optional<Session> first(std::in_place, training.program, SessionOptions{.seed = 7});
  Session second(prediction.program, {.seed = 8}, *first), third(prediction.program, {}, second);
  const auto y = [](const Net& net, Session& session) {
    return session.run(kFeeds, {net.y})[0].to_vector<float>();
  };
  // Of the first Session's seed, whichever uses them first.
  EXPECT_EQ(y(prediction, second), y(training, *first));
  const std::vector<float> before = y(prediction, third);
  first->run(kFeeds, {}, {.training = true, .updates = true});
  EXPECT_NE(y(prediction, second), before);
  EXPECT_EQ(y(prediction, second), y(training, *first));
  EXPECT_EQ(y(prediction, third), y(training, *first));
  third.set_parameter("shared.bias", Tensor::from<float>({4}, {1, 2, 3, 4}));
  EXPECT_EQ(first->parameter("shared.bias").to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(y(prediction, second), y(training, *first));
  // Of another shape, so not shared with the first, but with each other.
  third.set_parameter("own", Tensor(f32, {5}));
  EXPECT_EQ(second.parameter("own").to_vector<float>(), std::vector<float>(5, 0));
  EXPECT_NE(first->parameter("own").to_vector<float>()[0], 0);
  const std::vector<float> last = y(prediction, third);
  first.reset();
  EXPECT_EQ(y(prediction, second), last);
}

TEST(SharedParameters, OfOtherTypesAreSeparate) {
  const Net four(4, true), five(5, true);
  Session first(four.program), second(five.program, {}, first);
  EXPECT_EQ(second.parameter("shared.weight").shape(), (std::vector<std::int64_t>{3, 5}));
  second.run(kFeeds, {}, {.training = true, .updates = true});
  EXPECT_EQ(first.parameter("own").to_vector<float>(), second.parameter("own").to_vector<float>());
}

TEST(SharedParameters, AreReadBySeveralThreads) {
  const Net net(4, false);
  Session first(net.program, {.threads = 1}), second(net.program, {.threads = 1}, first);
  std::vector<float> a, b;
  const auto run = [&](Session& session, std::vector<float>& result) {
    for (int i = 0; i < 3; ++i) result = session.run(kFeeds, {net.y})[0].to_vector<float>();
  };
  std::thread other([&] { run(second, b); });
  run(first, a);
  other.join();
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace trireme
