// Options of a Trainer beside the rule of the optimizer, with parameters on servers: as in one
// process, or refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "base/testing/error.h"
#include "distributed/server/testing/cluster.h"
#include "distributed/strategy/server_training.h"
#include "trireme/trireme.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

constexpr std::int64_t kIds = 30, kFields = 2, kWidth = 3, kBatch = 12;
constexpr const char* kTable = "embedding_0.weight";
const char* const kDense[] = {"linear_0.weight", "linear_0.bias", "linear_1.weight",
                              "linear_1.bias"};

data::Batch examples(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> ids;
  std::vector<float> targets;
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t sum = 0;
    for (std::int64_t j = 0; j < kFields; ++j) {
      ids.push_back((i * i * 5 + j * 11 + i) % kIds);
      sum += ids.back();
    }
    targets.push_back(static_cast<float>(sum % 7) - 3);
  }
  const std::int64_t count = end - begin;
  return {{"ids", Tensor::from<std::int64_t>({count, kFields}, ids)},
          {"y", Tensor::from<float>({count, 1}, targets)}};
}

struct Told {
  Optimizer optimizer = Sgd{.learning_rate = 0.05};
  UpdateOptions updates = {};
  std::map<std::string, ParameterSettings> parameters = {};  // by their names
  Precision precision = Precision::f32;
};

struct Model {
  Program program{"settings"};
  Value ids = program.input("ids", i64, {batch, kFields});
  Value y = program.input("y", f32, {batch, 1});
  Value loss;
  std::optional<Trainer> trainer;

  explicit Model(const Told& told) {
    const Value rows =
        nn::embedding(ids, {.num_embeddings = kIds, .dim = kWidth, .sparse_gradient = true});
    const Value x = reshape(rows, {.shape = {batch, kFields * kWidth}});
    const Value h = nn::linear(x, {.units = 40, .activation = nn::tanh});
    loss = mean(nn::mse(nn::linear(h, {.units = 1}), y));
    for (const auto& [name, settings] : told.parameters) {
      EXPECT_EQ(program.configure(name, settings), 1) << name;
    }
  }
  TrainerOptions options(const Told& told) const {
    return {.loss = loss,
            .optimizer = told.optimizer,
            .updates = told.updates,
            .session = {.threads = 1, .precision = told.precision}};
  }
  std::vector<float> parameter(const std::string& name) {
    return trainer->session().parameter(name).to_vector<float>();
  }
};

struct Member {
  Member(Cluster& cluster, std::uint32_t sender, Mode mode, const Told& told)
      : model(told), client(cluster.network(), cluster.client(sender)) {
    ServerTrainingOptions options;
    options.mode = mode;
    options.pushes = 0;
    set_optimizer(options, told.optimizer);
    training.emplace(client, options, model.program);
    TrainerOptions trainer = model.options(told);
    training->extend(trainer);
    model.trainer.emplace(model.program, trainer);
  }
  std::vector<float> rows() {
    std::vector<Id> ids;
    for (Id id = 0; id < kIds; ++id) ids.push_back(id);
    std::vector<float> rows(kIds * kWidth);
    client.lookup(0, ids, rows.data(), Create::no);
    return rows;
  }
  Model model;
  ParameterClient client;
  std::optional<ServerTraining> training;
};

using Values = std::map<std::string, std::vector<float>>;

struct Course {
  Values first, last;  // of all parameters, by their names
};

