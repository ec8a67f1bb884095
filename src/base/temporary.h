#pragma once

#include <string>

namespace trireme {

// A file or folder beside the final one, with a name of its own: PATH.tmp.RANDOM. It takes the
// final name when it is complete. It is locked while its writer lives, so that a later writer of
// PATH can remove what killed ones have left; process numbers would not do, because containers and
// machines share folders.
class Temporary {
 public:
  // Removes the files and folders that killed writers of `path` left. Reads the whole folder of
  // `path`, so callers that write many files there do not call it for each.
  static void remove_stale(const std::string& path);

  // Creates an empty one. Errors: std::system_error with the cause.
  static Temporary file(const std::string& path);
  static Temporary folder(const std::string& path);

  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&&) = delete;
  ~Temporary();  // removes it, unless keep() was called

  const std::string& path() const { return path_; }
  int fd() const { return fd_; }  // of a file: for writing
  // It has the final name now, or is gone.
  void keep();

 private:
  Temporary(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  static Temporary create(const std::string& path, bool folder);

  std::string path_;
  int fd_;
};

}  // namespace trireme
