// Printer and parser: golden texts, round trips of random Programs, and rejected texts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "ir/builder.h"
#include "ir/program.h"
#include "ir/test_ops.h"

namespace trireme::ir {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGolden = R"(program digits v1
param %linear_0.weight : f32[3, 2] = kaiming_uniform(fan_in = 3, gain = 0.5)   // digits.cc:9 linear_0
state %step : i64[] = constant()
block 0 (%image : f32[batch, 3], %words : i64[2*batch + 1] splits(words)) {
  %0 = matmul(%image, %linear_0.weight) : f32[batch, 2]   // digits.cc:10 linear_0
  %1, %2 = pair(%0) : f32[batch, 2], i64[]
  assign(%step, %2)   // digits.cc:11
  %3 = repeat(%1) : f32[batch, 2]   // digits.cc:12 loop_0
    block 1 (%x : f32[batch, 2]) {
      %4 = neg(%x) : f32[batch, 2]
      return %4
    }
    block 2 () {
      return
    }
  %5 = constant() {dtype = f32, shape = shape[2, batch], value = -inf} : f32[2, batch]
  %6 = everything() {count = -3, extent = shape[2*batch + 1, 3], flag = true, kind = i32, scale = 1e-20, sizes = [1, 2], title = "a \"b\"\n\x00", weights = floats[0.5, nan]} : f64[]
  return %3, %5
}
)";

TEST(Text, GoldenTextRoundTrips) {
  const TestOps ops;
  const auto program = parse(kGolden, ops);
  EXPECT_EQ(print(*program), kGolden);
  EXPECT_NO_THROW(verify(*program));
  const Parameter& weight = *program->find_parameter("linear_0.weight");
  EXPECT_TRUE(weight.trainable);
  EXPECT_EQ(weight.location.line, 9);
  EXPECT_EQ(get_attribute<double>(weight.initializer.attributes, "gain"), 0.5);
  EXPECT_FALSE(program->find_parameter("step")->trainable);
  EXPECT_EQ(program->main().arguments[1]->type.splits_of, "words");
  const Op& last = *program->main().ops.back();
  EXPECT_EQ(get_attribute<std::string>(last.attributes, "title"), std::string("a \"b\"\n\0", 7));
}

TEST(Text, UniqueNamesSkipNamesInTheText) {
  const TestOps ops;
  const auto program = parse(kGolden, ops);
  EXPECT_EQ(program->builder().unique_name("linear"), "linear_1");
  EXPECT_EQ(program->builder().unique_name("loop"), "loop_1");
}

// Compares two blocks deeply, without the printer.
void expect_equal(const Block& a, const Block& b) {
  ASSERT_EQ(a.arguments.size(), b.arguments.size());
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    EXPECT_EQ(a.arguments[i]->name, b.arguments[i]->name);
    EXPECT_EQ(a.arguments[i]->type, b.arguments[i]->type);
  }
  ASSERT_EQ(a.ops.size(), b.ops.size());
  for (std::size_t i = 0; i < a.ops.size(); ++i) {
    const Op& x = *a.ops[i];
    const Op& y = *b.ops[i];
    EXPECT_EQ(x.def, y.def);
    EXPECT_TRUE(same(x.attributes, y.attributes));
    EXPECT_EQ(x.location.file, y.location.file);
    EXPECT_EQ(x.location.line, y.location.line);
    EXPECT_EQ(x.location.layer, y.location.layer);
    ASSERT_EQ(x.operands.size(), y.operands.size());
    for (std::size_t j = 0; j < x.operands.size(); ++j) {
      EXPECT_EQ(name_in_text(x.operands[j]), name_in_text(y.operands[j]));
    }
    ASSERT_EQ(x.results.size(), y.results.size());
    for (std::size_t j = 0; j < x.results.size(); ++j) {
      EXPECT_EQ(x.results[j]->type, y.results[j]->type);
    }
    ASSERT_EQ(x.blocks.size(), y.blocks.size());
    for (std::size_t j = 0; j < x.blocks.size(); ++j) expect_equal(*x.blocks[j], *y.blocks[j]);
  }
  ASSERT_EQ(a.results.size(), b.results.size());
  for (std::size_t j = 0; j < a.results.size(); ++j) {
    EXPECT_EQ(name_in_text(a.results[j]), name_in_text(b.results[j]));
  }
}

