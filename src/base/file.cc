#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/number_text.h"

namespace trireme {
namespace {

constexpr std::size_t kBuffer = 1 << 16;  // bytes

}  // namespace

std::uint64_t max_bytes(FileLimit limit) {
  const char* given = std::getenv("TRIREME_MAX_FILE_BYTES");
  if (given == nullptr || *given == '\0') return static_cast<std::uint64_t>(limit);
  const std::optional<std::int64_t> bytes = parse_integer(given);
  if (!bytes || *bytes < 1) {
    fail_usage(std::string("TRIREME_MAX_FILE_BYTES: \"") + given + "\" is no whole number above 0");
  }
  return static_cast<std::uint64_t>(*bytes);
}

std::string read_file(const std::string& path, FileLimit limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::not_found : ErrorKind::io;
    fail(kind, "cannot open " + path + ": " + error_reason(errno));
  }
  return read_descriptor(file.get(), path, max_bytes(limit));
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
  fail_io("cannot write " + path_ + ": " + error_reason(error) + "; nothing was changed");
}

void AtomicFile::flush() {
  if (const int error = write_descriptor(temporary_->fd(), buffer_); error != 0) fail_here(error);
  buffer_.clear();
}

void AtomicFile::write(std::string_view bytes) {
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() < kBuffer) {
    buffer_.append(bytes);
  } else if (const int error = write_descriptor(temporary_->fd(), bytes); error != 0) {
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
  const Descriptor directory(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || ::fsync(directory.get()) == 0) return;
  if (errno == EINVAL || errno == ENOTSUP) return;
  fail_io("cannot sync the folder of " + path + ": " + error_reason(errno));
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
