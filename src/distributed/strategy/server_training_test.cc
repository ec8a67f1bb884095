// Training with parameters on servers, compared with the same training in one process.

#include "distributed/strategy/server_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <thread>

#include "base/testing/error.h"
#include "distributed/server/testing/cluster.h"
#include "trireme/trireme.h"

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

constexpr std::int64_t kIds = 40, kFields = 3, kBatch = 12;
constexpr double kRate = 0.1;

// Clicks on three ids each; some ids are missing.
data::Batch clicks(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> ids;
  std::vector<float> labels;
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t sum = 0;
    for (std::int64_t j = 0; j < kFields; ++j) {
      ids.push_back((i * i * 7 + j * 13 + i) % kIds);
      sum += ids.back();
    }
    labels.push_back(sum % 3 == 0 ? 1 : 0);
  }
  const std::int64_t count = end - begin;
  return {{"ids", Tensor::from<std::int64_t>({count, kFields}, ids)},
          {"click", Tensor::from<float>({count, 1}, labels)}};
}

struct Model {
  Program program{"ctr"};
  Value ids = program.input("ids", i64, {batch, kFields});
  Value click = program.input("click", f32, {batch, 1});
  Value loss;
  std::optional<Trainer> trainer;

  explicit Model(nn::EmbeddingOptions options = {}) {
    options.num_embeddings = kIds, options.dim = 4, options.sparse_gradient = true;
    const Value rows = nn::embedding(ids, options);
    const Value x = reshape(rows, {.shape = {batch, kFields * 4}});
    loss = mean(nn::binary_cross_entropy_with_logits(
        nn::linear(nn::linear(x, {.units = 6, .activation = nn::tanh}), {.units = 1}), click));
  }
  TrainerOptions options() const {
    return {.loss = loss, .optimizer = Adagrad{.learning_rate = kRate}, .session = {.threads = 1}};
  }
  Tensor parameter(const std::string& name) { return trainer->session().parameter(name); }
};

constexpr const char* kTable = "embedding_0.weight";
const char* const kDense[] = {"linear_0.weight", "linear_0.bias", "linear_1.weight",
                              "linear_1.bias"};

struct Member {
  Member(Cluster& cluster, std::uint32_t sender, ServerTrainingOptions options)
      : client(cluster.network(), cluster.client(sender)),
        training(client, std::move(options), model.program) {
    TrainerOptions trainer = model.options();
    training.extend(trainer);
    model.trainer.emplace(model.program, trainer);
  }
  Model model;
  ParameterClient client;
  ServerTraining training;
};

ServerTrainingOptions options_of(Mode mode) {
  ServerTrainingOptions options;
  options.mode = mode;
  options.rule = RowRule::adagrad();
  options.rate = kRate;
  return options;
}

// All rows of the table on the servers.
std::vector<float> rows_of(ParameterClient& client) {
  std::vector<Id> ids;
  for (Id id = 0; id < kIds; ++id) ids.push_back(id);
  std::vector<float> rows(kIds * 4);
  client.lookup(0, ids, rows.data(), Create::no);
  return rows;
}

struct Course {
  std::vector<double> losses;
  std::vector<float> rows;
  std::vector<Tensor> dense;
};

// In one process, from the initial values of the servers.
Course trained_alone(const std::vector<float>& rows, const std::vector<Tensor>& dense, int steps) {
  Model model;
  model.trainer.emplace(model.program, model.options());
  model.trainer->session().set_parameter(kTable, Tensor::from<float>({kIds, 4}, rows));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    model.trainer->session().set_parameter(kDense[i], dense[i]);
  }
  Course course;
  for (int step = 0; step < steps; ++step) {
    course.losses.push_back(model.trainer->step(clicks(step * kBatch, (step + 1) * kBatch)));
  }
  course.rows = model.parameter(kTable).to_vector<float>();
  for (const char* name : kDense) course.dense.push_back(model.parameter(name));
  return course;
}

struct Case {
  Mode mode;
  int members, servers;
};

class ServerTrainingOf : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Modes, ServerTrainingOf,
                         ::testing::Values(Case{Mode::asynchronous, 1, 1},
                                           Case{Mode::asynchronous, 1, 3},
                                           Case{Mode::synchronous, 1, 2},
                                           Case{Mode::synchronous, 2, 2},
                                           Case{Mode::synchronous, 3, 2}));

