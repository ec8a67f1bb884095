#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "session/job/guess.h"
#include "trireme/image.h"
#include "trireme/job.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using job::ColumnGuess;
using job::guess_table;
using job::TargetGuess;
using ::testing::HasSubstr;
using ::testing::Not;
using Use = ColumnGuess::Use;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Use> uses(const job::TableGuess& guess) {
  std::vector<Use> all;
  for (const ColumnGuess& column : guess.columns) all.push_back(column.use);
  return all;
}

TEST(GuessTable, FindsWhatEachColumnIsFor) {
  const auto guess = guess_table(
      "id,area,town,note,constant,price\n"
      "7,1.5,Ulm,,1,100.5\n8,2,Bonn,,1,200\n9,?,Ulm,,1,150\n",
      "t.csv", "");
  EXPECT_TRUE(guess.format.header);
  EXPECT_EQ(guess.rows, 3u);
  EXPECT_EQ(guess.missing_word, "?");
  EXPECT_EQ(uses(guess), (std::vector<Use>{Use::left_out, Use::number, Use::words, Use::left_out,
                                           Use::left_out, Use::target}));
  EXPECT_EQ(guess.columns[0].reason, "it numbers the rows");
  EXPECT_TRUE(guess.columns[1].has_missing);
  EXPECT_FALSE(guess.columns[2].has_missing);
  EXPECT_EQ(guess.columns[3].reason, "it is empty");
  EXPECT_EQ(guess.columns[4].reason, "it has one value");
  EXPECT_EQ(guess.target.name, "price");
  EXPECT_EQ(guess.target.kind, TargetGuess::Kind::number);
  EXPECT_EQ(guess.target.least, 100.5);
  EXPECT_EQ(guess.target.largest, 200);
}

TEST(GuessTable, FindsSeparatorAndHeader) {
  const auto semicolons = guess_table("a;b\n1,5;2\n3,5;4\n2,5;8\n", "t.csv", "");
  EXPECT_EQ(semicolons.format.separator, ';');
  EXPECT_TRUE(semicolons.format.header);
  const auto tabs = guess_table("1\t2.5\n1.5\t3\n", "t.csv", "");
  EXPECT_EQ(tabs.format.separator, '\t');
  EXPECT_FALSE(tabs.format.header);
  EXPECT_EQ(tabs.rows, 2u);
  EXPECT_EQ(tabs.target.name, "1");
  // A header with a line end in a quoted cell.
  const auto quoted = guess_table("\"a\nb\",c\n1.5,2\n2,9\n", "t.csv", "");
  EXPECT_EQ(quoted.columns[0].name, "a\nb");
}

TEST(GuessTable, ChoosesTheTarget) {
  const std::string text = "label,x,y\n0,1.5,a\n1,2,b\n0,3,a\n";
  EXPECT_EQ(guess_table(text, "t.csv", "").target.name, "label");
  EXPECT_EQ(guess_table(text, "t.csv", "").target.kind, TargetGuess::Kind::zero_one);
  EXPECT_EQ(guess_table(text, "t.csv", "y").target.kind, TargetGuess::Kind::classes);
  EXPECT_EQ(guess_table(text, "t.csv", "x").target.kind, TargetGuess::Kind::number);
  EXPECT_EQ(guess_table("a,b\n1.5,0.0\n2,1.0\n", "t.csv", "").target.kind,
            TargetGuess::Kind::zero_one);
  std::string grades = "x,grade\n";
  for (int i = 0; i < 30; ++i) {
    grades += std::to_string(i * 0.5) + "," + std::to_string(3 + i % 3) + "\n";
  }
  EXPECT_EQ(guess_table(grades, "t.csv", "").target.kind, TargetGuess::Kind::classes);
  EXPECT_EQ(guess_table(grades, "t.csv", "").target.distinct, 3u);
}

TEST(GuessTable, RefusesWhatCannotBeTrained) {
  const auto error = [](const std::string& text, const std::string& target = "") {
    return error_of([&] { guess_table(text, "t.csv", target); });
  };
  EXPECT_THAT(error(""), HasSubstr("t.csv: the file has no rows"));
  EXPECT_THAT(error("a,b\n"), HasSubstr("t.csv: the file has a header, but no rows"));
  EXPECT_THAT(error("a\n1\n2\n4\n"), HasSubstr("there is no column with numbers"));
  EXPECT_THAT(error("a,b\n1.5,1\n2,\n"), HasSubstr("the target is missing in line 3"));
  EXPECT_THAT(error("a,price\n1.5,2\n2,3\n", "prize"), HasSubstr("did you mean \"price\"?"));
  EXPECT_THAT(error("a,b\n1.5,2\n2,2\n", "b"), HasSubstr("the same value in every row"));
  EXPECT_THAT(error("a,b\n1,2,3\n"), HasSubstr("t.csv:2: 3 cells, but the first line has 2"));
  std::string words = "x,name\n";
  for (int i = 0; i < 40; ++i) words += "1.5,w" + std::to_string(i) + "\n";
  EXPECT_THAT(error(words, "name"), HasSubstr("40 different words in 40 rows"));
}

