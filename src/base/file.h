#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/temporary.h"

namespace trireme {

// The largest files that are read into memory, in bytes. The environment variable
// TRIREME_MAX_FILE_BYTES replaces all of these limits.
enum class FileLimit : std::uint64_t {
  text = std::uint64_t{1} << 28,      // 256 MiB: programs, jobs and other texts that people write
  unpacked = std::uint64_t{1} << 30,  // 1 GiB: the content of a packed file
  content = std::uint64_t{1} << 34,   // 16 GiB: weights and data
};

// Errors: usage if TRIREME_MAX_FILE_BYTES is no number above 0.
std::uint64_t max_bytes(FileLimit limit);

// Returns the whole file. Errors: not_found; io, also if it has more bytes than the limit.
std::string read_file(const std::string& path, FileLimit limit = FileLimit::content);

// Writes a temporary file in the folder of `path`, syncs and renames it. So a reader sees the old
// content or the new, never a part, whatever fails. Errors: io with path and cause; `path` is then
// unchanged.
void write_file_atomically(const std::string& path, std::string_view content);

// The same for content that is written in pieces, also small ones. The file has a temporary name
// until all is written; if that never happens, it is deleted. Errors of all calls: io with path and
// cause.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  std::uint64_t size() const { return size_; }  // bytes written so far
  // Syncs the file, renames it, and syncs the folder, so that it also survives a power failure.
  void finish();

 private:
  [[noreturn]] void fail_here(int error);
  void flush();

  std::string path_, buffer_;
  std::optional<Temporary> temporary_;
  std::uint64_t size_ = 0;
};

// Syncs the folder of `path`, so that its name survives a power failure. Errors: io.
void sync_name(const std::string& path);

// Creates the directory and its parents. Errors: io.
void make_directories(const std::string& path);

}  // namespace trireme
