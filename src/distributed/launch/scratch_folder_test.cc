#include "distributed/launch/scratch_folder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/testing/error.h"
#include "distributed/placement/testing/folder.h"

namespace trireme::distributed {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
class Scratch : public testing::InFolder {};

TEST_F(Scratch, IsThereAsLongAsItLives) {
  const std::string above = path("deep/er");
  std::optional<ScratchFolder> one(above), other(above);
  EXPECT_NE(one->path(), other->path());
  std::ofstream(one->path() + "/rows") << "some";
  EXPECT_TRUE(fs::exists(one->path() + "/rows"));
  const std::string gone = one->path();
  one.reset();
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_TRUE(fs::exists(other->path()));
  other.reset();
  EXPECT_FALSE(fs::exists(above));
}

TEST_F(Scratch, OfTheDeadIsRemovedByTheNext) {
  const std::string above = path("above");
  const pid_t child = ::fork();
  if (child == 0) {
    const ScratchFolder mine(above);
    std::ofstream(mine.path() + "/rows") << "some";
    ::_exit(0);  // without destructors, as by SIGKILL
  }
  ::waitpid(child, nullptr, 0);
  const auto count = [&] {
    return std::distance(fs::directory_iterator(above), fs::directory_iterator());
  };
  ASSERT_EQ(count(), 1);
  std::ofstream(above + "/notes") << "not ours";
  {
    const ScratchFolder alive(above);
    EXPECT_EQ(count(), 2);
    const ScratchFolder next(above);
    EXPECT_EQ(count(), 3);
  }
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(fs::exists(above + "/notes"));
}

TEST_F(Scratch, WhereNothingCanBeMadeIsAnError) {
  std::ofstream(path("file")) << "no folder";
  EXPECT_THAT(error_of(ErrorKind::io, [&] { const ScratchFolder none(path("file")); }),
              HasSubstr("cannot make a folder in"));
}

}  // namespace
}  // namespace trireme::distributed
