// The command line for data of one's own: init, check, train, predict into files, JSON everywhere.

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../command.h"

namespace trireme::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kTrireme = TRIREME_CLI;

class OwnData : public InFolder {
 protected:
  // The label is "yes" where a is large; the town has no influence.
  OwnData() {
    std::ostringstream csv;
    csv << "id,a,town,label\n";
    for (int i = 0; i < 300; ++i) {
      const double a = std::fmod(i * 0.37, 2.0) - 1;
      csv << i << ',' << a << ',' << (i % 3 == 0 ? "Ulm" : "\"Bonn, Rhein\"") << ','
          << (a > 0.1 ? "yes" : "no") << '\n';
    }
    write(path("towns.csv"), csv.str());
  }

  // Standard output alone. The command must succeed.
  std::string output_of(const std::string& command) const {
    const Outcome outcome = run_here("sh -c '" + command + " 2>messages'");
    EXPECT_EQ(outcome.code, 0) << command << '\n' << read(path("messages"));
    return outcome.output;
  }

  void train() {
    output_of(kTrireme + " init towns.csv");
    output_of(kTrireme + " train towns.toml --set train.epochs=12 --quiet");
  }
};

TEST_F(OwnData, JobOfInitTrains) {
  EXPECT_EQ(output_of(kTrireme + " init towns.csv"), "");
  EXPECT_THAT(read(path("messages")), HasSubstr("wrote towns.toml"));
  EXPECT_THAT(output_of(kTrireme + " check towns.toml"), HasSubstr("towns: ok"));
  const json trained =
      json::parse(output_of(kTrireme + " train towns.toml --set train.epochs=2 --json"));
  EXPECT_EQ(trained["job"], "towns");
  EXPECT_EQ(trained["saved_model"], "towns_model");
  EXPECT_GT(trained["steps"], 0);
  EXPECT_THAT(read(path("messages")), HasSubstr("|  validation loss"));
}

TEST_F(OwnData, InitKeepsAnExistingFile) {
  write(path("towns.toml"), "mine");
  const Outcome refused = run_here(kTrireme + " init towns.csv");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("towns.toml exists already"));
  EXPECT_EQ(read(path("towns.toml")), "mine");
  output_of(kTrireme + " init towns.csv --force");
  EXPECT_THAT(read(path("towns.toml")), StartsWith("# A first job for \"towns.csv\""));
  EXPECT_THAT(output_of(kTrireme + " init towns.csv -o - --target town"),
              HasSubstr("target = \"town\""));
  EXPECT_EQ(run_here(kTrireme + " init none.csv").code, 4);
}

TEST_F(OwnData, WritesPredictionsOfAllRows) {
  train();
  const std::string predict = kTrireme + " predict towns_model --data towns.csv";
  EXPECT_EQ(output_of(predict + " -o p.jsonl --batch 7 --top 2"), "");
  EXPECT_THAT(read(path("messages")), HasSubstr("wrote 300 predictions to p.jsonl"));
  std::istringstream lines(read(path("p.jsonl")));
  std::vector<json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(json::parse(line));
  ASSERT_EQ(records.size(), 300u);
  const json printed = json::parse(output_of(predict + " --rows 0: --json --top 2"));
  ASSERT_EQ(printed.size(), 300u);
  int right = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(records[i]["example"], std::to_string(i));
    EXPECT_EQ(records[i]["predictions"][0]["label"], printed[i]["predictions"][0]["label"]);
    EXPECT_NEAR(records[i]["predictions"][0]["score"].get<double>(),
                printed[i]["predictions"][0]["score"].get<double>(), 1e-6);
    const double a = std::fmod(static_cast<double>(i) * 0.37, 2.0) - 1;
    right += records[i]["predictions"][0]["label"] == (a > 0.1 ? "yes" : "no");
  }
  EXPECT_GT(right, 270);
}

TEST_F(OwnData, LimitsMemoryAndWorkOfASavedModel) {
  train();
  for (const std::string command : {"predict", "eval"}) {
    const std::string run = kTrireme + " " + command + " towns_model --data towns.csv";
    output_of(run + " --max-memory 64M --max-operations 1000000000");
    const Outcome memory = run_here(run + " --max-memory 1k");
    EXPECT_EQ(memory.code, 3) << memory.output;
    EXPECT_THAT(memory.output, HasSubstr("more than 1024 bytes of memory"));
    EXPECT_THAT(memory.output, HasSubstr("--max-memory"));
    const Outcome work = run_here(run + " --max-operations 20");
    EXPECT_EQ(work.code, 3) << work.output;
    EXPECT_THAT(work.output, HasSubstr("more than 20 operations"));
    EXPECT_EQ(run_here(run + " --max-memory none").code, 2);
    EXPECT_EQ(run_here(run + " --max-memory 0").code, 2);
  }
}

TEST_F(OwnData, WritesPredictionsAsCsv) {
  train();
  const std::string predict = kTrireme + " predict towns_model --data towns.csv";
  output_of(predict + " -o p.csv --rows 10:13");
  std::istringstream lines(read(path("p.csv")));
  std::string header, first;
  std::getline(lines, header);
  std::getline(lines, first);
  EXPECT_EQ(header, "row,prediction,score");
  EXPECT_THAT(first, StartsWith("10,"));
  for (const char* rows : {"300:", "5:5", "7:3", "-1:2", "0:0"}) {
    for (const char* output : {"", " -o none.csv"}) {
      const Outcome wrong = run_here(predict + " --rows=" + rows + output);
      EXPECT_EQ(wrong.code, 2) << rows << output << wrong.output;
      EXPECT_THAT(wrong.output, HasSubstr("there are 300 rows"));
    }
  }
  EXPECT_EQ(read(path("none.csv")), "");
  // A name that is not understood, a folder that is missing: nothing is written or left over.
  EXPECT_THAT(run_here(predict + " -o p.txt").output, HasSubstr("must end in .csv or .jsonl"));
  const Outcome missing = run_here(predict + " -o none/p.csv");
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.output, HasSubstr("cannot write none/p.csv"));
}

TEST_F(OwnData, PrintsJson) {
  train();
  const auto parsed = [&](const std::string& arguments) {
    return json::parse(output_of(kTrireme + " " + arguments));
  };
  EXPECT_THAT(parsed("info --json")["trireme"].get<std::string>(), Not(StartsWith(" ")));
  const json known = parsed("data list --json");
  EXPECT_GT(known.size(), 5u);
  EXPECT_TRUE(known[0]["bytes"].is_number_integer());
  write(path("numbers.csv"), "a,b\n1,2\n3,4\n");
  const json verified = parsed("data verify numbers.csv --json");
  EXPECT_EQ(verified[0]["examples"], 2);
  EXPECT_EQ(verified[0]["columns"]["features"], "f32[1]");
  const json model = parsed("inspect towns_model --json");
  EXPECT_EQ(model["parameters"].size(), 6u);
  EXPECT_EQ(model["parameters"][0]["dtype"], "f32");
  EXPECT_EQ(model["runs"][0]["kind"], "prediction");
  EXPECT_GT(model["flops_of_one_example"], 1000);
  EXPECT_EQ(parsed("inspect towns.toml --json")["runs"].size(), 2u);
  const json compiled = parsed("compile towns_model --json");
  EXPECT_EQ(compiled["folder"], "towns_model/compiled-native");
  EXPECT_GT(compiled["code_bytes"], 0);
}

}  // namespace
}  // namespace trireme::testing