TEST_P(ServerTrainingOf, GoesTheWayOfOneProcess) {
  const Case how = GetParam();
  constexpr int kSteps = 10;
  Cluster cluster(how.servers);
  const auto members = static_cast<std::size_t>(how.members);
  cluster.set_members(1, how.members);
  std::vector<Course> courses(members);
  std::vector<float> first_rows;
  std::vector<Tensor> first_dense;
  std::barrier started(how.members);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < how.members; ++rank) {
    threads.emplace_back([&, rank] {
      ServerTrainingOptions options = options_of(how.mode);
      options.pushes = 0;
      Member member(cluster, static_cast<std::uint32_t>(rank + 1), options);
      member.client.join(1, static_cast<std::uint32_t>(rank));
      member.training.start(*member.model.trainer);
      EXPECT_THAT(member.training.tables(), ElementsAre(kTable));
      if (rank == 0) {
        first_rows = rows_of(member.client);
        for (const char* name : kDense) first_dense.push_back(member.model.parameter(name));
      }
      started.arrive_and_wait();
      Course& course = courses[static_cast<std::size_t>(rank)];
      const std::int64_t part = kBatch / how.members;
      for (int step = 0; step < kSteps; ++step) {
        const std::int64_t begin = step * kBatch + rank * part;
        course.losses.push_back(member.training.step(clicks(begin, begin + part)));
      }
      member.training.settle();
      started.arrive_and_wait();
      course.rows = rows_of(member.client);
      for (const char* name : kDense) course.dense.push_back(member.model.parameter(name));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Course alone = trained_alone(first_rows, first_dense, kSteps);
  for (int step = 0; step < kSteps; ++step) {
    double loss = 0;
    for (const Course& course : courses) loss += course.losses[static_cast<std::size_t>(step)];
    EXPECT_NEAR(loss / how.members, alone.losses[static_cast<std::size_t>(step)], 1e-5) << step;
  }
  for (const Course& course : courses) {
    EXPECT_THAT(course.rows, Pointwise(FloatNear(1e-5f), alone.rows));
    for (std::size_t i = 0; i < alone.dense.size(); ++i) {
      EXPECT_THAT(course.dense[i].to_vector<float>(),
                  Pointwise(FloatNear(1e-5f), alone.dense[i].to_vector<float>()));
      EXPECT_EQ(course.dense[i].to_vector<float>(), courses[0].dense[i].to_vector<float>());
    }
  }
}

TEST(ServerTrainingSteps, MayLookAheadAndPushLater) {
  Cluster cluster(2);
  Member member(cluster, 1, options_of(Mode::asynchronous));
  member.training.start(*member.model.trainer);
  const auto batch = [](int step) { return clicks(step % 8 * kBatch, (step % 8 + 1) * kBatch); };
  double first = 0, last = 0;
  member.training.prefetch(batch(0));
  for (int step = 0; step < 200; ++step) {
    member.training.prefetch(batch(step + 1), 1);
    const double loss = member.training.step(batch(step));
    if (step < 8) first += loss / 8;
    if (step >= 192) last += loss / 8;
  }
  member.training.settle();
  EXPECT_LT(last, first / 2);
  EXPECT_EQ(member.training.steps(), 200u);
}

// Runs the steps of a geo task with and without prefetching, from the same values. Rows that are
// here are not fetched again.
TEST(ServerTrainingSteps, LookingAheadWithinAGeoTaskChangesNothing) {
  std::vector<Course> courses;
  for (const bool ahead : {false, true}) {
    Cluster cluster(2);
    Member member(cluster, 1, options_of(Mode::geo));
    member.training.start(*member.model.trainer);
    Course course;
    const auto batch = [](int step) { return clicks(step * kBatch, (step + 1) * kBatch); };
    for (std::uint32_t task = 0; task < 3; ++task) {
      for (std::uint32_t i = 0; i < 4; ++i) {
        const int step = static_cast<int>(4 * task + i);
        if (ahead && i < 3) member.training.prefetch(batch(step + 1), 1);
        course.losses.push_back(
            member.training.step(batch(step), ServerTraining::TaskBatch{task, 1, i, i == 3}));
      }
    }
    course.rows = rows_of(member.client);
    courses.push_back(course);
  }
  EXPECT_EQ(courses[0].losses, courses[1].losses);
  EXPECT_EQ(courses[0].rows, courses[1].rows);
}

// Rows were requested one step earlier. So the second step does not see the changes of rows by the
// first step, but it sees those of dense parameters. Nothing is requested twice.
TEST(ServerTrainingSteps, RowsLookedUpAheadAreOneStepOld) {
  std::vector<std::vector<double>> losses;
  std::vector<std::uint64_t> reads;
  for (const bool ahead : {false, true}) {
    Cluster cluster(1);
    ServerTrainingOptions options = options_of(Mode::asynchronous);
    options.pushes = 0;
    Member member(cluster, 1, options);
    member.training.start(*member.model.trainer);
    const std::uint64_t before = cluster.shard(0).statistics().lookups;
    std::vector<double> course;
    for (int step = 0; step < 4; ++step) {
      if (ahead && step < 3) member.training.prefetch(clicks(0, kBatch), 1);
      course.push_back(member.training.step(clicks(0, kBatch)));
    }
    losses.push_back(course);
    reads.push_back(cluster.shard(0).statistics().lookups - before);
  }
  EXPECT_EQ(reads[0], reads[1]);
  EXPECT_LT(losses[0][1], losses[0][0]);
  EXPECT_NEAR(losses[1][0], losses[0][0], 1e-6);
  EXPECT_LT(losses[1][1], losses[0][0] - 1e-6) << "dense parameters are those after the first step";
  EXPECT_GT(losses[1][1], losses[0][1] + 1e-6) << "rows are those before it";
}

TEST(ServerTrainingSteps, ALookAheadForAnotherBatchDoesNoHarm) {
  Cluster cluster(1);
  Member member(cluster, 1, options_of(Mode::asynchronous));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { member.training.prefetch(clicks(0, 4)); }),
              HasSubstr("start()"));
  member.training.start(*member.model.trainer);
  const double loss =
      member.model.trainer->evaluate(data::from_tensors(clicks(0, 8)).batch(8))["loss"];
  member.training.prefetch(clicks(30, 36));
  EXPECT_NEAR(member.training.step(clicks(0, 8)), loss, 1e-5);
}

