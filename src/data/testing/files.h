#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"

// For tests: a temporary directory that is deleted, and an environment variable that is restored.
namespace trireme::data {

class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "trireme-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& content) const {
    const std::string path = path_ + "/" + name;
    write_file_atomically(path, content);
    return path;
  }

 private:
  std::string path_;
};

class TestVariable {
 public:
  TestVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    ::setenv(name, value.c_str(), 1);
  }
  ~TestVariable() {
    if (had_) ::setenv(name_, old_.c_str(), 1);
    else ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

}  // namespace trireme::data
