#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "data/blob.h"

namespace trireme::data {

// A file of which parts are read, or bytes in memory. Reading is thread-safe. A file is not mapped
// into memory: there, another process that shortens it would end this one.
class RandomAccess {
 public:
  explicit RandomAccess(Blob blob) : blob_(std::move(blob)), size_(blob_.bytes.size()) {}
  // Errors: not_found; io, also if the file is no plain file or empty.
  static RandomAccess open(const std::string& path);

  std::uint64_t size() const { return size_; }
  // Returns the bytes, which may lie in `memory`. Precondition: begin + count <= size(). Errors:
  // io, also if the file has been shortened.
  std::string_view read(std::uint64_t begin, std::size_t count, std::string& memory) const;

 private:
  RandomAccess(std::string path, Descriptor file, std::uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  std::string path_;
  Descriptor file_;  // none: the bytes of blob_
  Blob blob_;
  std::uint64_t size_;
};

}  // namespace trireme::data
