#include "data/random_access.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace trireme::data {

RandomAccess RandomAccess::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) {
    fail(errno == ENOENT ? ErrorKind::not_found : ErrorKind::io,
         fmt::format("cannot read {}: {}", path, error_reason(errno)));
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    fail_io(fmt::format("cannot read {}: it is empty or no plain file", path));
  }
  return {path, std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

std::string_view RandomAccess::read(std::uint64_t begin, std::size_t count,
                                    std::string& memory) const {
  if (!file_.valid()) return blob_.bytes.substr(begin, count);
  memory.resize(count);
  for (std::size_t done = 0; done < count;) {
    const ssize_t n =
        ::pread(file_.get(), memory.data() + done, count - done, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io(fmt::format("cannot read {}: {}", path_, error_reason(errno)));
    if (n == 0) {
      fail_io(fmt::format("cannot read {}: it was shortened while it was in use", path_));
    }
    done += static_cast<std::size_t>(n);
  }
  return memory;
}

}  // namespace trireme::data