// `steps` steps of kBatch examples that the members share.
Course by_servers(Mode mode, int members, const Told& told, int steps) {
  Cluster cluster(2);
  cluster.set_members(1, members);
  Course course;
  std::barrier together(members);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < members; ++rank) {
    threads.emplace_back([&, rank] {
      Member member(cluster, static_cast<std::uint32_t>(rank + 1), mode, told);
      member.client.join(1, static_cast<std::uint32_t>(rank));
      member.training->start(*member.model.trainer);
      const auto tell = [&](Values& values) {
        together.arrive_and_wait();
        if (rank > 0) return;
        values[kTable] = member.rows();
        for (const char* name : kDense) values[name] = member.model.parameter(name);
      };
      tell(course.first);
      together.arrive_and_wait();
      const std::int64_t part = kBatch / members;
      for (int step = 0; step < steps; ++step) {
        const std::int64_t begin = step * kBatch + rank * part;
        member.training->step(
            examples(begin, begin + part),
            ServerTraining::TaskBatch{0, 1, static_cast<std::uint32_t>(step), step + 1 == steps});
      }
      member.training->settle();
      tell(course.last);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return course;
}

// The same in one process, from the same values.
Values alone(const Values& first, const Told& told, int steps) {
  Model model(told);
  model.trainer.emplace(model.program, model.options(told));
  Session& session = model.trainer->session();
  for (const auto& [name, values] : first) {
    session.set_parameter(name, Tensor::from<float>(session.parameter(name).shape(), values));
  }
  for (int step = 0; step < steps; ++step) {
    model.trainer->step(examples(step * kBatch, (step + 1) * kBatch));
  }
  Values last;
  for (const auto& [name, values] : first) last[name] = model.parameter(name);
  return last;
}

struct Case {
  Mode mode;
  int members;
};
constexpr Case kModes[] = {
    {Mode::asynchronous, 1}, {Mode::synchronous, 1}, {Mode::synchronous, 2}, {Mode::geo, 1}};

void expect_the_same(const Case& how, const Told& told, float within = 2e-5f, int steps = 6) {
  const Course course = by_servers(how.mode, how.members, told, steps);
  const Values expected = alone(course.first, told, steps);
  for (const auto& [name, values] : expected) {
    EXPECT_THAT(course.last.at(name), Pointwise(FloatNear(within), values))
        << name << " in mode " << name_of(how.mode) << " by " << how.members << ", optimizer "
        << told.optimizer.index();
  }
}

TEST(ServerSettings, PenaltiesAndSettingsOfSingleParametersAreThoseOfOneProcess) {
  const Optimizer optimizers[] = {Sgd{.learning_rate = 0.05, .weight_decay = 0.3},
                                  Adagrad{.learning_rate = 0.05, .weight_decay = 0.3},
                                  Adam{.learning_rate = 0.01, .epsilon = 1e-3, .weight_decay = 0.3},
                                  Ftrl{.learning_rate = 0.05, .l1 = 0.01, .l2 = 0.1}};
  for (const Case& how : kModes) {
    for (const Optimizer& optimizer : optimizers) {
      expect_the_same(
          how, {.optimizer = optimizer,
                .updates = {.l1 = 0.02, .l2 = 0.1},
                .parameters = {
                    {kTable, {.learning_rate = 0.5, .weight_decay = 0}},
                    {kDense[0], {.learning_rate = 3, .weight_decay = 0.5, .l1 = 0.01, .l2 = 0.2}},
                    {kDense[1], {.weight_decay = 0}}}});
    }
  }
}

TEST(ServerSettings, WhatIsFrozenStays) {
  for (const Case& how : kModes) {
    const Told told{.updates = {.l2 = 0.1},
                    .parameters = {{kTable, {.weight_decay = 0}},
                                   {kDense[0], {.frozen = true}},
                                   {kDense[3], {.frozen = true}}}};
    const Course course = by_servers(how.mode, how.members, told, 4);
    EXPECT_EQ(course.last.at(kDense[0]), course.first.at(kDense[0])) << name_of(how.mode);
    EXPECT_EQ(course.last.at(kDense[3]), course.first.at(kDense[3])) << name_of(how.mode);
    EXPECT_NE(course.last.at(kDense[1]), course.first.at(kDense[1])) << name_of(how.mode);
    expect_the_same(how, told);
  }
}

// Each limit is far below the gradients, so that it applies in every step.
TEST(ServerSettings, GradientsOfABatchAreLimitedAsInOneProcess) {
  for (const Clip& clip : {Clip{.value = 0.02}, Clip{.norm = 0.03}, Clip{.global_norm = 0.05},
                           Clip{.value = 0.05, .norm = 0.04, .global_norm = 0.03}}) {
    for (const Case& how : {Case{Mode::asynchronous, 1}, Case{Mode::geo, 1}}) {
      expect_the_same(how, {.optimizer = Sgd{.learning_rate = 1, .clip = clip}});
      expect_the_same(how, {.optimizer = Adam{.learning_rate = 0.01, .epsilon = 1e-3, .clip = clip},
                            .parameters = {{kDense[2], {.l1 = 0.01, .l2 = 0.1}}}});
    }
  }
}

// Steps after the end of the schedule change nothing. Rules on servers divide by the rate.
TEST(ServerSettings, ARateMayComeToNothing) {
  for (const Case& how : kModes) {
    expect_the_same(how, {.optimizer = Adagrad{.learning_rate = Schedule::cosine(0.05, 3)}});
    expect_the_same(
        how, {.optimizer = Adam{.learning_rate = Schedule::polynomial(0.01, 4), .epsilon = 1e-3}});
  }
}

// A server that returned to a checkpoint, or a trainer that joined late, must not reset the rate to
// its first value.
TEST(ServerSettings, AScheduleGoesByWhatAllHaveLearned) {
  const Told told{.optimizer =
                      Adam{.learning_rate = Schedule::exponential(0.02, 0.5), .epsilon = 1e-3}};
  constexpr int kSteps = 6;
  Cluster cluster(2);
  Member member(cluster, 1, Mode::asynchronous, told);
  member.training->start(*member.model.trainer);
  Values first;
  first[kTable] = member.rows();
  for (const char* name : kDense) first[name] = member.model.parameter(name);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    if (step == 3) member.training->go_on(0, 0);
    const std::int64_t begin = step * kBatch;
    member.training->step(examples(begin, begin + kBatch),
                          ServerTraining::TaskBatch{.epoch = 1, .batch = step, .step = step});
  }
  member.training->settle();
  const Values expected = alone(first, told, kSteps);
  for (const char* name : kDense) {
    EXPECT_THAT(member.model.parameter(name), Pointwise(FloatNear(2e-5f), expected.at(name)));
  }
  EXPECT_THAT(member.rows(), Pointwise(FloatNear(2e-5f), expected.at(kTable)));
}

TEST(ServerSettings, ValuesInSixteenBitsAreThoseOfOneProcess) {
  for (const Case& how : kModes) {
    expect_the_same(how, {.precision = Precision::bf16}, 2e-3f);
  }
}

std::string refused(Mode mode, const Told& told) {
  return error_of(ErrorKind::usage, [&] {
    Cluster cluster(1);
    Member member(cluster, 1, mode, told);
  });
}

TEST(ServerSettings, WhatServersCannotKeepToIsRefused) {
  for (const Mode mode : {Mode::asynchronous, Mode::synchronous, Mode::geo}) {
    EXPECT_THAT(refused(mode, {.updates = {.accumulate = 2}}),
                HasSubstr("TrainerOptions: accumulate is not for parameter servers"));
    EXPECT_THAT(refused(mode, {.updates = {.average = Average::window(10)}}),
                HasSubstr("TrainerOptions: average is not for parameter servers"));
    EXPECT_THAT(
        refused(mode, {.optimizer = Adam{.learning_rate = Schedule().on_plateau({})}}),
        AllOf(HasSubstr("TrainerOptions: schedule goes by what is measured"), HasSubstr("cosine")));
    // As in one process.
    EXPECT_THAT(refused(mode, {.updates = {.l2 = 0.1}}),
                AllOf(HasSubstr("embedding_0.weight is row-sparse"),
                      HasSubstr("configure(\"embedding_0.weight\", {.weight_decay = 0})")));
    EXPECT_THAT(refused(mode, {.parameters = {{kTable, {.l1 = 0.1}}}}),
                HasSubstr("its own l1 or l2"));
  }
  EXPECT_THAT(refused(Mode::synchronous, {.optimizer = Sgd{.clip = {.norm = 1}}}),
              AllOf(HasSubstr("TrainerOptions: clip would be of the sum"), HasSubstr("all_reduce"),
                    Not(HasSubstr("servers have"))));
}

}  // namespace
}  // namespace trireme::distributed
