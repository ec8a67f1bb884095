#include "base/descriptor.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace trireme {
namespace {

[[noreturn]] void fail_large(const std::string& path, std::uint64_t limit) {
  fail_io(
      fmt::format("cannot read {}: it has more than {} bytes\n"
                  "  hint   set TRIREME_MAX_FILE_BYTES to raise the limit",
                  path, limit));
}

}  // namespace

std::string error_reason(int error) { return std::generic_category().message(error); }

std::string read_descriptor(int fd, const std::string& path, std::uint64_t limit) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail_io("cannot read " + path + ": " + error_reason(errno));
  if (S_ISDIR(status.st_mode)) fail_io("cannot read " + path + ": it is a directory");
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size > limit) fail_large(path, limit);
  std::string content;
  content.reserve(static_cast<std::size_t>(size));
  char block[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io("cannot read " + path + ": " + error_reason(errno));
    if (n == 0) return content;
    if (static_cast<std::uint64_t>(n) > limit - content.size()) fail_large(path, limit);
    content.append(block, static_cast<std::size_t>(n));
  }
}

int write_descriptor(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace trireme
