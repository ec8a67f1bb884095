#pragma once

// For tests: a temporary directory that is deleted with its files.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"

namespace trireme {

class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "trireme-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& content) const {
    write_file_atomically(path(name), content);
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace trireme
