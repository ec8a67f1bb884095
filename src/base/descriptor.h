#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace trireme {

// Owns a file descriptor; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Returns all bytes that are left in an open file. `path` is for messages. Errors: io, also for a
// folder and for more than `limit` bytes.
std::string read_descriptor(int fd, const std::string& path, std::uint64_t limit);

// Writes all bytes. Returns 0, or the errno of the call that failed.
int write_descriptor(int fd, std::string_view bytes);

// Returns the text of an errno.
std::string error_reason(int error);

}  // namespace trireme
