#include "trireme/callback.h"

#include <gmock/gmock.h>

#include <memory>

#include "base/testing/error.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using testing::ElementsAre;

data::Dataset points() {
  Tensor xs(f32, {8, 1}), ys(f32, {8, 1});
  for (int i = 0; i < 8; ++i) {
    xs.data<float>()[i] = static_cast<float>(i) / 4;
    ys.data<float>()[i] = static_cast<float>(i) - 1;
  }
  return data::from_tensors({{"x", xs}, {"y", ys}});
}

struct Line {
  Program program{"line"};
  Value loss;
  data::Dataset data = points();
  Line() {
    const Value x = program.input("x", f32, {batch, 1}), y = program.input("y", f32, {batch, 1});
    loss = mean(nn::mse(nn::linear(x, {.units = 1, .name = "line"}), y));
  }
  Trainer trainer() {
    return Trainer(program, {.loss = loss,
                             .optimizer = Sgd{.learning_rate = 0.05},
                             .updates = {.adjustable_rate = true}});
  }
};

// Writes down its calls.
struct Diary : Callback {
  explicit Diary(std::string name_in, std::vector<std::string>& lines_in)
      : name(std::move(name_in)), lines(lines_in) {}
  void add(const std::string& what, const FitState& fit) {
    lines.push_back(name + " " + what + " " + std::to_string(fit.epoch()) + "/" +
                    std::to_string(fit.step()));
  }
  void on_fit_begin(FitState& fit) override { add("fit", fit); }
  void on_epoch_begin(FitState& fit) override { add("epoch", fit); }
  void on_step_begin(FitState& fit) override { add("begin", fit); }
  void on_step(FitState& fit, double) override { add("step", fit); }
  void on_evaluation(FitState& fit, const Metrics&) override { add("evaluation", fit); }
  void on_epoch_end(FitState& fit, const EpochReport&) override { add("epoch end", fit); }
  void on_fit_end(FitState& fit) override { add("fit end", fit); }
  std::string name;
  std::vector<std::string>& lines;
};

TEST(Callbacks, AreCalledInOrder) {
  Line line;
  Trainer trainer = line.trainer();
  std::vector<std::string> lines;
  const data::Batches all = line.data.batch(8), one = line.data.batch(8);
  trainer.fit(all, {.epochs = 2,
                    .progress = false,
                    .validation = &one,
                    .callbacks = {std::make_shared<Diary>("a", lines), nullptr},
                    .after_epoch = [&](const EpochReport&) {
                      lines.emplace_back("function");
                      return false;
                    }});
  EXPECT_THAT(lines,
              ElementsAre("a fit 0/0", "a epoch 1/0", "a begin 1/0", "a step 1/1",
                          "a evaluation 1/1", "a epoch end 1/1", "function", "a fit end 1/1"));
  lines.clear();
  trainer.fit(all, {.progress = false,
                    .callbacks = {std::make_shared<Diary>("a", lines),
                                  std::make_shared<Diary>("b", lines)}});
  EXPECT_THAT(lines,
              ElementsAre("a fit 0/0", "b fit 0/0", "a epoch 1/0", "b epoch 1/0", "a begin 1/0",
                          "b begin 1/0", "a step 1/1", "b step 1/1", "a epoch end 1/1",
                          "b epoch end 1/1", "a fit end 1/1", "b fit end 1/1"));
}

// Ends the training after a step, or freezes and slows it down.
struct Control : Callback {
  std::int64_t last = 100;
  bool freezes = false;
  void on_step(FitState& fit, double) override {
    if (fit.step() == last) fit.stop();
  }
  void on_epoch_begin(FitState& fit) override {
    if (!freezes) return;
    fit.trainer().session().freeze("line.bias");
    fit.trainer().session().set_learning_rate(0.01 * fit.epoch());
  }
};

TEST(Callbacks, StopAndControlTheTraining) {
  Line line;
  Trainer trainer = line.trainer();
  const auto control = std::make_shared<Control>();
  control->last = 3;
  std::vector<std::string> lines;
  trainer.fit(line.data.batch(4), {.epochs = 5, .progress = false, .callbacks = {control}});
  EXPECT_EQ(trainer.steps(), 3);
  control->last = 100;
  control->freezes = true;
  const Tensor bias = trainer.session().parameter("line.bias");
  const Tensor weight = trainer.session().parameter("line.weight");
  trainer.fit(line.data.batch(4), {.epochs = 2, .progress = false, .callbacks = {control}});
  EXPECT_TRUE(equal(trainer.session().parameter("line.bias"), bias));
  EXPECT_FALSE(equal(trainer.session().parameter("line.weight"), weight));
  EXPECT_EQ(trainer.session().learning_rate(), 0.02);
}

TEST(Callbacks, HistoryKeepsWhatWasMeasured) {
  Line line;
  Trainer trainer = line.trainer();
  const data::Batches validation = line.data.batch(8);
  const auto history = std::make_shared<History>();
  std::vector<double> losses;
  const Metrics last =
      trainer.fit(line.data.batch(4),
                  {.epochs = 3,
                   .progress = false,
                   .validation = &validation,
                   .callbacks = {history},
                   .after_step = [&](std::int64_t, double loss) { losses.push_back(loss); }});
  EXPECT_EQ(history->losses(), losses);
  ASSERT_EQ(history->training().size(), 3u);
  EXPECT_EQ(history->training().back(), last["loss"]);
  EXPECT_EQ(history->validation().back(), trainer.evaluate(validation)["loss"]);
  EXPECT_LT(history->validation()[2], history->validation()[0]);
  EXPECT_EQ(history->epochs()[1].epoch, 2);
  EXPECT_THROW(static_cast<void>(history->validation("accuracy")), Error);
}

// A Trainer beside another set of updates runs only its own, and its checkpoint has all state.
TEST(Trainers, WorkWithNamedUpdatesBesideTheirs) {
  Line line;
  minimize(line.loss, Momentum{}, {.name = "other", .parameters = {"line.bias"}});
  Trainer trainer(line.program, {.loss = line.loss,
                                 .optimizer = Adam{},
                                 .updates = {.name = "own", .parameters = {"line.weight"}}});
  const Tensor bias = trainer.session().parameter("line.bias");
  trainer.fit(line.data.batch(4), {.progress = false});
  EXPECT_TRUE(equal(trainer.session().parameter("line.bias"), bias));
  const data::Batch batch = line.data.all();
  trainer.session().run(batch, {}, {.training = true, .update = {"other"}});
  EXPECT_FALSE(equal(trainer.session().parameter("line.bias"), bias));

  const std::string folder = testing::TempDir() + "named_updates_checkpoint";
  trainer.save_checkpoint(folder);
  Line second;
  minimize(second.loss, Momentum{}, {.name = "other", .parameters = {"line.bias"}});
  Trainer resumed(second.program, {.loss = second.loss,
                                   .optimizer = Adam{},
                                   .updates = {.name = "own", .parameters = {"line.weight"}}});
  resumed.resume(folder);
  for (const char* name : {"line.bias", "optimizer.other/line.bias.momentum", "optimizer.own/step",
                           "optimizer.own/line.weight.adam_v"}) {
    EXPECT_TRUE(equal(resumed.session().parameter(name), trainer.session().parameter(name)))
        << name;
  }
}

}  // namespace
}  // namespace trireme
