// Saved models and jobs from a stranger: whatever their files say, commands end with an error.

#include "in_command_folder.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

class SavedModelMisuse : public InCommandFolder {
 protected:
  SavedModelMisuse() {
    write(path("rows.csv"), "a,b,target\n1,2,3\n4,5,6\n7,8,9\n");
    write(path("job.toml"),
          "[data]\ntrain = \"rows.csv\"\n[model]\nlayers = [{ linear = { units = 1 } }]\n"
          "[train]\nloss = \"mse\"\n[output]\ndirectory = \"model\"\n");
    const Outcome trained = run_here(kTrireme + " train job.toml --quiet");
    if (trained.code != 0) throw std::runtime_error(trained.output);
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read(path(file));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << text;
    write(path(file), text.replace(at, from.size(), to));
  }
};

TEST_F(SavedModelMisuse, TheGoodModelIsGood) {
  EXPECT_EQ(run_here(kTrireme + " predict model --data rows.csv").code, 0);
}

// The rows of the output are not those of the examples.
TEST_F(SavedModelMisuse, OneResultForAllExamples) {
  for (const bool scalar : {true, false}) {
    Program program("net");
    const Value x = program.input("features", f32, {batch, 2});
    const Value result = scalar ? mean(x) : mean(x, {.axes = {0}});
    Session session(program);
    save_model(program, session, path("one"), {.outputs = {result}});
    const std::string why = scalar ? "has 1 rows" : "has 2 rows";
    fails("predict one --data rows.csv", 3, why + ", but predict needs one for each of 3 examples");
    fails("predict one --data rows.csv --output all.csv", 3, why);
    EXPECT_FALSE(std::filesystem::exists(path("all.csv")));
  }
}

// The order of scores is one also if some are NaN.
TEST_F(SavedModelMisuse, ScoresThatAreNan) {
  Program program("net");
  const Value x = program.input("features", f32, {batch, 2});
  const Value column = slice(x, {.starts = {Dim(0), Dim(0)}, .limits = {Dim(-1), Dim(1)}});
  const Value nan = log(column * 0.0 - 1.0);
  Session session(program);
  save_model(program, session, path("nan"),
             {.outputs = {concat({nan, column, nan, column + 1.0}, {.axis = 1})},
              .labels = {"a", "b", "c", "d"}});
  const Outcome outcome = run_here(kTrireme + " predict nan --data rows.csv --top 4");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const char* row : {"2", "5", "8"}) {  // the largest scores
    EXPECT_THAT(outcome.output, ::testing::ContainsRegex(std::string("d +") + row + " +b")) << row;
  }
  EXPECT_THAT(outcome.output, ::testing::ContainsRegex("b +1 +a +-?nan +c +-?nan"));
}

// JSON is UTF-8; file names may be anything.
TEST_F(SavedModelMisuse, NamesThatAreNotUtf8) {
  write(path("\xff.csv"), "a,b,target\n1,2,3\n");
  const Outcome outcome = run_here(kTrireme + " data verify '\xff.csv' --json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("\xef\xbf\xbd.csv"));
}

TEST_F(SavedModelMisuse, TextsOfAnOutputOnly) {
  const std::string description = read(path("model/model.json"));
  const std::size_t outputs = description.find("\"outputs\"");
  const std::size_t name = description.find("\"name\"", outputs);
  ASSERT_NE(name, std::string::npos);
  std::string changed = description;
  changed.insert(name, R"("text": {"tokens": "words", "most": 0}, )");
  write(path("model/model.json"), changed);
  const std::size_t quote = description.find('"', description.find(':', name));
  const std::string port =
      description.substr(quote + 1, description.find('"', quote + 1) - quote - 1);
  write(path("model/" + port + ".vocabulary.txt"), "trireme vocabulary 1\n");
  const Outcome outcome = run_here(kTrireme + " predict model --text hello");
  EXPECT_THAT(outcome.code, ::testing::AnyOf(2, 3)) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("error: "));
}

TEST_F(SavedModelMisuse, DescriptionsThatAreNestedDeeply) {
  const std::string description = read(path("model/model.json"));
  for (const char* key : {"\"inputs\": ", "\"labels\": ", "\"measured\": "}) {
    std::string deep = description;
    const std::size_t at = deep.find('{') + 1;
    deep.insert(at, key + std::string(70000, '[') + std::string(70000, ']') + ",");
    write(path("model/model.json"), deep);
    fails("inspect model", 3, "model.json");
    fails("predict model --data rows.csv", 3, "model.json");
  }
}

TEST_F(SavedModelMisuse, JobsThatAreNestedDeeply) {
  std::string key = "a";
  for (int i = 0; i < 120000; ++i) key += ".a";
  write(path("deep.toml"), key + "=1\n");
  fails("check deep.toml", 3, "deep.toml:1: a key has more than 32 parts");
}

}  // namespace
}  // namespace trireme::testing