class Suggest : public ::testing::Test {
 protected:
  Suggest() {
    folder_ = fs::temp_directory_path() / ("suggest_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Suggest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string suggest(const std::string& name, const SuggestOptions& options = {}) {
    return suggest_job((folder_ / name).string(), options);
  }
  // The job builds its network and reads its data.
  void expect_works(const std::string& text) {
    Job job = Job::parse(text, (folder_ / "j.toml").string());
    EXPECT_GT(job.train_data().examples(), 0) << text;
    EXPECT_GT(job.program().parameters().size(), 0u) << text;
    EXPECT_TRUE(std::isfinite(job.trainer().step(*job.train_data().epoch(0).next()))) << text;
  }

  fs::path folder_;
};

TEST_F(Suggest, JobForTableOfNumbers) {
  std::string text = "id,\"a \"\"quoted\"\" name\",town,price\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + "," + (i == 3 ? "NA" : std::to_string(i * 0.25)) + "," +
            (i % 2 == 0 ? "Ulm" : "Köln") + "," + std::to_string(1000 + i * 1.5) + "\n";
  }
  write("prices.csv", text);
  const std::string job = suggest("prices.csv");
  EXPECT_THAT(job, HasSubstr("40 rows and 4 columns"));
  EXPECT_THAT(job, HasSubstr("# Left out: \"id\", it numbers the rows.\n"));
  EXPECT_THAT(job, HasSubstr("features = [\"a \\\"quoted\\\" name\", \"town\"]\n"));
  EXPECT_THAT(job, HasSubstr("one_hot = [\"town\"]"));
  EXPECT_THAT(job, HasSubstr("missing_word = \"NA\""));
  EXPECT_THAT(job, HasSubstr("loss = \"mse\""));
  expect_works(job);
}

TEST_F(Suggest, JobForClassesAndTestFile) {
  write("d/train.csv", "x,class\n1.5,cat\n2,dog\n2.5,eel\n");
  write("d/test.csv", "x,class\n1.25,cat\n2,eel\n");
  const std::string job = suggest("d");
  EXPECT_THAT(job, HasSubstr("classes = true"));
  EXPECT_THAT(job, HasSubstr("[data.test]"));
  EXPECT_THAT(job, HasSubstr("fit = "));
  EXPECT_THAT(job, HasSubstr("{ linear = { units = 3 } }"));
  EXPECT_THAT(job, Not(HasSubstr("validation_split")));
  expect_works(job);
}

TEST_F(Suggest, JobForZerosAndOnes) {
  write("d.csv", "1.5;0\n2.5;1\n3.5;1\n0.5;0\n9;1\n");
  const std::string job = suggest("d.csv");
  EXPECT_THAT(job, HasSubstr("loss = \"binary_cross_entropy\""));
  EXPECT_THAT(job, HasSubstr("separator = \";\""));
  EXPECT_THAT(job, HasSubstr("header = false"));
  expect_works(job);
}

TEST_F(Suggest, JobForTexts) {
  write("r.tsv",
        "a good film\tgood\na bad film\tbad\na good one\tgood\na film\tso so\na bad one\tbad\n");
  const std::string job = suggest("r.tsv", {.output = "m"});
  EXPECT_THAT(job, HasSubstr("5 texts with 3 labels"));
  EXPECT_THAT(job, HasSubstr("directory = \"m\""));
  expect_works(job);
  write("bad.tsv", "a\tb\nno tab\n");
  EXPECT_THAT(error_of([&] { suggest("bad.tsv"); }), HasSubstr("example 2 is not a text"));
}

TEST_F(Suggest, JobForPictures) {
  for (const char* name : {"p/cat", "p/dog"}) {
    fs::create_directories(folder_ / name);
    for (int i = 0; i < 3; ++i) {
      Tensor image = Tensor(DType::u8, {80, 90 + i, 3});
      image.data<std::uint8_t>()[0] = i == 2 ? 9 : 0;  // not gray
      image::save_png((folder_ / name / (std::to_string(i) + ".png")).string(), image);
    }
  }
  const std::string job = suggest("p");
  EXPECT_THAT(job, HasSubstr("6 pictures of 2 classes"));
  EXPECT_THAT(job, HasSubstr("size = [64, 64], channels = 3"));
  expect_works(job);
  fs::create_directories(folder_ / "q");
  fs::rename(folder_ / "p", folder_ / "q/train");
  fs::copy(folder_ / "q/train", folder_ / "q/val", fs::copy_options::recursive);
  EXPECT_THAT(suggest("q"), HasSubstr("test = { folder = "));
}

TEST_F(Suggest, FileNamesAreRelativeToTheJob) {
  const fs::path before = fs::current_path();
  write("data/d.csv", "x,y\n1.5,2\n2,3\n3,3.5\n");
  fs::current_path(folder_);
  const std::string job = suggest_job("data/d.csv", {.directory = "jobs"});
  const std::string here = suggest_job("data/d.csv");
  fs::current_path(before);
  EXPECT_THAT(job, HasSubstr("csv = \"../data/d.csv\""));
  EXPECT_THAT(here, HasSubstr("csv = \"data/d.csv\""));
}

TEST_F(Suggest, RefusesOtherData) {
  EXPECT_THAT(error_of([&] { suggest("none.csv"); }), HasSubstr("there is no such file"));
  write("a.txt", "x");
  EXPECT_THAT(error_of([&] { suggest("a.txt"); }), HasSubstr("give a CSV file"));
  EXPECT_THAT(error_of([&] { suggest("a.txt", {.target = "y"}); }), HasSubstr("only a CSV file"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(error_of([&] { suggest("empty"); }), HasSubstr("no pictures"));
}

}  // namespace
}  // namespace trireme
