#pragma once

// Where a run's checkpoints are: a small file system of their own, if one can be mounted. It can be
// full, and parts of checkpoints can be damaged.

#include <set>
#include <string>

namespace trireme::chaos {

class Disk {
 public:
  // Mounts a file system of 16 MiB at `folder`, which is there, if this process may.
  explicit Disk(std::string folder);
  ~Disk();  // unmounts it
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  bool mounted() const { return mounted_; }
  std::string checkpoints() const { return folder_ + "/checkpoints"; }
  // Of a mounted one: nothing can be written any more, until it is emptied.
  void fill() const;
  void empty() const;
  // Changes a byte in the middle of a part of the newest committed checkpoint, or cuts it off
  // there; if an older one is whole, since jobs without any whole checkpoint are right to give up.
  // Whether it did.
  enum class Damage : bool { flip, tear };
  bool damage_newest(Damage how);

 private:
  const std::string folder_;
  bool mounted_ = false;
  std::set<std::string> damaged_;
};

}  // namespace trireme::chaos
