#include "base/temporary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

#include "base/testing/directory.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

class TemporaryOf : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return folder_.path(name); }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }
  const TestDirectory folder_;
};

TEST_F(TemporaryOf, AFileIsRemovedUnlessItIsKept) {
  {
    Temporary file = Temporary::file(path("a"));
    EXPECT_TRUE(file.path().starts_with(path("a.tmp.")));
    EXPECT_EQ(::write(file.fd(), "x", 1), 1);
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
  {
    Temporary file = Temporary::file(path("a"));
    fs::rename(file.path(), path("a"));
    file.keep();
  }
  EXPECT_TRUE(fs::exists(path("a")));
}

TEST_F(TemporaryOf, AFolderIsRemovedWithItsFiles) {
  {
    const Temporary folder = Temporary::folder(path("a"));
    std::ofstream(folder.path() + "/b") << "x";
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(TemporaryOf, WritersOfOnePathDoNotMeet) {
  const Temporary one = Temporary::file(path("a"));
  const Temporary other = Temporary::file(path("a"));
  const Temporary folder = Temporary::folder(path("a"));
  Temporary::remove_stale(path("a"));
  EXPECT_NE(one.path(), other.path());
  EXPECT_EQ(files(), 3) << "none has removed another";
}

// In a container every process may have the number 1.
TEST_F(TemporaryOf, WhatAKilledWriterHasLeftIsRemoved) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Temporary file = Temporary::file(path("a"));
    const Temporary folder = Temporary::folder(path("a"));
    std::ofstream(folder.path() + "/b") << "x";
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(files(), 2);
  std::ofstream(path("a.tmp")) << "of someone else";
  std::ofstream(path("b.tmp.1")) << "of another path";
  Temporary::remove_stale(path("a"));
  const Temporary file = Temporary::file(path("a"));
  EXPECT_EQ(files(), 3);
  EXPECT_TRUE(fs::exists(path("a.tmp")) && fs::exists(path("b.tmp.1")));
}

TEST_F(TemporaryOf, LinksAreLeftAlone) {
  std::ofstream(path("precious")) << "x";
  fs::create_symlink(path("precious"), path("a.tmp.1"));
  Temporary::remove_stale(path("a"));
  EXPECT_TRUE(fs::exists(path("precious")));
  EXPECT_TRUE(fs::is_symlink(path("a.tmp.1")));
}

TEST_F(TemporaryOf, ManyAtOnceAllGetTheirOwn) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 8; ++writer) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Temporary::remove_stale(path("a"));
        Temporary file = Temporary::file(path("a"));
        ASSERT_EQ(::write(file.fd(), "x", 1), 1);
        fs::rename(file.path(), path("a"));  // throws if another has removed it
        file.keep();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(files(), 1);
}

TEST_F(TemporaryOf, AMissingFolderIsAnError) {
  EXPECT_THROW(Temporary::file(path("no/a")), std::system_error);
  EXPECT_THROW(Temporary::folder(path("no/a")), std::system_error);
}

}  // namespace
}  // namespace trireme
