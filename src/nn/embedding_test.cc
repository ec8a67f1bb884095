// Tests of nn::embedding and of row-sparse updates of a table.

#include <gmock/gmock.h>

#include "nn/testing/running.h"
#include "nn/updates.h"
#include "transforms/autodiff.h"

namespace trireme::nn {
namespace {

using ops::RefTensors;
using ::testing::HasSubstr;

TEST(Embedding, LooksUpRowsByIdsOfAnyShape) {
  Program program;
  const Value ids = program.input("ids", i32, {2, 3});
  const Value x = embedding(ids, {.num_embeddings = 5, .dim = 2, .name = "words"});
  EXPECT_EQ(x.get()->type.str(), "f32[2, 3, 2]");
  RefTensors values = first_values(program);
  values["words.weight"] = tensor({5, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41});
  const RefTensors inputs = {{"ids", tensor({2, 3}, {4, 0, 1, 1, 3, 2})}};
  EXPECT_EQ(run(program, x, inputs, values).data,
            (std::vector<double>{40, 41, 0, 1, 10, 11, 10, 11, 30, 31, 20, 21}));
}

TEST(Embedding, PaddingIsZero) {
  Program program;
  const Value ids = program.input("ids", i64, {3});
  const Value x =
      embedding(ids, {.num_embeddings = 4, .dim = 2, .padding_row = 1, .name = "words"});
  RefTensors values = first_values(program);
  const std::vector<double> first = values["words.weight"].data;
  EXPECT_EQ(first[2], 0);
  EXPECT_EQ(first[3], 0);
  EXPECT_NE(first[0], 0);
  values["words.weight"].data[2] = 5;  // any value
  const RefTensors inputs = {{"ids", tensor({3}, {1, 0, 1})}};
  EXPECT_EQ(run(program, x, inputs, values).data,
            (std::vector<double>{0, 0, first[0], first[1], 0, 0}));
  const auto copy = Program::parse(program.str());  // the text form holds padding_row
  EXPECT_EQ(copy.str(), program.str());
}

TEST(Embedding, ErrorsNameTheLayer) {
  Program program;
  const Value ids = program.input("ids", i64, {3}), x = program.input("x", f32, {3});
  EXPECT_THAT(error_of([&] { embedding(ids, {.dim = 2}); }),
              HasSubstr("num_embeddings must be above 0"));
  EXPECT_THAT(error_of([&] { embedding(ids, {.num_embeddings = 2}); }),
              HasSubstr("dim must be above 0"));
  EXPECT_THAT(error_of([&] { embedding(x, {.num_embeddings = 2, .dim = 2, .name = "words"}); }),
              testing::AllOf(HasSubstr("words: ids must be integers, not f32"), HasSubstr("cast")));
  EXPECT_THAT(error_of([&] { embedding(ids, {.num_embeddings = 2, .dim = 2, .padding_row = 2}); }),
              HasSubstr("padding_row 2 is outside [0, 2)"));
}

TEST(Embedding, RowSparseGradientLeavesOutPadding) {
  Program program;
  const Value ids = program.input("ids", u8, {4});
  const Value x = embedding(
      ids,
      {.num_embeddings = 4, .dim = 1, .sparse_gradient = true, .padding_row = 1, .name = "words"});
  const Value weight = program.find("words.weight");
  const auto gradient = transforms::gradients_by_rows(sum(x * x).get(), {weight.get()})[0];
  RefTensors values = first_values(program);
  values["words.weight"] = tensor({4, 1}, {5, 0, 7, 8});
  const RefTensors inputs = {{"ids", tensor({4}, {1, 3, 1, 0})}};
  EXPECT_EQ(run(program, x, inputs, values).data, (std::vector<double>{0, 8, 0, 5}));
  EXPECT_EQ(run(program, Value(gradient.rows), inputs, values).data,
            (std::vector<double>{-1, 3, -1, 0}));
  EXPECT_EQ(run(program, Value(gradient.values), inputs, values).data,
            (std::vector<double>{0, 16, 0, 10}));
}

// A table [4, 2] with a row-sparse gradient from inputs: values for rows 2, 0, 2 and -1.
struct Table {
  Program program;
  Value weight = program.parameter("table", f64, {4, 2});
  Value rows = program.input("rows", i64, {4}), g = program.input("g", f64, {4, 2});
  RefTensors values;