TEST(Text, RandomProgramsRoundTrip) {
  const TestOps ops;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const auto program = random_program(ops, seed);
    verify(*program);
    const std::string text = print(*program);
    std::unique_ptr<Program> read;
    ASSERT_NO_THROW(read = parse(text, ops)) << text;
    ASSERT_EQ(print(*read), text);
    EXPECT_EQ(read->name, program->name);
    ASSERT_EQ(read->parameters().size(), program->parameters().size());
    for (std::size_t i = 0; i < read->parameters().size(); ++i) {
      const Parameter& x = *program->parameters()[i];
      const Parameter& y = *read->parameters()[i];
      EXPECT_EQ(x.name(), y.name());
      EXPECT_EQ(x.value->type, y.value->type);
      EXPECT_EQ(x.trainable, y.trainable);
      EXPECT_EQ(x.initializer.name, y.initializer.name);
      EXPECT_TRUE(same(x.initializer.attributes, y.initializer.attributes));
      EXPECT_EQ(x.location.str(), y.location.str());
    }
    expect_equal(program->main(), read->main());
    verify(*read);
  }
}

TEST(Text, AcceptsAnyWhiteSpaceCommentsAndNumbering) {
  const TestOps ops;
  const auto program = parse(
      "// made by hand\r\n program  p\tv1 // v\nblock 0(%x:f32[ batch ,2]){\n"
      "%7=neg( %x ) // not yet a place\n :f32[batch,2]// "
      "a.cc:3\n%2=neg(%7):f32[batch,2]\nreturn%2}",
      ops);
  EXPECT_EQ(print(*program),
            "program p v1\nblock 0 (%x : f32[batch, 2]) {\n"
            "  %0 = neg(%x) : f32[batch, 2]   // a.cc:3\n"
            "  %1 = neg(%0) : f32[batch, 2]\n  return %1\n}\n");
}

