// Every old name of the C++ API does the same as the new one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The text of the Program that `build` makes of a batch of ids, rows, images and volumes.
struct Inputs {
  Value ids, x, image, volume;
};
template <class Build>
std::string text_of(const Build& build) {
  Program program("names");
  const Inputs in{program.input("ids", i64, {batch}), program.input("x", f32, {batch, 4}),
                  program.input("image", f32, {batch, 3, 8, 8}),
                  program.input("volume", f32, {batch, 2, 4, 4, 4})};
  build(program, in);
  std::string text = program.str();
  std::string without_lines;  // the lines of this file differ
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    without_lines += line.substr(0, line.find("   // ")) + "\n";
    begin = end + 1;
  }
  return without_lines;
}

template <class Old, class New>
void expect_same(const Old& old_names, const New& new_names) {
  const std::string expected = text_of(new_names);
  EXPECT_THAT(expected, HasSubstr(" = "));
  EXPECT_EQ(text_of(old_names), expected);
}

TEST(OldNames, Functions) {
  expect_same([](Program&, const Inputs& in) { select(in.x < 0.0, in.x, 1.0); },
              [](Program&, const Inputs& in) { where(in.x < 0.0, in.x, 1.0); });
  expect_same([](Program&, const Inputs& in) { models::normalise(in.image, {0.5}, {0.25}); },
              [](Program&, const Inputs& in) { models::normalize(in.image, {0.5}, {0.25}); });
  expect_same([](Program&, const Inputs& in) { top_k(in.x, in.ids, 2); },
              [](Program&, const Inputs& in) { top_k_accuracy(in.x, in.ids, 2); });
  expect_same(
      [](Program&, const Inputs& in) {
        emit("select", {in.x < 0.0, in.x, 1.0}, {}, SourceLocation::current());
      },
      [](Program&, const Inputs& in) { where(in.x < 0.0, in.x, 1.0); });
}

TEST(OldNames, OptionsOfOps) {
  expect_same(
      [](Program& p, const Inputs&) {
        random_normal(p, {.shape = {2, 3}, .stream = 1, .deviation = 0.5});
      },
      [](Program& p, const Inputs&) {
        random_normal(p, {.shape = {2, 3}, .stream = 1, .stddev = 0.5});
      });
  expect_same(
      [](Program&, const Inputs& in) {
        avg_pool(in.image, {.kernel = {2, 2}, .stride = {2, 2}, .count_padding = false});
      },
      [](Program&, const Inputs& in) {
        avg_pool(in.image, {.kernel = {2, 2}, .stride = {2, 2}, .count_include_pad = false});
      });
}

TEST(OldNames, OptionsOfLayers) {
  expect_same(
      [](Program&, const Inputs& in) { nn::embedding(in.ids, {.rows = 7, .width = 3}); },
      [](Program&, const Inputs& in) { nn::embedding(in.ids, {.num_embeddings = 7, .dim = 3}); });
  expect_same(
      [](Program&, const Inputs& in) { nn::avg_pool(in.image, {.count_padding = false}); },
      [](Program&, const Inputs& in) { nn::avg_pool(in.image, {.count_include_pad = false}); });
  expect_same(
      [](Program&, const Inputs& in) { nn::avg_pool3d(in.volume, {.count_padding = false}); },
      [](Program&, const Inputs& in) { nn::avg_pool3d(in.volume, {.count_include_pad = false}); });
  expect_same(
      [](Program&, const Inputs& in) {
        nn::add_learned_positions(reshape(in.x, {.shape = {batch, 2, 2}}), {.most_steps = 2});
      },
      [](Program&, const Inputs& in) {
        nn::add_learned_positions(reshape(in.x, {.shape = {batch, 2, 2}}), {.max_steps = 2});
      });
}

TEST(OldNames, OptionsOfModels) {
  const auto positions = models::Positions::learned;
  expect_same(
      [&](Program&, const Inputs& in) {
        models::transformer_encoder(reshape(in.x, {.shape = {batch, 2, 2}}),
                                    {.width = 8, .positions = positions, .most_steps = 5});
      },
      [&](Program&, const Inputs& in) {
        models::transformer_encoder(reshape(in.x, {.shape = {batch, 2, 2}}),
                                    {.width = 8, .positions = positions, .max_steps = 5});
      });
  const auto tagger = [](const models::TaggerOptions& options) {
    Program program("tagger");
    const Value words = program.input("words", i64, ragged());
    const Value position = program.input("position", i64, {batch});
    models::tagger({{words, 9}}, position, options);
    return program.str().size();
  };
  EXPECT_EQ(tagger({.most_distance = 3}), tagger({.max_distance = 3}));
  EXPECT_NE(tagger({.most_distance = 3}), tagger({.max_distance = 333}));
}