// Also in mode geo, where a trainer has local rows.
TEST(ServerTrainingSteps, EvaluationReadsWhatServersHave) {
  Cluster cluster(1);
  Member member(cluster, 1, options_of(Mode::geo));
  member.training.start(*member.model.trainer);
  member.training.step(clicks(0, 8), ServerTraining::TaskBatch{0, 1, 0, true});
  member.training.step(clicks(0, 8), ServerTraining::TaskBatch{1, 1, 0, false});
  Model model;
  model.trainer.emplace(model.program, model.options());
  model.trainer->session().set_parameter(kTable,
                                         Tensor::from<float>({kIds, 4}, rows_of(member.client)));
  for (const char* name : kDense) {
    model.trainer->session().set_parameter(name, member.model.parameter(name));
  }
  const auto test = data::from_tensors(clicks(0, 8));
  EXPECT_NEAR(member.model.trainer->evaluate(test.batch(8))["loss"],
              model.trainer->evaluate(test.batch(8))["loss"], 1e-6);
}

// Also in mode geo, where a trainer pulled them last when it pushed its last task.
TEST(ServerTrainingSteps, WhatOthersHaveTrainedLastIsThereBeforeSaving) {
  for (const Mode mode : {Mode::asynchronous, Mode::geo}) {
    Cluster cluster(1);
    Member first(cluster, 1, options_of(mode)), second(cluster, 2, options_of(mode));
    first.training.start(*first.model.trainer);
    second.training.start(*second.model.trainer);
    first.training.step(clicks(0, 8), ServerTraining::TaskBatch{0, 1, 0, true});
    second.training.step(clicks(8, 16), ServerTraining::TaskBatch{1, 1, 0, true});
    second.training.settle();
    first.training.settle();
    for (const char* name : kDense) {
      EXPECT_EQ(first.model.parameter(name).to_vector<float>(),
                second.model.parameter(name).to_vector<float>())
          << name;
    }
  }
}

TEST(ServerTrainingSteps, EvaluationMakesNoRowsAndPushesNothing) {
  Cluster cluster(1);
  Member member(cluster, 1, options_of(Mode::asynchronous));
  member.training.start(*member.model.trainer);
  const std::uint64_t before = member.client.digest(0);
  const auto data =
      data::from_tensors({{"ids", clicks(0, 8).at("ids")}, {"click", clicks(0, 8).at("click")}});
  EXPECT_GT(member.model.trainer->evaluate(data.batch(4))["loss"], 0);
  EXPECT_EQ(member.client.digest(0), before);
}

TEST(ServerTrainingSteps, ABatchOfATaskCountsOnce) {
  Cluster cluster(1);
  Member member(cluster, 1, options_of(Mode::asynchronous));
  member.training.start(*member.model.trainer);
  member.training.step(clicks(0, 8), ServerTraining::TaskBatch{3, 1, 0});
  member.training.settle();
  const std::vector<float> rows = rows_of(member.client);
  member.training.step(clicks(0, 8), ServerTraining::TaskBatch{3, 1, 0});
  member.training.settle();
  EXPECT_EQ(rows_of(member.client), rows);
  member.training.step(clicks(0, 8), ServerTraining::TaskBatch{3, 1, 1});
  member.training.settle();
  EXPECT_NE(rows_of(member.client), rows);
}

