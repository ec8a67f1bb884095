// Mistakes of a new user with Programs, Sessions and Trainers: each is an error that says where, or
// does what the user means.

#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "../command.h"
#include "trireme/loss.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// f32 numbers 0, 1, 2 ...
Tensor counted(std::vector<std::int64_t> shape) {
  Tensor x(f32, std::move(shape));
  for (std::int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] = static_cast<float>(i);
  return x;
}

struct Line {
  Program program{"line"};
  Value x = program.input("x", f32, {batch, 2});
  Value y = nn::linear(x, {.units = 1});
  Value loss = mean(y * y);
};

TEST(ProgramMisuse, TwoOptimizersOnOneProgram) {
  const std::vector<Optimizer> optimizers = {Sgd{}, RmsProp{}, Adam{}};
  for (const Optimizer& optimizer : optimizers) {
    Line line;
    minimize(line.loss, optimizer);
    const std::string first = ":" + std::to_string(__LINE__ - 1);
    const std::string message = error_of(ErrorKind::usage, [&] { minimize(line.loss, optimizer); });
    EXPECT_THAT(message, AllOf(HasSubstr("has updates already, made at "),
                               HasSubstr("program_misuse_test.cc" + first), HasSubstr("hint")));
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { Trainer(line.program, {.loss = line.loss}); }),
                HasSubstr("program_misuse_test.cc" + first));
    const Program parsed = Program::parse(line.program.str());
    Program again = parsed.clone();
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { again.configure("*", {.frozen = true}); }),
                HasSubstr("made before, in its text"));
  }
}

TEST(ProgramMisuse, SettingsAfterTheOptimizer) {
  Line line;
  Trainer trainer(line.program, {.loss = line.loss});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { line.program.configure("*", {.frozen = true}); }),
              AllOf(HasSubstr("configure: "), HasSubstr("program_misuse_test.cc:"),
                    HasSubstr("call configure() before minimize() or the Trainer")));
}

TEST(ProgramMisuse, RatesBelowZero) {
  const auto refused = [](const Optimizer& optimizer) {
    Line line;
    return error_of(ErrorKind::usage, [&] { minimize(line.loss, optimizer); });
  };
  EXPECT_THAT(refused(Sgd{.learning_rate = -0.1}), HasSubstr("at least 0"));
  EXPECT_THAT(refused(Adam{.learning_rate = NAN}), HasSubstr("at least 0"));
  EXPECT_THAT(refused(Adam{.learning_rate = Schedule::cosine(0.1, 10, -1)}),
              HasSubstr("last rate"));
  EXPECT_THAT(refused(Adam{.learning_rate = Schedule::exponential(0.1, -0.5)}),
              HasSubstr("factor"));
}

// Each call without `stream` has numbers of its own, which a second Program draws again.
TEST(ProgramMisuse, RandomOpsWithoutAStream) {
  const auto draw = [] {
    Program program("random");
    const Value a = random_uniform(program, {.shape = {100}});
    const Value b = random_uniform(program, {.shape = {100}});
    const Value c = random_normal(program, {.shape = {100}});
    const Value d = [&] {
      const auto scope = program.scope("encoder");
      return random_normal(program, {.shape = {100}});
    }();
    return Session(program).run({}, {a, b, c, d});
  };
  const std::vector<Tensor> drawn = draw(), again = draw();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_TRUE(equal(drawn[i], again[i])) << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(equal(drawn[i], drawn[j])) << i << ", " << j;
  }
  Program program("negative");
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { random_normal(program, {.shape = {3}, .stream = -2}); }),
      HasSubstr("a stream must not be negative"));
}

TEST(ProgramMisuse, AProgramThatIsGone) {
  std::optional<Session> session;
  Value sum_of_x;
  {
    Program program("gone");
    const Value x = program.input("x", f32, {batch});
    sum_of_x = sum(x);
    session.emplace(program);
  }
  EXPECT_EQ(session->run({{"x", counted({4})}}, {sum_of_x})[0].item<float>(), 6);
}

TEST(ProgramMisuse, NanInAFeedIsNamed) {
  Line line;
  Trainer trainer(line.program, {.loss = line.loss, .trace_nan = true});
  Tensor x = counted({3, 2});
  x.data<float>()[4] = NAN;
  EXPECT_THAT(error_of(ErrorKind::numeric, [&] { trainer.step({{"x", x}}); }),
              AllOf(HasSubstr("the loss is nan in step 1 of epoch 1"),
                    HasSubstr("feed \"x\" has nan at element 4 of 6")));
}

TEST(ProgramMisuse, FeedsOfAnotherShape) {
  Program program("images");
  const Value images = program.input("images", f32, {batch, 1, 28, 28});
  const Value rows = program.input("rows", f32, {batch, 3});
  Session session(program);
  const auto refused = [&](const char* name, std::vector<std::int64_t> shape) {
    return error_of(ErrorKind::usage, [&] {
      session.run({{name, Tensor(f32, std::move(shape))}}, {sum(images) + sum(rows)});
    });
  };
  EXPECT_THAT(refused("images", {64, 28, 28}),
              HasSubstr("the input needs axis 1 of size 1: tensor.reshaped({64, 1, 28, 28})"));
  EXPECT_THAT(refused("images", {1, 28, 28}), HasSubstr("tensor.reshaped({1, 1, 28, 28})"));
  EXPECT_THAT(refused("rows", {3}),
              HasSubstr("one example needs axis 0 of size 1: tensor.reshaped({1, 3})"));
  EXPECT_THAT(refused("rows", {4}), HasSubstr("it needs 2 axes"));
}

TEST(ProgramMisuse, OneHotLabels) {
  Program program("labels");
  const Value logits = program.input("logits", f32, {batch, 10});
  const Value one_hot = program.input("one_hot", f32, {batch, 10});
  const Value numbers = program.input("numbers", f32, {batch});
  const Value column = program.input("column", i64, {batch, 1});
  const auto refused = [&](const Value& label) {
    return error_of(ErrorKind::usage, [&] { nn::cross_entropy(logits, label); });
  };
  EXPECT_THAT(refused(one_hot), HasSubstr("argmax(label, {.axes = {-1}})"));
  EXPECT_THAT(refused(numbers), HasSubstr("cast the labels to i64"));
  EXPECT_THAT(refused(column), HasSubstr("reshape the labels to [batch]"));
}

TEST(ProgramMisuse, AColumnThatTheDataLack) {
  Program program("columns");
  const Value features = program.input("features", f32, {batch, 2});
  Trainer trainer(program, {.loss = mean(nn::linear(features, {.units = 1}))});
  const data::Batch batch = {{"feature", counted({3, 2})}, {"other", counted({3})}};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { trainer.step(batch); }),
              AllOf(HasSubstr("the data have no column \"features\" for the input f32[batch, 2]"),
                    HasSubstr("did you mean \"feature\"?"), HasSubstr("columns  feature, other")));
}

}  // namespace
}  // namespace trireme::testing
