// A trained network inside of another Program.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "trireme/compression.h"
#include "trireme/nn.h"
#include "trireme/teacher.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

struct Large {
  Program program{"large"};
  Value x, y;
  Session session;
  Large()
      : x(program.input("x", f32, {batch, 4})),
        y(nn::linear(nn::batch_norm(nn::linear(x, {.units = 8})), {.units = 3})),
        session(program, {.threads = 1, .seed = 7}) {}
};

Tensor ramp(std::vector<std::int64_t> shape) {
  Tensor made(f32, std::move(shape));
  for (std::int64_t i = 0; i < made.elements(); ++i) {
    made.data<float>()[i] = static_cast<float>(i % 7) * 0.3f - 1;
  }
  return made;
}

TEST(Teacher, ComputesTheSameAndStays) {
  Large large;
  const std::string folder = testing::TempDir() + "/teacher_model";
  save_model(large.program, large.session, folder, {.outputs = {large.y}});
  const Feeds feeds{{"image", ramp({5, 4})}};
  const Tensor expected = large.session.run({{"x", ramp({5, 4})}}, {large.y})[0];
  for (const bool saved : {true, false}) {
    Program program;
    const Value image = program.input("image", f32, {batch, 4});
    const Value logits = nn::linear(image, {.units = 3});
    const Teacher teacher = saved
                                ? Teacher(load_model(folder), {{"x", image}})
                                : Teacher(large.program, large.session, {large.y}, {{"x", image}});
    const Value wanted = teacher.outputs()[0];
    Trainer trainer(program, {.loss = mean(nn::distillation(logits, wanted)),
                              .optimizer = Adam{.learning_rate = 0.05},
                              .session = {.threads = 1}});
    teacher.load(trainer.session());
    const double first = trainer.step(feeds);
    double last = first;
    for (int i = 0; i < 30; ++i) last = trainer.step(feeds);
    EXPECT_LT(last, first / 2);
    // In training mode, too, batch norms use the running statistics.
    for (const bool training : {false, true}) {
      EXPECT_EQ(
          trainer.session().run(feeds, {wanted}, {.training = training})[0].to_vector<float>(),
          expected.to_vector<float>());
    }
  }
}

TEST(Teacher, RefusesOtherInputsAndNames) {
  Large large;
  Program program;
  const Value image = program.input("image", f32, {batch, 4});
  const Value narrow = program.input("narrow", f32, {batch, 3});
  const auto refusal = [&](const std::map<std::string, Value>& inputs) {
    return error_of(ErrorKind::usage,
                    [&] { Teacher(large.program, large.session, {large.y}, inputs); });
  };
  EXPECT_THAT(refusal({}), HasSubstr("no value for the input \"x\""));
  EXPECT_THAT(refusal({{"x", narrow}}), HasSubstr("f32[batch, 3]"));
  const Teacher one(large.program, large.session, {large.y}, {{"x", image}});
  EXPECT_THAT(refusal({{"x", image}}), HasSubstr("each teacher needs a name"));
  const Teacher two(large.program, large.session, {large.y}, {{"x", image}}, "two");
  Session session(program, {.threads = 1});
  one.load(session);
  two.load(session);
  const std::vector<Tensor> results =
      session.run({{"image", ramp({2, 4})}}, {one.outputs()[0], two.outputs()[0]});
  EXPECT_EQ(results[0].to_vector<float>(), results[1].to_vector<float>());
}

}  // namespace
}  // namespace trireme
