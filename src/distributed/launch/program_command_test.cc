#include "distributed/launch/program_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "distributed/placement/testing/folder.h"

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;

class ProgramCommand : public testing::InFolder {};

TEST_F(ProgramCommand, IsSeparatedBySpaces) {
  EXPECT_THAT(program_words("python  train.py --rows 5"),
              ElementsAre("python", "train.py", "--rows", "5"));
  EXPECT_THAT(program_words("./mine"), ElementsAre("./mine"));
  EXPECT_THAT(program_words(""), ElementsAre(""));
  EXPECT_THAT(program_words(" "), ElementsAre(" "));
  std::ofstream(path("my program")) << "";
  EXPECT_THAT(program_words(path("my program")), ElementsAre(path("my program")));
  EXPECT_EQ(program_words(path("other program")).size(), 2u);
}

TEST_F(ProgramCommand, IsFoundAsByAShell) {
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_TRUE(find_program("sh")->ends_with("/sh"));
  EXPECT_FALSE(find_program("no-such-trireme-program"));
  EXPECT_FALSE(find_program(""));
  EXPECT_FALSE(find_program(path("")));  // a folder
  std::ofstream(path("text")) << "";
  EXPECT_FALSE(find_program(path("text")));  // not executable
  // Links stay as they are.
  std::filesystem::create_symlink("/bin/sh", path("link"));
  EXPECT_EQ(find_program(path("link")), path("link"));
}

TEST_F(ProgramCommand, GivesTheNameOfAJob) {
  EXPECT_EQ(program_name("./clicks", {"--rows"}), "clicks");
  EXPECT_EQ(program_name("python", {"-u", "src/train.py", "other.py"}), "train");
  EXPECT_EQ(program_name("/venv/bin/python3.11", {"-m", "mine.train"}), "mine.train");
  EXPECT_EQ(program_name("python", {}), "python");
  EXPECT_EQ(program_name("python", {"-m"}), "python");
}

}  // namespace
}  // namespace trireme::distributed
