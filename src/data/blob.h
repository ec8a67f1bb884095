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

// Unpacks gzip (also with several members) or zstd, detected by the first bytes; returns anything
// else unchanged. `name` is for messages. Errors: data if it is damaged or truncated, or unpacks to
// more than `limit` bytes.
std::string decompress(std::string_view packed, const std::string& name, std::size_t limit);

// Returns whether the name of a file has this ending, packed or not.
bool ends_in(std::string name, std::string_view end);

// Returns the content of a file, unpacked as decompress() does. Errors: not_found, io, data.
Blob read_blob(const std::string& path);

// Maps a file into memory as it is. Errors: not_found, io.
Blob map_file(const std::string& path);

// Like read_blob(), but keeps the content of a packed file in cache_directory()/data. The next call
// maps this file into memory, which takes no time. The key is path, size and modification time of
// the packed file. A cached file that is missing or cannot be written is no error.
Blob read_blob_cached(const std::string& path);

}  // namespace trireme::data
