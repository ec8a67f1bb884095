#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace trireme::data {

// Read-only bytes and what keeps them alive: a string or a mapped file.
struct Blob {
  std::shared_ptr<const void> owner;
  std::string_view bytes;

  static Blob own(std::string content);
};

// Unpacks gzip (also of several members) or zstd, told by their first bytes; gives anything else
// back as it is. `name` is for messages. Errors: data, if it is damaged, cut short or unpacks to
// more than `limit` bytes.
std::string decompress(std::string_view packed, const std::string& name, std::size_t limit);

// Whether a file's name ends so, packed or not.
bool ends_in(std::string name, std::string_view end);

// The content of a file, unpacked as decompress() does. Errors: not_found, io, data.
Blob read_blob(const std::string& path);

// A file as it is, mapped into memory. Errors: not_found, io.
Blob map_file(const std::string& path);

// Like read_blob, but what a packed file holds is kept below cache_directory()/data and mapped into
// memory the next time, which takes no time. A kept file is found by path, size and time of the
// packed file; one that is gone, or that cannot be written, is not an error.
Blob read_blob_cached(const std::string& path);

}  // namespace trireme::data
