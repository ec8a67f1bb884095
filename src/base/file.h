#pragma once

#include <string>
#include <string_view>

namespace trireme {

// The whole file. Errors: not_found, io.
std::string read_file(const std::string& path);

// Writes to a temporary name beside `path`, syncs and renames, so that a reader sees the old content
// or the new, never a part, whatever fails. Errors: io, naming path and cause; `path` untouched.
void write_file_atomically(const std::string& path, std::string_view content);

// The same for content that comes piece by piece: a file under a temporary name beside its place, which
// takes its own name when all is written, or goes away. Errors of all calls: io, naming path and cause.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::string_view bytes);
  // Syncs the file, renames it, and syncs the folder, so that it is there after a power cut, too.
  void finish();

 private:
  [[noreturn]] void fail_here(int error);
  void close();

  std::string path_, temporary_;
  int fd_ = -1;
};

// The name of `path` in its folder outlives a power cut from now on. Errors: io.
void sync_name(const std::string& path);

// Creates the directory and its parents. Errors: io.
void make_directories(const std::string& path);

}  // namespace trireme
