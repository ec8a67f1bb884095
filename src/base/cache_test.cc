#include "base/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/directory.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

class CacheFolder : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return folder_.path(name); }
  const TestDirectory folder_;
};

TEST_F(CacheFolder, IsMadeForItsOwnerAlone) {
  EXPECT_TRUE(make_cache_folder(path("a/b/kernels")));
  struct stat status{};
  ASSERT_EQ(::stat(path("a/b/kernels").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(make_cache_folder(path("a/b/kernels"))) << "it exists";
}

TEST_F(CacheFolder, OthersMayReadButNotWriteIt) {
  fs::create_directory(path("kernels"));
  for (const int mode : {0700, 0755, 0500}) {
    ::chmod(path("kernels").c_str(), static_cast<mode_t>(mode));
    EXPECT_TRUE(make_cache_folder(path("kernels"))) << mode;
  }
  for (const int mode : {0777, 0770, 0702, 01777}) {
    ::chmod(path("kernels").c_str(), static_cast<mode_t>(mode));
    EXPECT_FALSE(make_cache_folder(path("kernels"))) << mode;
  }
}

TEST_F(CacheFolder, IsNeitherALinkNorAFile) {
  fs::create_directory(path("other"));
  fs::create_directory_symlink(path("other"), path("kernels"));
  EXPECT_FALSE(make_cache_folder(path("kernels")));
  std::ofstream(path("file")) << "x";
  EXPECT_FALSE(make_cache_folder(path("file")));
  EXPECT_FALSE(make_cache_folder(path("file/below")));
}

TEST_F(CacheFolder, IsOfNoOtherUser) {
  if (::geteuid() != 0) {  // then folders of the system are of another user
    EXPECT_FALSE(make_cache_folder("/usr"));
    return;
  }
  fs::create_directory(path("kernels"));
  ASSERT_EQ(::chown(path("kernels").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(make_cache_folder(path("kernels")));
}

}  // namespace
}  // namespace trireme
