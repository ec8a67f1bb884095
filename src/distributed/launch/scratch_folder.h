#pragma once

// Room on a disk for what a process needs only as long as it lives.

#include <string>

namespace trireme::distributed {

// A folder of this object's own below one that several processes may share. Who makes one also
// removes those of processes that have died: each keeps a lock as long as it lives.
class ScratchFolder {
 public:
  // The folder above is made if it is not there. Errors: io.
  explicit ScratchFolder(const std::string& above);
  // Removes it, and the folder above if nothing is left in it.
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
