#pragma once

#include <cstdlib>
#include <string>

#include "base/testing/directory.h"

// For tests: a temporary directory, and an environment variable that is restored.
namespace trireme::data {

using trireme::TestDirectory;

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
