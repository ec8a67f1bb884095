// The layers that a job names, by what becomes of the shape.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "session/job/model.h"

namespace trireme::job {
namespace {

using ::testing::HasSubstr;

Shape after(const std::string& layers, Shape input) {
  const Node root = parse_toml("all = [" + layers + "]", "x.toml");
  Program program;
  input.insert(input.begin(), batch);
  return apply_layers(*root.find("all"), program.input("x", f32, input)).shape();
}

TEST(JobLayers, OfPictures) {
  const Shape picture{6, 9, 8};
  EXPECT_EQ(after("{ group_norm = { groups = 3 } }", picture), (Shape{batch, 6, 9, 8}));
  EXPECT_EQ(after("{ instance_norm = { affine = true } }", picture), (Shape{batch, 6, 9, 8}));
  EXPECT_EQ(after("{ prelu = { per_channel = true } }", picture), (Shape{batch, 6, 9, 8}));
  EXPECT_EQ(after("{ maxout = { pieces = 3 } }", picture), (Shape{batch, 2, 9, 8}));
  EXPECT_EQ(after("\"global_max_pool\"", picture), (Shape{batch, 6}));
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
}

TEST(JobLayers, OfSequences) {
  const std::string encoder =
      "{ transformer_encoder = { layers = 2, heads = 4, feed_forward = 32, activation = \"gelu\", "
      "dropout = 0, pre_norm = false, causal = true } }";
  EXPECT_EQ(after("{ im2sequence = { kernel = [1, 28] } }", {1, 28, 28}), (Shape{batch, 28, 28}));
  EXPECT_EQ(after("{ im2sequence = { kernel = 7 } }, \"sinusoidal_positions\"", {4, 28, 28}),
            (Shape{batch, 16, 196}));
  EXPECT_EQ(after("\"learned_positions\", " + encoder + ", \"mean\", { linear = { units = 3 } }",
                  {16, 8}),
            (Shape{batch, 3}));
}

TEST(JobLayers, OfSequencesOfDifferentLengths) {
  const auto made = [](const std::string& layers) {
    const Node root = parse_toml("all = [{ embedding = { dim = 4 } }, " + layers + "]", "x.toml");
    Program program;
    return apply_layers(*root.find("all"), program.input("x", i64, ragged()), {.ids = 9}).shape();
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

}  // namespace
}  // namespace trireme::job
