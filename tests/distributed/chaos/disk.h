#pragma once

// The place of the checkpoints of a run: a small file system if one can be mounted. It can be full,
// and parts of checkpoints can be damaged.

#include <set>
#include <string>

namespace trireme::chaos {

class Disk {
 public:
  // Mounts a file system of 16 MiB at the existing `folder` if this process may.
  explicit Disk(std::string folder);
  ~Disk();  // unmounts it
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  bool mounted() const { return mounted_; }
  std::string checkpoints() const { return folder_ + "/checkpoints"; }
  // Of a mounted one: writes fail until it is emptied.
  void fill() const;
  void empty() const;
  // Changes a byte in the middle of a part of the newest committed checkpoint, or truncates it
  // there, if an older one is whole: jobs without any whole checkpoint may give up. Returns whether
  // it did.
  enum class Damage : bool { flip, tear };
  bool damage_newest(Damage how);

 private:
  const std::string folder_;
  bool mounted_ = false;
  std::set<std::string> damaged_;
};

}  // namespace trireme::chaos
