// The layers that a job names, by what becomes of the shape.

#include <gmock/gmock.h>

#include <cmath>

#include "base/testing/error.h"
#include "session/job/model.h"
#include "trireme/session.h"

namespace trireme::job {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Shape after(const std::string& layers, Shape input) {
  const Node root = parse_toml("all = [" + layers + "]", "x.toml");
  Program program;
  input.insert(input.begin(), batch);
  return apply_layers(*root.find("all"), {{{"x"}, program.input("x", f32, input)}}).shape();
}

TEST(JobLayers, OfPictures) {
  const Shape picture{6, 9, 8};
  EXPECT_EQ(after("{ group_norm = { groups = 3 } }", picture), (Shape{batch, 6, 9, 8}));
  EXPECT_EQ(after("{ instance_norm = { affine = true } }", picture), (Shape{batch, 6, 9, 8}));
  EXPECT_EQ(after("{ prelu = { per_channel = true } }", picture), (Shape{batch, 6, 9, 8}));
  EXPECT_EQ(after("{ maxout = { pieces = 3 } }", picture), (Shape{batch, 2, 9, 8}));
  EXPECT_EQ(after("{ local_response_norm = { size = 3, k = 2 } }", picture),
            (Shape{batch, 6, 9, 8}));
  EXPECT_EQ(after("{ lp_pool = { power = 1, kernel = [3, 2] } }", picture),
            (Shape{batch, 6, 3, 4}));
  EXPECT_EQ(after("\"global_max_pool\"", picture), (Shape{batch, 6}));
  EXPECT_EQ(after("{ conv2d = { channels = 4, weight_form = \"binary\" } }", picture),
            (Shape{batch, 4, 7, 6}));
  EXPECT_THAT(
      error_of(ErrorKind::data,
               [&] { after("{ conv2d = { channels = 4, weight_form = \"log9\" } }", picture); }),
      HasSubstr("log3"));
  EXPECT_EQ(after("{ adaptive_avg_pool = { size = [2, 3] } }", picture), (Shape{batch, 6, 2, 3}));
  EXPECT_EQ(after("{ adaptive_max_pool = { size = 4 } }", picture), (Shape{batch, 6, 4, 4}));
  EXPECT_EQ(
      after("{ conv_transpose2d = { channels = 4, stride = 2, output_padding = 1 } }", picture),
      (Shape{batch, 4, 20, 18}));
}

TEST(JobLayers, OfLines) {
  const Shape line{4, 20};
  EXPECT_EQ(after("{ conv1d = { channels = 6, padding = [2, 0], activation = \"relu\" } }", line),
            (Shape{batch, 6, 20}));
  EXPECT_EQ(after("{ conv1d = { channels = 6, stride = 2, padding = \"same\" } }", line),
            (Shape{batch, 6, 10}));
  EXPECT_EQ(after("{ conv_transpose1d = { channels = 6, stride = 2 } }", line),
            (Shape{batch, 6, 41}));
  EXPECT_EQ(after("{ max_pool1d = { kernel = 3, ceil_mode = true } }", line), (Shape{batch, 4, 7}));
  EXPECT_EQ(after("{ avg_pool1d = { kernel = 3, stride = 2, padding = [2, 0], count_include_pad = "
                  "false } }",
                  line),
            (Shape{batch, 4, 10}));
  EXPECT_EQ(after("{ adaptive_avg_pool1d = { size = 6 } }", line), (Shape{batch, 4, 6}));
  EXPECT_EQ(after("{ adaptive_max_pool1d = { size = 7 } }", line), (Shape{batch, 4, 7}));
  EXPECT_EQ(after("\"global_avg_pool1d\"", line), (Shape{batch, 4}));
  EXPECT_EQ(after("\"global_max_pool1d\"", line), (Shape{batch, 4}));
  EXPECT_EQ(after("{ lp_pool1d = { power = 3, kernel = 4 } }", line), (Shape{batch, 4, 5}));
  EXPECT_EQ(after("{ rms_norm = { axes = 2, affine = false } }", line), (Shape{batch, 4, 20}));
}

TEST(JobLayers, OfVolumes) {
  const Shape volume{4, 6, 9, 8};
  EXPECT_EQ(after("{ conv3d = { channels = 2, padding = \"same\", stride = [1, 2, 2] } }", volume),
            (Shape{batch, 2, 6, 5, 4}));
  EXPECT_EQ(after("{ conv_transpose3d = { channels = 3, kernel = 2, stride = 2, padding = [0, 1, "
                  "1], output_padding = [1, 0, 0] } }",
                  volume),
            (Shape{batch, 3, 13, 16, 14}));
  EXPECT_EQ(after("{ max_pool3d = { kernel = [3, 2, 2], padding = 1, ceil_mode = true } }", volume),
            (Shape{batch, 4, 3, 5, 5}));
  EXPECT_EQ(after("{ avg_pool3d = { count_include_pad = false } }", volume),
            (Shape{batch, 4, 3, 4, 4}));
  EXPECT_EQ(after("{ adaptive_avg_pool3d = { size = [2, 3, 4] } }", volume),
            (Shape{batch, 4, 2, 3, 4}));
  EXPECT_EQ(after("{ adaptive_max_pool3d = { size = 2 } }", volume), (Shape{batch, 4, 2, 2, 2}));
  EXPECT_EQ(after("\"global_avg_pool3d\"", volume), (Shape{batch, 4}));
  EXPECT_EQ(after("\"global_max_pool3d\"", volume), (Shape{batch, 4}));
  EXPECT_THAT(error_of([&] { after("{ max_pool3d = { kernel = [1, 2] } }", volume); }),
              HasSubstr("a list of 3"));
}

TEST(JobLayers, ActivationsWithOptions) {
  EXPECT_EQ(after("\"glu\"", {6, 4}), (Shape{batch, 6, 2}));
  EXPECT_EQ(after("{ glu = { axis = 1 } }, { swish = { beta = 2 } }", {6, 4}),
            (Shape{batch, 3, 4}));
  EXPECT_EQ(after("\"threshold\", { threshold = { limit = 0.5, value = -1 } }", {6}),
            (Shape{batch, 6}));
}

TEST(JobLayers, OfSequences) {
  const std::string encoder =
      "{ transformer_encoder = { layers = 2, heads = 4, feed_forward = 32, activation = \"gelu\", "
      "dropout = 0, pre_norm = false, causal = true } }";
  EXPECT_EQ(after("{ im2sequence = { kernel = [1, 28] } }", {1, 28, 28}), (Shape{batch, 28, 28}));
  EXPECT_EQ(after("{ im2sequence = { kernel = 7 } }, \"sinusoidal_positions\"", {4, 28, 28}),
            (Shape{batch, 16, 196}));
  EXPECT_EQ(
      after("{ lstm = { units = 3, bidirectional = true } }, { gru = { units = 2 } }", {5, 4}),
      (Shape{batch, 5, 2}));
  EXPECT_EQ(after("\"learned_positions\", " + encoder + ", \"mean\", { linear = { units = 3 } }",
                  {16, 8}),
            (Shape{batch, 3}));
}

TEST(JobLayers, OfAttentionWithPositions) {
  for (const char* options :
       {"key_heads = 2, rotary = true, blockwise = true", "relative = true"}) {
    const std::string layer =
        std::string("{ transformer_encoder = { heads = 4, layers = 1, ") + options + " } }";
    EXPECT_EQ(after(layer, {16, 8}), (Shape{batch, 16, 8}));
  }
}

TEST(JobLayers, OfSequencesOfDifferentLengths) {
  const auto made = [](const std::string& layers) {
    const Node root = parse_toml("all = [{ embedding = { dim = 4 } }, " + layers + "]", "x.toml");
    Program program;
    data::Column column{"x"};
    column.ids = 9;
    return apply_layers(*root.find("all"), {{column, program.input("x", i64, ragged())}}).shape();
  };
  const Dim rows("x");
  EXPECT_EQ(
      made("{ sequence_conv = { units = 3, kernel = 4, first = -3, activation = \"relu\" } }"),
      (Shape{rows, 3}));
  EXPECT_EQ(made("{ row_conv = { future = 2 } }, \"sequence_reverse\", \"sequence_last\""),
            (Shape{batch, 4}));
  EXPECT_EQ(made("{ lstm = { units = 6, layers = 2, bidirectional = true, projection = 2 } }"),
            (Shape{rows, 4}));
  EXPECT_EQ(made("{ gru = { units = 5, reverse = true } }, { sequence_top_k = { k = 3 } }"),
            (Shape{batch, 15}));
  EXPECT_EQ(made("{ simple_rnn = { units = 5 } }, \"layer_norm\", \"sequence_sqrt_n\""),
            (Shape{batch, 5}));
  EXPECT_EQ(made("\"sinusoidal_positions\", { transformer_encoder = { heads = 2, layers = 1 } }"),
            (Shape{rows, 4}));
  EXPECT_EQ(made("{ learned_positions = { max_steps = 50 } }, \"sequence_max\""),
            (Shape{batch, 4}));
  EXPECT_THAT(error_of([&] { made("{ lstm = { layers = 2 } }"); }),
              HasSubstr("\"units\" is missing"));
  EXPECT_THAT(error_of([&] { made("\"sequence_maxx\""); }),
              HasSubstr("did you mean \"sequence_max\""));
  EXPECT_THAT(error_of([&] { made("\"sequence_mean\", \"sequence_mean\""); }),
              HasSubstr("its rows are not rows of sequences"));
}

std::string refusal(const std::string& layers, const Shape& input) {
  return error_of([&] { after(layers, input); });
}

TEST(JobLayers, MistakesNameTheLine) {
  EXPECT_THAT(refusal("{ group_norm = {} }", {6, 9, 8}), HasSubstr("x.toml:1"));
  EXPECT_THAT(refusal("{ transformer_encoder = { heads = 3 } }", {5, 8}),
              HasSubstr("a width of 8 cannot be divided into 3 heads"));
  EXPECT_THAT(refusal("{ transformer_encoder = { heads = 2 } }", {3, 5, 8}),
              HasSubstr("sequences are [batch, steps, width]"));
  EXPECT_THAT(refusal("{ transformer_encoder = { heads = 2, layers = 2000 } }", {5, 8}),
              HasSubstr("must be at most 200"));
  EXPECT_THAT(refusal("{ transformer_encoder = { heads = 2, head = 2 } }", {5, 8}),
              HasSubstr("head"));
  EXPECT_THAT(refusal("{ conv1d = { channels = 6, padding = \"some\" } }", {5, 8}),
              HasSubstr("must be \"same\", \"valid\" or integers"));
  const std::string huge = "{ conv_transpose2d = { channels = 1, stride = 1048576 } }, ";
  EXPECT_THAT(refusal(huge + huge + huge + huge + "\"flatten\"", {1, 8, 8}),
              HasSubstr("below 2^62"));
  EXPECT_THAT(refusal(huge + huge + "{ adaptive_max_pool = { size = 3 } }", {1, 8, 8}),
              HasSubstr("above 2^31"));
  EXPECT_THAT(refusal("{ mean = { axis = 99 } }", {5, 8}),
              HasSubstr("must be at most 8, but is 99"));
}

// --- Branches

// The network of two columns: `image` f32[3, 8, 8] and `user` i64[], with 11 ids.
Value branched(Program& program, const std::string& layers) {
  const Node root = parse_toml("all = [\n" + layers + "]", "x.toml");
  const std::vector<Feed> feeds = {
      {{"image", f32, {3, 8, 8}}, program.input("image", f32, {batch, 3, 8, 8})},
      {{"user", i64, {}, 11}, program.input("user", i64, {batch})}};
  return apply_layers(*root.find("all"), feeds, 4);
}

std::string branched_refusal(const std::string& layers) {
  return error_of(ErrorKind::data, [&] {
    Program program;
    branched(program, layers);
  });
}

TEST(JobLayers, Branch) {
  Program program;
  const Value y =
      branched(program,
               "{ conv2d = { channels = 6, kernel = 3, padding = \"same\" }, name = \"a\" },\n"
               "{ relu = {}, name = \"b\" },\n"
               "{ add = {}, inputs = [\"a\", \"b\"], name = \"sum\" },\n"
               "{ concat = {}, inputs = [\"sum\", \"image\"] },\n"
               "{ global_avg_pool = {}, name = \"pooled\" },\n"
               "{ embedding = { dim = 5 }, inputs = \"user\", name = \"of_user\" },\n"
               "{ concat = {}, inputs = [\"pooled\", \"of_user\"] },\n"
               "\"linear\",\n");
  EXPECT_EQ(y.shape(), (Shape{batch, 4}));
  EXPECT_EQ(program.find("embedding_0.weight").shape(), (Shape{11, 5}));
  EXPECT_EQ(program.find("linear_0.weight").shape()[0], Dim(6 + 3 + 5));
}

TEST(JobLayers, JoinsComputeWhatTheySay) {
  Program program;
  const Node root = parse_toml(
      "all = [{ relu = {}, name = \"p\" }, { tanh = {}, inputs = \"x\", name = \"t\" }, "
      "{ multiply = {}, inputs = [\"p\", \"t\", \"x\"], name = \"m\" }, "
      "{ add = {}, inputs = [\"m\", \"x\"], name = \"s\" }, "
      "{ concat = { axis = 1 }, inputs = [\"s\", \"p\"] }]",
      "x.toml");
  const Value x = program.input("x", f32, {batch, 2});
  const Value y = apply_layers(*root.find("all"), {{{"x", f32, {2}}, x}});
  Session session(program);
  const Tensor out = session.run({{"x", Tensor::from<float>({1, 2}, {2, -3})}}, {y})[0];
  ASSERT_EQ(out.shape(), (std::vector<std::int64_t>{1, 4}));
  const double product = 2 * std::tanh(2.0) * 2;
  EXPECT_NEAR(out.data<float>()[0], product + 2, 1e-5);
  EXPECT_NEAR(out.data<float>()[1], -3, 1e-5);
  EXPECT_NEAR(out.data<float>()[2], 2, 1e-5);
  EXPECT_NEAR(out.data<float>()[3], 0, 1e-5);
}

TEST(JobLayers, MistakesInBranchesAreNamed) {
  const std::string flat = "{ flatten = {}, name = \"flat\" },\n";
  const std::string user = "{ embedding = { dim = 5 }, inputs = \"user\", name = \"of_user\" },\n";
  const std::string join = "{ concat = {}, inputs = [\"flat\", \"of_user\"] },\n";
  EXPECT_THAT(branched_refusal(flat + user + "{ concat = {}, inputs = [\"flat\", \"of_usr\"] }"),
              AllOf(HasSubstr("x.toml:4"), HasSubstr("did you mean \"of_user\"?")));
  EXPECT_THAT(branched_refusal(flat + user +
                               "{ concat = {}, inputs = [\"later\", \"flat\"] }, "
                               "{ relu = {}, name = \"later\" }"),
              HasSubstr("no column or earlier layer is called \"later\""));
  EXPECT_THAT(branched_refusal(flat), HasSubstr("no layer takes the column \"user\""));
  EXPECT_THAT(branched_refusal(flat + user + "{ linear = { units = 2 } }"),
              AllOf(HasSubstr("x.toml:2"), HasSubstr("no layer takes the result of this one")));
  EXPECT_THAT(branched_refusal(flat + "{ relu = {}, name = \"flat\" }"),
              AllOf(HasSubstr("\"flat\" is already the name of"), HasSubstr("x.toml:2")));
  EXPECT_THAT(branched_refusal("{ flatten = {}, name = \"user\" }"), HasSubstr("a column"));
  EXPECT_THAT(branched_refusal("{ flatten = {}, name = 3 }"), HasSubstr("must be a text"));
  EXPECT_THAT(branched_refusal("{ flatten = {}, relu = {}, name = \"a\" }"),
              HasSubstr("must have one key that names a layer"));
  EXPECT_THAT(branched_refusal("{ name = \"a\" }"), HasSubstr("but has 0"));
  EXPECT_THAT(branched_refusal("\"add\""), HasSubstr("joins several inputs"));
  EXPECT_THAT(branched_refusal(flat + user + "{ relu = {}, inputs = [\"flat\", \"of_user\"] }"),
              HasSubstr("\"relu\" takes one input"));
  EXPECT_THAT(branched_refusal("{ relu = {}, inputs = [] }"), HasSubstr("at least one input"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         Program program;
                         branched(program, flat + user +
                                               "{ add = {}, inputs = [\"flat\", "
                                               "\"of_user\"] }");
                       }),
              HasSubstr("x.toml:4"));
  Program program;
  EXPECT_EQ(branched(program, flat + user + join).shape(), (Shape{batch, 197}));
}

}  // namespace
}  // namespace trireme::job
