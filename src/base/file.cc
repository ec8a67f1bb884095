#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace trireme {
namespace {

constexpr std::size_t kBuffer = 1 << 16;  // bytes

std::string reason(int error) { return std::generic_category().message(error); }

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Returns 0 or the errno of the call that failed.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

std::string read_file(const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::not_found : ErrorKind::io;
    fail(kind, "cannot open " + path + ": " + reason(errno));
  }
  struct stat status{};
  if (::fstat(file.fd, &status) != 0) fail_io("cannot read " + path + ": " + reason(errno));
  if (S_ISDIR(status.st_mode)) fail_io("cannot read " + path + ": it is a directory");
  std::string content;
  content.reserve(static_cast<std::size_t>(status.st_size));
  char block[1 << 16];
  for (;;) {
    const ssize_t n = ::read(file.fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io("cannot read " + path + ": " + reason(errno));
    if (n == 0) return content;
    content.append(block, static_cast<std::size_t>(n));
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  try {
    temporary_.emplace(Temporary::file(path_));
  } catch (const std::system_error& error) {
    fail_here(error.code().value());
  }
}

void AtomicFile::fail_here(int error) {
  temporary_.reset();
  fail_io("cannot write " + path_ + ": " + reason(error) + "; nothing was changed");
}

void AtomicFile::flush() {
  if (const int error = write_all(temporary_->fd(), buffer_); error != 0) fail_here(error);
  buffer_.clear();
}

void AtomicFile::write(std::string_view bytes) {
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() < kBuffer) {
    buffer_.append(bytes);
  } else if (const int error = write_all(temporary_->fd(), bytes); error != 0) {
    fail_here(error);
  }
}

void AtomicFile::finish() {
  flush();
  if (::fsync(temporary_->fd()) != 0) fail_here(errno);
  if (::rename(temporary_->path().c_str(), path_.c_str()) != 0) fail_here(errno);
  temporary_->keep();
  temporary_.reset();
  sync_name(path_);
}

// Some folders cannot be opened, and some file systems cannot sync them.
void sync_name(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  Descriptor directory{::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY)};
  if (directory.fd < 0 || ::fsync(directory.fd) == 0 || errno == EINVAL || errno == ENOTSUP) return;
  fail_io("cannot sync the folder of " + path + ": " + reason(errno));
}

void write_file_atomically(const std::string& path, std::string_view content) {
  Temporary::remove_stale(path);
  AtomicFile file(path);
  file.write(content);
  file.finish();
}

void make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_io("cannot create directory " + path + ": " + error.message());
}

}  // namespace trireme