TEST(ServerTrainingSteps, RefusesWhatCannotBe) {
  Cluster cluster(1);
  ParameterClient client(cluster.network(), cluster.client(1));
  Model model({.weight_init = nn::orthogonal()});
  ServerTraining training(client, options_of(Mode::asynchronous), model.program);
  TrainerOptions options = model.options();
  training.extend(options);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { Trainer(model.program, options); }),
              HasSubstr("cannot be made by \"orthogonal\""));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { training.step(clicks(0, 1)); }),
              HasSubstr("start()"));
}

// The model then computes without servers what it computed with them.
TEST(ServerTraining, BringsTablesHome) {
  Cluster cluster(2);
  Member member(cluster, 1, options_of(Mode::asynchronous));
  Model& model = member.model;
  member.training.start(*model.trainer);
  for (int step = 0; step < 5; ++step) {
    member.training.step(clicks(step * kBatch, (step + 1) * kBatch));
  }
  member.training.settle();
  const data::Batch batch = clicks(0, 60);
  const double by_servers = model.trainer->evaluate(data::from_tensors(batch).batch(60))["loss"];
  EXPECT_THAT(model.program.str(), HasSubstr("servers.look_up"));

  member.training.gather_tables();
  EXPECT_THAT(model.program.str(), Not(HasSubstr("servers.look_up")));
  const Tensor rows = model.parameter(kTable);
  const std::vector<float> theirs = rows_of(member.client);
  EXPECT_EQ(std::vector<float>(rows.data<float>(), rows.data<float>() + rows.elements()), theirs);
  Session alone(model.program);
  for (const char* name : {kTable, kDense[0], kDense[1], kDense[2], kDense[3]}) {
    alone.set_parameter(name, model.parameter(name));
  }
  EXPECT_NEAR(alone.run(batch, {model.loss})[0].data<float>()[0], by_servers, 1e-6);
}

// Each example that is a click counts for all ids that it looks up. Evaluation and repeated
// examples do not count.
TEST(ServerTraining, ShowsAndClicksAreCounted) {
  for (const Mode mode : {Mode::asynchronous, Mode::synchronous, Mode::geo}) {
    Cluster cluster(2);
    cluster.set_members(1, 1);
    ServerTrainingOptions options = options_of(mode);
    options.counts = true;
    options.clicks = "click";
    Member member(cluster, 1, options);
    member.client.join(1, 0);
    member.training.start(*member.model.trainer);
    std::map<std::int64_t, std::pair<int, int>> counted;  // shows and clicks, by id
    for (std::uint32_t step = 0; step < 4; ++step) {
      const data::Batch batch = clicks(step * kBatch, (step + 1) * kBatch);
      member.training.step(batch, ServerTraining::TaskBatch{0, 1, step, step == 3});
      const auto ids = batch.at("ids").to_vector<std::int64_t>();
      const auto labels = batch.at("click").to_vector<float>();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        auto& [shows, clicked] = counted[ids[i]];
        ++shows;
        clicked += labels[i / kFields] > 0 ? 1 : 0;
      }
    }
    member.training.settle();
    member.model.trainer->evaluate(data::from_tensors(clicks(0, 8)).batch(8));
    member.training.wait_for_pushes();
    for (const auto& [show_weight, click_weight] : {std::pair(1, 0), {0, 1}, {2, 3}}) {
      for (const double below : {2.5, 4.5, 8.5}) {
        std::uint64_t expected = 0, evicted = 0;
        for (auto id = counted.begin(); id != counted.end();) {
          const auto& [shows, clicked] = id->second;
          if (show_weight * shows + click_weight * clicked < below) {
            ++expected;
            id = counted.erase(id);
          } else {
            ++id;
          }
        }
        for (std::size_t i = 0; i < cluster.size(); ++i) {
          evicted +=
              cluster.shard(i).table(0)->evict({.show_weight = static_cast<double>(show_weight),
                                                .click_weight = static_cast<double>(click_weight),
                                                .below = below});
        }
        EXPECT_EQ(evicted, expected) << show_weight << " " << click_weight << " " << below;
      }
    }
  }
}

TEST(ServerTraining, ClicksAreAnInputWithANumberForEachExample) {
  const auto refused = [](const std::string& name) {
    return error_of(ErrorKind::usage, [&] {
      Cluster cluster(1);
      ServerTrainingOptions options = options_of(Mode::asynchronous);
      options.counts = true;
      options.clicks = name;
      Member member(cluster, 1, options);
    });
  };
  EXPECT_THAT(refused("clack"), HasSubstr("\"clack\", which is no input; there are "));
  EXPECT_THAT(refused("ids"), HasSubstr("not a number for each example"));
}

}  // namespace
}  // namespace trireme::distributed
