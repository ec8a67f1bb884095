#pragma once

#include <optional>
#include <string>

#include "codegen/codegen.h"
#include "kernel_ir/kernel.h"

namespace trireme::codegen {

// Object code kept on disk: <directory>/kernels/<key>.o. A file is
//
//   "TRKERNEL"                    8 bytes
//   format version                u32, little-endian
//   length of the object in bytes u64
//   xxHash128 of the object       16 bytes
//   the object
//
// A file that is short, long or damaged counts as absent. Problems of the file system do too: a
// cache is never a reason to fail. Objects are native code, so nothing is cached in a folder of
// another user or one that others may write to.
class ObjectCache {
 public:
  // An empty directory: nothing is kept.
  explicit ObjectCache(std::string directory);

  std::optional<std::string> find(const std::string& key) const;
  void keep(const std::string& key, const std::string& object) const;
  std::string path(const std::string& key) const;

 private:
  std::string directory_;
};

// Returns a digest of the sources of this folder. If it differs, the code of the same kernel may
// differ.
const char* codegen_digest();

// 32 hexadecimal digits. Equal for kernels that differ only in names for people. `kernel` has its
// maths expanded, so that changed polynomials change the key. The versions of the code generator
// and of LLVM are part of it.
std::string object_key(const kernel_ir::Kernel& kernel, const Target& target);

}  // namespace trireme::codegen
