#pragma once

// The folder of a run, removed with it.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace trireme::chaos {

class Folder {
 public:
  // Errors: io.
  Folder() : path_((std::filesystem::temp_directory_path() / "trireme-chaos-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) fail_io("no folder for a run of chaos");
    std::filesystem::create_directory(path_ + "/disk");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace trireme::chaos