  void apply(const Optimizer& optimizer, const UpdateOptions& options = {}) {
    apply_updates(optimizer, {weight}, std::vector<Gradient>{{g, rows}}, options);
    values = first_values(program);
    values["table"] = tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  }
  void step() {
    const RefTensors inputs = {{"rows", tensor({4}, {2, 0, 2, -1})},
                               {"g", tensor({4, 2}, {1, 0, 0, 3, 3, 0, 99, 99})}};
    ops::evaluate(program.ir(), inputs, values, {});
  }
  const std::vector<double>& operator[](const std::string& name) { return values.at(name).data; }
};

TEST(SparseUpdates, ChangeOnlyTheirRows) {
  Table table;
  table.apply(Sgd{.learning_rate = 0.5});
  table.step();
  EXPECT_EQ(table["table"], (std::vector<double>{1, 0.5, 3, 4, 3, 6, 7, 8}));
}

TEST(SparseUpdates, LeaveStateOfOtherRowsUnchanged) {
  Table table;
  table.apply(Adam{.learning_rate = 0.5});
  table.values["table.adam_m"].data[2] = 3;  // row 1: a dense update would decay it
  table.step();
  EXPECT_EQ(table["table.adam_m"][2], 3);
  EXPECT_NEAR(table["table.adam_m"][4], 0.1 * 4, 1e-12);
  EXPECT_NEAR(table["table.adam_v"][4], 0.001 * 16, 1e-12);
  EXPECT_EQ(table["table"][2], 3);
  EXPECT_NEAR(table["table"][4], 5 - 0.5, 1e-6);  // the first step of Adam
  EXPECT_EQ(table["table"][5], 6);
}

// The norm of the gradient is that of the summed rows: row 2 gets (4, 0) and row 0 gets (0, 3).
TEST(SparseUpdates, AreClippedByTheSummedRows) {
  for (const Clip& clip : {Clip{.norm = 2.5}, Clip{.global_norm = 2.5}}) {
    Table table;
    table.apply(Sgd{.learning_rate = 1, .clip = clip});
    table.step();
    EXPECT_NEAR(table["table"][4], 5 - 2, 1e-5);
    EXPECT_NEAR(table["table"][1], 2 - 1.5, 1e-5);
  }
  Table table;
  table.apply(Sgd{.learning_rate = 1, .clip = {.value = 3.5}});
  table.step();
  EXPECT_EQ(table["table"][4], 5 - 3.5);
  EXPECT_EQ(table["table"][1], 2 - 3);
}

TEST(SparseUpdates, UseTheScheduleAndTheRateOfTheTable) {
  Table table;
  table.program.configure("table", {.learning_rate = 10});
  table.apply(Sgd{.learning_rate = Schedule::step_decay(0.1, 1, 0.5)});
  table.step();
  table.step();
  EXPECT_NEAR(table["table"][4], 5 - 4 * (1 + 0.5), 1e-12);
}

TEST(SparseUpdates, RejectOptionsThatNeedAllRows) {
  const auto error = [](const Optimizer& optimizer, const UpdateOptions& options = {}) {
    Table table;
    return error_of([&] { table.apply(optimizer, options); });
  };
  EXPECT_THAT(error(Sgd{.weight_decay = 0.1}),
              testing::AllOf(HasSubstr("the gradient of table is row-sparse"),
                             HasSubstr("configure(\"table\", {.weight_decay = 0})")));
  EXPECT_THAT(error(AdamW{}), HasSubstr("weight decay"));
  EXPECT_THAT(error(Sgd{}, {.l2 = 0.1}), HasSubstr("penalty"));
  EXPECT_THAT(error(Sgd{}, {.accumulate = 2}), HasSubstr("accumulating"));
  EXPECT_THAT(error(Sgd{}, {.average = Average::exponential()}), HasSubstr("averaging"));
  EXPECT_THAT(error(Lamb{.weight_decay = 0}), HasSubstr("LAMB"));
  EXPECT_EQ(error(Ftrl{.l1 = 0.1, .l2 = 0.1}), "no error");

  Table excepted;
  excepted.program.configure("table", {.weight_decay = 0});
  EXPECT_EQ(error_of([&] { excepted.apply(AdamW{}, {.l1 = 0.1}); }), "no error");
  Table penalised;
  penalised.program.configure("table", {.l1 = 0.5});
  EXPECT_THAT(error_of([&] { penalised.apply(Sgd{}); }), HasSubstr("its own l1 or l2"));
}

}  // namespace
}  // namespace trireme::nn
