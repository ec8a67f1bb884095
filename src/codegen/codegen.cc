#include "codegen/codegen.h"

#include <algorithm>

#include "base/cache.h"
#include "base/error.h"
#include "base/file.h"

namespace trireme::codegen {

int Target::lanes(DType type) const {
  const int bytes = std::min(vector_bytes, 64);
  return std::max(1, bytes / static_cast<int>(size_of(type)));
}

int Target::vector_registers() const {
  return vector_bytes == 64 || triple.rfind("aarch64", 0) == 0 ? 32 : 16;
}

std::string Target::str() const {
  return triple + " " + cpu + " " + features + " " + std::to_string(vector_bytes) + " bytes";
}

std::string default_cache_directory() {
  const std::string directory = cache_directory();
  if (directory.empty()) return "";
  try {
    make_directories(directory);
  } catch (const Error&) {
    return "";
  }
  return directory;
}

}  // namespace trireme::codegen
