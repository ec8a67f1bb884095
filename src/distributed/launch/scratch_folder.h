#pragma once

// Temporary space on disk for the lifetime of a process.

#include <string>

namespace trireme::distributed {

// A separate folder below one that several processes may share. Making one also removes those of
// failed processes: each process holds a lock as long as it lives.
class ScratchFolder {
 public:
  // Makes the folder above if necessary. Errors: io.
  explicit ScratchFolder(const std::string& above);
  // Removes it, and the folder above if it is empty.
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string above_;
  std::string path_;
  int lock_ = -1;
};

}  // namespace trireme::distributed