std::string parse_error(const std::string& text) {
  const TestOps ops;
  try {
    parse(text, ops);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data) << text;
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(Text, ErrorsReportPositionAndReason) {
  const std::string head = "program p v1\n";
  const std::string open = head + "block 0 (%x : f32[2], %image : i64[]) {\n  ";
  struct Case {
    std::string text, expected;
  };
  const Case cases[] = {
      {"", "1:1: expected 'program', found the end"},
      {"programs p v1", "1:1: expected 'program', found 'programs'"},
      {"program p v2\n", "1:11: expected the version v1, found 'v2'"},
      {head, "2:1: expected 'block'"},
      {head + "block 1 () {", "2:1: expected block 0"},
      {head + "param %w : f32[batch] = c() block",
       "2:1: parameter w needs a shape without symbols"},
      {head + "param %w : f32[2] = c(a = 1, a = 2) block", "distinct attribute names"},
      {head + "param %w : f31[2]", "2:12: expected a type"},
      {head + "param %w : f32[2] c", "expected '=' before the initializer"},
      {open + "%0 = negg(%x) : f32[2]", "3:8: there is no op 'negg'\n  hint   did you mean 'neg'?"},
      {open + "%0 = neg(%imagf)",
       "3:12: %imagf is not defined before it is used\n"
       "  hint   did you mean '%image'?"},
      {open + "%0 = neg(%0) : f32[2]", "3:12: %0 is not defined before it is used"},
      {open + "%0 = neg(%x) : f32[3]", "3:3: neg returns f32[2], but the text says f32[3]"},
      {open + "%0 = neg(%x)", "3:3: neg returns 1 results, but the text has types for 0"},
      {open + "neg(%x) : f32[2]", "3:3: neg returns 1 results, but the text names 0"},
      {open + "%y = neg(%x) : f32[2]", "results are named by numbers"},
      {open + "%0 = add(%x, %image) : f32[2]", "3:3: add: the types differ"},
      {open + "%0 = neg(%x) : f32[2] %0 = neg(%x) : f32[2]", "%0 is defined a second time"},
      {open + "%0 = constant() {value = x}", "'x' is not an attribute value"},
      {open + "%0 = constant() {value = 1.0, walue = 1} : f32[]", "no attribute 'walue'"},
      {open + "%0 = constant() {value = 1.0} : f32[]", "attribute 'dtype' is missing"},
      {open + "%0 = constant() {value = \"a\n\"}", "must end with '\"'"},
      {open + "%0 = constant() {shape = shape[2*]}", "'2*' is not a dimension"},
      {open + "return %x", "expected '}'"},
      {open + "return } x", "nothing may follow"},
      {open + "%0 = repeat(%x) : f32[2] block 1 () { %1 = neg(%x) : f32[2] return } return %1 }",
       "%1 is defined inside a nested block"},
      {head + "block 0 (%x : f32[2], %x : f32[2]) {", "2:23: the name 'x' of input is taken"},
      {head + "block 0 (%x : f32[-1]) {", "negative size"},
  };
  for (const Case& c : cases) EXPECT_THAT(parse_error(c.text), HasSubstr(c.expected)) << c.text;
}

TEST(Text, LimitsDepthAndSizes) {
  std::string deep = "program p v1\nblock 0 (%x : f32[]) {\n";
  for (int i = 0; i < 100; ++i) {
    deep +=
        "%" + std::to_string(i) + " = repeat(%x) : f32[] block " + std::to_string(i + 1) + " () {";
  }
  EXPECT_THAT(parse_error(deep), HasSubstr("more than 64 deep"));
  std::string rank = "program p v1 block 0 (%x : f32[1";
  for (int i = 0; i < 100; ++i) rank += ", 1";
  EXPECT_THAT(parse_error(rank + "])"), HasSubstr("more than 32 dimensions"));
  EXPECT_THAT(parse_error("program p v1 block 0 (%x : f32[" + std::string(5000, 'a') + "])"),
              HasSubstr("longer than 256"));
}

TEST(Text, DamagedTextParsesOrIsDataError) {
  const TestOps ops;
  std::mt19937 random(1);
  const std::string golden = kGolden;
  const std::string pool = " %{}()[]=:,\"\\/\n0129abx.-+*\xff" + std::string(1, '\0');
  for (int i = 0; i < 3000; ++i) {
    std::string text = golden;
    for (int j = 0; j <= i % 3; ++j) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = pool[random() % pool.size()]; break;
        case 1: text.erase(at, random() % 20); break;
        default: text.insert(at, golden.substr(random() % golden.size(), random() % 30));
      }
    }
    try {
      const auto program = parse(text, ops);
      verify(*program);
      ASSERT_EQ(print(*parse(print(*program), ops)), print(*program));
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::data) << error.what() << "\n" << text;
    }
  }
}

// Ten times the text should take about ten times the work, not a hundred times. Measures the CPU
// time of this process, so that a busy machine does not matter.
TEST(Text, ParsingTakesLinearTime) {
  const TestOps ops;
  const auto seconds_for = [&](int count) {
    std::string text = "program p v1\n";
    for (int i = 0; i < count; ++i) text += "param %w" + std::to_string(i) + " : f32[2] = c()\n";
    text += "block 0 (%x : f32[2]) {\n";
    for (int i = 0; i < count; ++i) {
      text += "  %" + std::to_string(i) + " = neg(%x) : f32[2]   // a.cc:1 l_" + std::to_string(i) +
              "\n";
    }
    text += "  return\n}\n";
    const std::clock_t begin = std::clock();
    const auto program = parse(text, ops);
    verify(*program->clone());
    EXPECT_EQ(print(*program), text);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double small = seconds_for(3000);
  EXPECT_LT(seconds_for(30000), 0.5 + 40 * small);
}

}  // namespace
}  // namespace trireme::ir
