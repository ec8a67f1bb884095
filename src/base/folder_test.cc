#include "base/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/checked_folder.h"
#include "base/testing/directory.h"
#include "base/testing/error.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr FolderFormat kFormat{"test", 1, "write it again"};

class FolderOf : public ::testing::Test {
 protected:
  // Puts a whole folder in the place of another, as a writer does, and deletes the old one.
  void put(const std::string& content) const {
    fs::create_directory(parent_.path("new"));
    parent_.write("new/a", content);
    parent_.write("new/b", content);
    parent_.write("new/checksums.txt", checksums_text(kFormat, {{"a", content}, {"b", content}}));
    fs::remove_all(parent_.path("folder"));
    fs::rename(parent_.path("new"), path());
  }
  std::string path() const { return parent_.path("folder"); }
  const TestDirectory parent_;
};

TEST_F(FolderOf, AnOpenedFolderStaysTheSame) {
  put("old");
  const Folder folder(path());
  EXPECT_FALSE(folder.was_replaced());
  fs::rename(path(), parent_.path("kept"));
  put("new");
  EXPECT_TRUE(folder.was_replaced());
  EXPECT_EQ(folder.read("a", FileLimit::text), "old");
  EXPECT_TRUE(folder.contains("a"));
  EXPECT_FALSE(folder.contains("c"));
}

TEST_F(FolderOf, AFolderThatIsReplacedWhileItIsReadIsReadAgain) {
  put("old");
  int reads = 0;
  const auto contents = read_folder(path(), [&](const Folder& folder) {
    const CheckedFolder files(folder, kFormat);
    const std::string a = files.read("a");
    if (++reads == 1) put("new");
    return std::vector<std::string>{a, files.read("b")};
  });
  EXPECT_EQ(contents, (std::vector<std::string>{"new", "new"}));
  EXPECT_EQ(reads, 2);
}

TEST_F(FolderOf, AnErrorOfAFolderThatStaysIsTheError) {
  put("old");
  fs::remove(path() + "/b");
  int reads = 0;
  const std::string error = error_of([&] {
    read_folder(path(), [&](const Folder& folder) {
      ++reads;
      return CheckedFolder(folder, kFormat).read("b");
    });
  });
  EXPECT_THAT(error, HasSubstr("b is missing"));
  EXPECT_EQ(reads, 1);
  EXPECT_THAT(error_of([&] { Folder(parent_.path("none")); }), HasSubstr("there is no folder"));
}

TEST(ReadFile, LimitsAreErrorsAndCanBeRaised) {
  const TestDirectory folder;
  const std::string path = folder.write("ten", "0123456789");
  ::setenv("TRIREME_MAX_FILE_BYTES", "9", 1);
  EXPECT_THAT(error_of([&] { read_file(path); }), HasSubstr("it has more than 9 bytes"));
  // The size of such a file is not known before it is read.
  EXPECT_THAT(error_of([] { read_file("/dev/zero"); }), HasSubstr("it has more than 9 bytes"));
  ::setenv("TRIREME_MAX_FILE_BYTES", "10", 1);
  EXPECT_EQ(read_file(path, FileLimit::text), "0123456789");
  for (const char* wrong : {"0", "-1", "1G", " 5", "99999999999999999999"}) {
    ::setenv("TRIREME_MAX_FILE_BYTES", wrong, 1);
    EXPECT_THAT(error_of([&] { read_file(path); }), HasSubstr("is no whole number above 0"));
  }
  ::unsetenv("TRIREME_MAX_FILE_BYTES");
  EXPECT_EQ(read_file(path), "0123456789");
}

}  // namespace
}  // namespace trireme
