// [model] name: every model that a job may name, and what its keys become.

#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/program.h"
#include "session/job/model.h"
#include "trireme/inspect.h"

namespace trireme::job {
namespace {

using ::testing::HasSubstr;

const data::Column kPicture{"image", f32, {3, 32, 32}};
const Columns kPictures{{kPicture}, {"label", i64, {}}, 10};
const Columns kTable{
    {{"user", i64, {}, 11}, {"item", i64, {}, 7}, {"age", f32, {2}}, {"job", f32, {1}}},
    {"target", f32, {1}},
    0};

// The parameters to train of the network of these lines in [model].
struct Built {
  Built(const std::string& lines, const Columns& columns, const std::string& loss)
      : root(parse_toml("[data]\ntrain = \"mnist/train\"\n[model]\n" + lines +
                            "\n[train]\nloss = \"" + loss + "\"\n",
                        "x.toml")),
        network(build_network(program, read_settings(root), columns, "")) {}
  std::int64_t parameters() const { return trainable_elements(program); }
  Node root;
  Program program{"x"};
  Network network;
};

std::int64_t picture_model(const std::string& lines) {
  return Built(lines, kPictures, "cross_entropy").parameters();
}
std::int64_t table_model(const std::string& lines) {
  const Built built(lines, kTable, "binary_cross_entropy");
  EXPECT_EQ(built.network.logits.shape(), (Shape{batch, 1})) << lines;
  return built.parameters();
}

TEST(JobModel, EveryNameBuildsItsModel) {
  for (const BankModel& model : picture_models()) {
    const Built built("name = \"" + model.name + "\"", kPictures, "cross_entropy");
    EXPECT_EQ(built.network.logits.shape(), (Shape{batch, 10})) << model.name;
    EXPECT_EQ(built.network.layers, 0);
    EXPECT_FALSE(takes_many(read_settings(built.root)));
  }
  for (const BankModel& model : column_models()) {
    const Built built("name = \"" + model.name + "\"", kTable, "mse");
    EXPECT_TRUE(takes_many(read_settings(built.root)));
  }
}

TEST(JobModel, KeysBecomeOptions) {
  EXPECT_EQ(picture_model("name = \"resnet20\""), 269722);
  EXPECT_EQ(picture_model("name = \"resnet20\"\nclasses = 100"), 269722 + 90 * 65);
  EXPECT_EQ(picture_model("name = \"resnet20\"\nshortcut = \"project\""), 272474);
  EXPECT_EQ(picture_model("name = \"mobilenet_v2\"\nclasses = 1000\nsmall_input = true"), 3504872);
  EXPECT_EQ(picture_model("name = \"mlp\"\nhidden = [4]"), 3072 * 4 + 4 + 40 + 10);
  EXPECT_EQ(picture_model("name = \"vgg11\"\nwidth = 0.125\nhidden = [5]\nbatch_norm = true"),
            picture_model("name = \"vgg11\"\nwidth = 0.125\nhidden = [5]") +
                2 * (8 + 16 + 32 * 2 + 64 * 4));
}

TEST(JobModel, SequencesOfEveryKind) {
  const auto transformer = [](const data::Column& column, const std::string& lines) {
    const Columns columns{{column}, {"label", i64, {}}, 10};
    return Built("name = \"transformer_encoder\"\nwidth = 8\nheads = 2\n" + lines, columns,
                 "cross_entropy")
        .parameters();
  };
  // Weights, biases and norms of two blocks of inner width 32, the last norm, the last layer.
  const std::int64_t body = 2 * (4 * 64 + 2 * 256 + 3 * 8 + 40 + 32) + 16 + 90;
  const data::Column ids{"ids", i64, {12}, 50}, numbers{"steps", f32, {12, 6}};
  EXPECT_EQ(transformer(ids, "padding_id = 0"), 50 * 8 + body);
  EXPECT_EQ(transformer(ids, "rows = 60\nsparse_gradient = true"), 60 * 8 + body);
  EXPECT_EQ(transformer(numbers, "pooling = \"first\"\ncausal = true"), 6 * 8 + 8 + body);
  EXPECT_EQ(transformer(kPicture, ""), 96 * 8 + 8 + body);
  EXPECT_EQ(transformer(kPicture, "patch = 8\npositions = \"learned\""),
            192 * 8 + 8 + 16 * 8 + body);
  EXPECT_EQ(transformer(numbers, "pre_norm = false\nlayers = 1\nfeed_forward = 4"),
            6 * 8 + 8 + 4 * 64 + 64 + 3 * 8 + 12 + 32 + 90);
}

TEST(JobModel, TablesOfIdsAndNumbers) {
  // 18 ids, 3 numbers: a weight each; a table of width 4; layers of 2 * 4 + 3 -> 5 -> 1.
  const std::int64_t wide_and_deep = 18 + 3 + 18 * 4 + 11 * 5 + 5 + 5 + 1;
  EXPECT_EQ(table_model("name = \"wide_and_deep\"\nwidth = 4\nhidden = [5]"), wide_and_deep);
  EXPECT_EQ(table_model("name = \"wide_and_deep\"\nwidth = 4\nhidden = [5]\n"
                        "crosses = [[\"item\", \"user\"]]"),
            wide_and_deep + 77);
  EXPECT_EQ(table_model("name = \"deepfm\"\nwidth = 4\nhidden = [5]"),
            18 + 3 + (18 + 3) * 4 + 20 * 5 + 5 + 5 + 1);
  EXPECT_EQ(table_model("name = \"two_tower\"\nwidth = 4"), 18 * 4 + 18 + 1);
  const Built turned("name = \"two_tower\"\nuser = \"item\"\nitem = \"user\"\nmean = 3", kTable,
                     "mse");
  const Value table = turned.program.find("two_tower_0/user/embedding_0.weight");
  EXPECT_EQ(table.shape(), (Shape{7, 32}));
}

TEST(JobModel, DecayAndInitializersAreSet) {
  const Built built("name = \"resnet20\"\ndecay_biases = false\nweight_init = \"orthogonal\"",
                    kPictures, "cross_entropy");
  EXPECT_EQ(built.program.settings("resnet_0/linear_0.bias").weight_decay, 0);
  EXPECT_EQ(built.program.settings("resnet_0/linear_0.weight").weight_decay, 1);
  EXPECT_EQ(built.program.ir().find_parameter("resnet_0/conv2d_0.weight")->initializer.name,
            "orthogonal");
}

TEST(JobModel, OfTwoClassesGivesAProbability) {
  const Built built("name = \"deepfm\"", kTable, "binary_cross_entropy");
  EXPECT_EQ(built.network.task, Task::binary);
  EXPECT_EQ(built.network.output.get()->producer->name(), "sigmoid");
  ASSERT_EQ(built.network.metrics.size(), 1u);
  EXPECT_EQ(built.network.metrics[0].name, "accuracy");
}

TEST(JobModel, TheTargetSaysHowManyNumbersThereAre) {
  Columns columns = kPictures;
  columns.target = {"target", f32, {3}};
  const Built built("name = \"mlp\"", columns, "mse");
  EXPECT_EQ(built.network.logits.shape(), (Shape{batch, 3}));
}

TEST(JobModel, PicturesAreNormalisedForLayersToo) {
  const Built built(
      "normalize = { mean = 0.5, stddev = [1, 2, 3] }\n"
      "layers = [\"flatten\", { linear = { units = 10 } }]",
      kPictures, "cross_entropy");
  EXPECT_THAT(built.program.str(), HasSubstr("normalize_0"));
  EXPECT_EQ(built.network.layers, 2);
}

}  // namespace
}  // namespace trireme::job
