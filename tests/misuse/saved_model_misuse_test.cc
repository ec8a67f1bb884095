// Saved models and jobs from a stranger: whatever their files say, commands end with an error.

#include <sys/stat.h>

#include "base/folder.h"
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
  // A stranger writes the checksums that fit, or none.
  void remove_checksums() const { std::filesystem::remove(path("model/checksums.txt")); }
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
  remove_checksums();
  replace("model/model.json", "\"name\": \"prediction\"",
          R"("name": "prediction", "text": {"tokens": "words", "most": 0, "grams": 1})");
  text::Vocabulary::of({"hello", "world"}).save(path("model/prediction.vocabulary.txt"));
  EXPECT_EQ(load_model(path("model")).text().size(), 1u) << "it must be refused by the command";
  fails("predict model --text hello", 2, "this model does not take texts");
}

TEST_F(SavedModelMisuse, DescriptionsThatAreNestedDeeply) {
  remove_checksums();
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

// A changed byte anywhere is an error that names the file.
TEST_F(SavedModelMisuse, FlippedBytesNameTheirFile) {
  for (const char* name : {"checksums.txt", "model.json", "program.txt", "weights.safetensors"}) {
    const std::string file = path("model/" + std::string(name)), whole = read(file);
    for (std::size_t i = 0; i < whole.size(); i += 1 + whole.size() / 20) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      write(file, damaged);
      trireme::testing::fails(ErrorKind::data, name, [&] { load_model(path("model")); });
    }
    std::filesystem::remove(file);
    if (std::string(name) != "checksums.txt") {
      trireme::testing::fails(ErrorKind::data, std::string(name) + " is missing",
                              [&] { load_model(path("model")); });
    }
    write(file, whole);
  }
  load_model(path("model"));
}

// model.json names the files of vocabularies by its inputs.
TEST_F(SavedModelMisuse, NamesOfFilesOutsideTheFolder) {
  remove_checksums();
  write(path("secret.vocabulary.txt"), "trireme vocabulary 1\n");
  replace("model/model.json", "\"name\": \"prediction\"",
          R"("name": "../secret", "text": {"tokens": "words", "most": 0})");
  trireme::testing::fails(ErrorKind::data, "\"name\" is damaged",
                          [&] { load_model(path("model")); });
  const Folder folder(path("model"));
  for (const char* name : {"../secret.vocabulary.txt", "/etc/passwd", "..", ""}) {
    trireme::testing::fails(ErrorKind::data, "is not the name of a file in the folder",
                            [&] { folder.read(name, FileLimit::text); });
  }
}

TEST_F(SavedModelMisuse, InputsOfOtherNames) {
  remove_checksums();
  replace("model/model.json", "\"features\"", "\"other\"");
  trireme::testing::fails(ErrorKind::data, "program.txt calls it \"features\"",
                          [&] { load_model(path("model")); });
}

// A pipe would be waited for, and /dev/zero never ends.
TEST_F(SavedModelMisuse, FilesThatAreNone) {
  remove_checksums();
  std::filesystem::remove(path("model/program.txt"));
  ASSERT_EQ(::mkfifo(path("model/program.txt").c_str(), 0600), 0);
  fails("inspect model", 4, "program.txt: it is no plain file");
  std::filesystem::remove(path("model/program.txt"));
  std::filesystem::create_symlink("/dev/zero", path("model/program.txt"));
  fails("inspect model", 4, "program.txt: it is no plain file");
  std::filesystem::remove(path("model/program.txt"));
  write(path("model/program.txt"), "");
  std::filesystem::resize_file(path("model/program.txt"), std::uintmax_t{1} << 40);  // no blocks
  fails("inspect model", 4, "program.txt: it has more than 268435456 bytes");
}

// A user's own files stay when a model is saved again, as they are or as an error says.
TEST_F(SavedModelMisuse, SavingAgainKeepsOtherFiles) {
  write(path("model/notes.txt"), "mine");
  std::filesystem::create_directories(path("model/runs/first"));
  write(path("model/runs/first/log"), "steps");
  std::filesystem::create_symlink("nowhere", path("model/link"));
  write(path("model/old.vocabulary.txt"), "of the model that was here");
  Program program("net");
  Session session(program);
  const SaveOptions options{.outputs = {program.input("x", f32, {batch, 2}) * 2.0}};
  for (int i = 0; i < 2; ++i) save_model(program, session, path("model"), options);
  EXPECT_EQ(load_model(path("model")).name(), "net");
  EXPECT_EQ(read(path("model/notes.txt")), "mine");
  EXPECT_EQ(read(path("model/runs/first/log")), "steps");
  EXPECT_EQ(std::filesystem::read_symlink(path("model/link")), "nowhere");
  EXPECT_FALSE(std::filesystem::exists(path("model/old.vocabulary.txt")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 3)
      << "rows.csv, job.toml and the model: nothing temporary is left";
}

TEST_F(SavedModelMisuse, JobsThatAreNestedDeeply) {
  std::string key = "a";
  for (int i = 0; i < 120000; ++i) key += ".a";
  write(path("deep.toml"), key + "=1\n");
  fails("check deep.toml", 3, "deep.toml:1: a key has more than 32 parts");
}

}  // namespace
}  // namespace trireme::testing