TEST(OldNames, Optimizers) {
  const auto rmsprop = [](const RmsProp& options) {
    return [options](Program&, const Inputs& in) {
      const Value loss = mean(nn::linear(in.x, {.units = 1}));
      minimize(loss, options);
    };
  };
  expect_same(rmsprop({.centred = true}), rmsprop({.centered = true}));
  const Schedule old_name = Schedule(0.1).on_plateau({.least = 0.25});
  ASSERT_TRUE(old_name.plateau);
  EXPECT_EQ(old_name.plateau->min_factor, 0.25);
}

TEST(OldNames, RecurrentNetworks) {
  const auto network = [](const auto& body) {
    Program program("rnn");
    const Value x = program.input("x", f32, ragged({batch}, {3}));
    body(x);
    return program.str().size();
  };
  const std::size_t old_names = network([](const Value& x) {
    const nn::RnnResult result = nn::run_rnn([&](nn::Step& step) {
      const Value in = step.input(x);
      const nn::MemoryOptions options{.width = 3};
      const Value h = step.memory(options);
      step.update(h, h + in);
      step.output(h);
    });
    EXPECT_EQ(result.memories.size(), 1u);
    EXPECT_EQ(result.memories[0].get(), result.states[0].get());
    const std::vector<Value>& all = result.memories;
    EXPECT_EQ(all.size(), 1u);
  });
  EXPECT_GT(old_names, 0u);
}

TEST(OldNames, Data) {
  const data::Batch old_name = data::made_clicks({.examples = 3, .ids = 10}).all();
  const data::Batch new_name = data::synthetic_clicks({.examples = 3, .ids = 10}).all();
  EXPECT_EQ(old_name.at("features").to_vector<float>(), new_name.at("features").to_vector<float>());

  const data::Dataset images =
      data::from_tensors({{"image", Tensor::from<float>({1, 1, 1, 2}, {0.25f, 0.75f})}});
  EXPECT_EQ(images.normalise({0.5f}, {0.25f}).all().at("image").to_vector<float>(),
            images.normalize({0.5f}, {0.25f}).all().at("image").to_vector<float>());
  EXPECT_EQ(images.colour_jitter({.seed = 3}).all().at("image").to_vector<float>(),
            images.color_jitter({.seed = 3}).all().at("image").to_vector<float>());
}

TEST(OldNames, Texts) {
  EXPECT_EQ(text::tokens("a b c", {.most = 2}), text::tokens("a b c", {.max_tokens = 2}));
  const text::Encoder encoder({.most = 2}, text::byte_vocabulary());
  EXPECT_EQ(encoder.tokens.max_tokens, 2);
}

TEST(OldNames, TrainerOptions) {
  const auto trained = [](const std::function<void(TrainerOptions&)>& set) {
    Program program("line");
    const Value x = program.input("x", f32, {batch, 2});
    const Value y = nn::linear(x, {.units = 1});
    TrainerOptions options{.loss = mean(y * y), .optimizer = Sgd{.learning_rate = 0.1}};
    set(options);
    Trainer trainer(program, options);
    trainer.step({{"x", Tensor::from<float>({2, 2}, {1, 2, 3, 4})}});
    EXPECT_EQ(trainer.session().threads(), 1);
    return trainer.session().parameter("linear_0.weight");
  };
  const Tensor now = trained([](TrainerOptions& o) {
    o.session = {.threads = 1, .seed = 7, .plan_memory = false, .fuse = false};
  });
  const Tensor old = trained([](TrainerOptions& o) {
    o.threads = 1;
    o.seed = 7;
    o.plan_memory = false;
    o.fuse = false;
  });
  EXPECT_TRUE(equal(now, old));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         trained([](TrainerOptions& o) {
                           o.session.threads = 1;
                           o.threads = 2;
                         });
                       }),
              AllOf(HasSubstr("session.threads"), HasSubstr("threads")));
}

TEST(OldNames, AProgramTextMayUseThem) {
  const std::string text =
      "program old v1\n"
      "block 0 (%x : f32[batch, 2, 4, 4]) {\n"
      "  %0 = avg_pool(%x) {count_padding = false, kernel = [2, 2], layout = \"nchw\", padding = "
      "[0, 0, 0, 0], stride = [2, 2]} : f32[batch, 2, 2, 2]\n"
      "  %1 = less(%0, %0) : boolean[batch, 2, 2, 2]\n"
      "  %2 = select(%1, %0, %0) : f32[batch, 2, 2, 2]\n"
      "  return %2\n"
      "}\n";
  const std::string now = Program::parse(text).str();
  EXPECT_THAT(now, AllOf(HasSubstr("where(%1"), HasSubstr("count_include_pad = false")));
}

TEST(OldNames, BothNamesOfAnOptionAreAnError) {
  Program program("both");
  const Value ids = program.input("ids", i64, {batch});
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { nn::embedding(ids, {.num_embeddings = 5, .rows = 6, .dim = 2}); }),
              AllOf(HasSubstr(".num_embeddings"), HasSubstr(".rows")));
}

}  // namespace
}  // namespace trireme
