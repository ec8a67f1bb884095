#pragma once

// What tests of launchers share.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace trireme::distributed::testing {

// A fresh folder, removed at the end.
class InFolder : public ::testing::Test {
 protected:
  InFolder() {
    folder_ = (std::filesystem::temp_directory_path() / "trireme_XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr) ADD_FAILURE() << "no folder";
  }
  ~InFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

}  // namespace trireme::distributed::testing
