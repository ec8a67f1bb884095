#include "session/job/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "session/job/settings.h"

namespace trireme::job {
namespace {

using ::testing::HasSubstr;

constexpr const char* kJob = R"([data]
train = "mnist/train"
batch = 32

[model]
layers = [
  "flatten",
  { linear = { units = 10 } },
]

[train]
loss = "cross_entropy"
epochs = 3
)";

std::string settings_error(const std::string& text) {
  return error_of(ErrorKind::data, [&] { read_settings(parse_toml(text, "x.toml")); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(JobNode, KeepsLinesAndPaths) {
  const Node root = parse_toml(kJob, "x.toml");
  const Node& layers = *root.find("model")->find("layers");
  EXPECT_EQ(layers.where(), "x.toml:6");
  ASSERT_EQ(layers.items.size(), 2u);
  EXPECT_EQ(layers.items[0].text, "flatten");
  EXPECT_EQ(layers.items[1].where(), "x.toml:8");
  EXPECT_EQ(layers.items[1].path, "model.layers[1]");
  EXPECT_EQ(layers.items[1].find("linear")->find("units")->integer, 10);
}

// Editors on Windows begin files with a byte order mark.
TEST(JobNode, AByteOrderMarkIsNoPartOfTheText) {
  const Node root = parse_toml(std::string("\xef\xbb\xbf") + kJob, "x.toml");
  EXPECT_EQ(root.find("data")->find("batch")->integer, 32);
  EXPECT_EQ(root.find("model")->find("layers")->where(), "x.toml:6");
  EXPECT_TRUE(parse_toml("\xef\xbb\xbf", "x.toml").members.empty());
}

TEST(JobNode, SyntaxErrorsNameLineAndColumn) {
  EXPECT_THAT(error_of(ErrorKind::data, [] { parse_toml("[data]\ntrain = \"open\n", "x.toml"); }),
              HasSubstr("x.toml:2:"));
}

TEST(JobNode, ReadsSettings) {
  const Node root = parse_toml(kJob, "x.toml");
  const Settings settings = read_settings(root);
  EXPECT_EQ(settings.data.batch, 32);
  EXPECT_EQ(settings.epochs, 3);
  EXPECT_EQ(settings.data.test, nullptr);
}

TEST(JobNode, RefusesUnknownKeysWithTheNearestAndTheLine) {
  const std::string message = settings_error(replaced(kJob, "epochs", "epoch"));
  EXPECT_THAT(message, HasSubstr("x.toml:13: train.epoch: unknown key"));
  EXPECT_THAT(message, HasSubstr("did you mean \"epochs\"?"));
}

TEST(JobNode, RefusesWrongTypes) {
  EXPECT_THAT(settings_error(replaced(kJob, "epochs = 3", "epochs = \"three\"")),
              HasSubstr("x.toml:13: train.epochs: must be an integer, but is the text \"three\""));
  EXPECT_THAT(settings_error(replaced(kJob, "batch = 32", "batch = 0")),
              HasSubstr("data.batch: must be at least 1, but is 0"));
  EXPECT_THAT(settings_error(replaced(kJob, "[data]", "[dota]")), HasSubstr("\"data\" is missing"));
}

TEST(JobNode, OverridesReplaceAndAdd) {
  Node root = parse_toml(kJob, "x.toml");
  override_value(root, "train.epochs=7");
  override_value(root, "train.optimizer={ adam = { learning_rate = 0.5 } }");
  override_value(root, "data.train=fashion_mnist/train");
  override_value(root, "output.directory=there");
  const Settings settings = read_settings(root);
  EXPECT_EQ(settings.epochs, 7);
  EXPECT_EQ(settings.data.train->text, "fashion_mnist/train");
  EXPECT_EQ(settings.output.directory, "there");
  const Choice optimizer = read_choice(*settings.optimizer, "an optimizer");
  EXPECT_EQ(optimizer.name, "adam");
  EXPECT_EQ(Table(*optimizer.options).number("learning_rate", 0), 0.5);
}

TEST(JobNode, WrongOverridesAreTold) {
  Node root = parse_toml(kJob, "x.toml");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { override_value(root, "epochs"); }),
              HasSubstr("must look like"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { override_value(root, "train.epochs.x=1"); }),
              HasSubstr("has no keys"));
  override_value(root, "train.epochs=many");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { read_settings(root); }),
              HasSubstr("--set: train.epochs: must be an integer"));
}

TEST(JobNode, ChoicesAreNamesOrTablesOfOneKey) {
  const Node root = parse_toml("a = \"sgd\"\nb = { adam = {} }\nc = { x = 1, y = 2 }\n", "x.toml");
  EXPECT_EQ(read_choice(*root.find("a"), "an optimizer").name, "sgd");
  EXPECT_EQ(read_choice(*root.find("b"), "an optimizer").name, "adam");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { read_choice(*root.find("c"), "an optimizer"); }),
              HasSubstr("x.toml:3: c: must be the name of an optimizer"));
}

// A file of a few KB must not end the process: toml++ is recursive.
TEST(JobNode, RefusesDeepNesting) {
  std::string key = "a";
  for (int i = 0; i < 120000; ++i) key += ".a";
  const auto refused = [](const std::string& text) {
    return error_of(ErrorKind::data, [&] { parse_toml(text, "x.toml"); });
  };
  EXPECT_THAT(refused("b = 1\n" + key + " = 1\n"), HasSubstr("x.toml:2: a key has more than 32"));
  EXPECT_THAT(refused("[" + key + "]\n"), HasSubstr("x.toml:1: a key has more than 32"));
  EXPECT_THAT(refused("a = { " + key + " = 1 }\n"), HasSubstr("a key has more than 32"));
  EXPECT_NE(refused("a = " + std::string(100000, '[') + "\n"), "");
  EXPECT_NE(refused("a = " + std::string(200, '[') + std::string(200, ']') + "\n"), "");
  Node root = parse_toml("a = 1\n", "x.toml");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { override_value(root, key + "=1"); }),
              HasSubstr("--set: the key has more than 32 parts"));
}

TEST(JobNode, StringsAndCommentsMayHaveAnyDots) {
  const std::string dots(200, '.');
  const Node root =
      parse_toml("# " + dots + "\na = \"" + dots + "\\\"" + dots + "\" # " + dots + "\nb = '" +
                     dots + "'\nc = \"\"\"\n" + dots + "\"\n" + dots + "\"\"\"\ne = 1.5\n",
                 "x.toml");
  EXPECT_EQ(root.find("a")->text.size(), 401u);
  EXPECT_EQ(root.find("e")->number, 1.5);
}

}  // namespace
}  // namespace trireme::job
