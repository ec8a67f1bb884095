#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace trireme::data {

// Read-only bytes and their owner: a string or a mapped file.
struct Blob {
  std::shared_ptr<const void> owner;
  std::string_view bytes;

  static Blob own(std::string content);
};

// Returns whether the bytes are packed, as decompress() unpacks them.
bool is_packed(std::string_view bytes);

// Unpacks gzip (also with several members) or zstd, detected by the first bytes; returns anything
// else unchanged. `name` is for messages. Errors: data if it is damaged or truncated, or unpacks to
// more than `limit` bytes.
std::string decompress(std::string_view packed, const std::string& name, std::size_t limit);

// Returns whether the name of a file has this ending, packed or not.
bool ends_in(std::string name, std::string_view end);

// Returns the content of a file, unpacked as decompress() does, within the limits of base/file.h.
// Errors: not_found, io, data.
Blob read_blob(const std::string& path);

// Like read_blob(), but keeps the content of a packed file in cache_directory()/data. The next call
// maps this file into memory, which takes no time. It is used only if the packed file is the same:
// by path, size, inode, times of the last change of content and of inode, and the bytes of its head
// and its tail. A cached file that is missing or cannot be written is no error. The folder is the
// user's own, so no other user shortens a file that is mapped.
Blob read_blob_cached(const std::string& path);

}  // namespace trireme::data
