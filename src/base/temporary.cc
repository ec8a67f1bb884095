#include "base/temporary.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <system_error>
#include <utility>

#include "base/folder.h"

namespace trireme {
namespace {

[[noreturn]] void fail_system() { throw std::system_error(errno, std::generic_category()); }

std::string random_name() {
  std::random_device device;
  const std::uint64_t high = device();
  return fmt::format("{:016x}", high << 32 | device());
}

// Returns the descriptor, or -1 and errno. Never follows a link that someone has put there.
int create_at(const std::string& path, bool folder) {
  if (!folder) return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (::mkdir(path.c_str(), 0777) != 0) return -1;
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) return fd;
  const int error = errno;
  ::rmdir(path.c_str());
  errno = error;
  return -1;
}

bool is_removed(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && status.st_nlink == 0;
}

// Removes it if no living process has it locked. A file system without locks keeps it.
void remove_unlocked(const std::string& path, bool folder) {
  const int how = folder ? O_RDONLY | O_DIRECTORY : O_RDWR;
  const int fd = ::open(path.c_str(), how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) delete_tree(path);
  ::close(fd);
}

}  // namespace

void Temporary::remove_stale(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const bool here = slash == std::string::npos;
  const std::string parent = here ? "" : path.substr(0, slash + 1);
  const std::string prefix = path.substr(here ? 0 : slash + 1) + ".tmp.";
  int ignored = 0;
  for (const std::string& name : names_in(here ? "." : parent, ignored)) {
    if (!name.starts_with(prefix)) continue;
    const std::string stale = parent + name;
    struct stat status{};
    if (::lstat(stale.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) {
      remove_unlocked(stale, S_ISDIR(status.st_mode));
    }
  }
}

// Another writer may remove it before it is locked: then it has no name any more.
Temporary Temporary::create(const std::string& path, bool folder) {
  for (;;) {
    std::string name = path + ".tmp." + random_name();
    const int fd = create_at(name, folder);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) fail_system();
    Temporary temporary(std::move(name), fd);
    ::flock(fd, LOCK_EX);  // a file system without locks keeps it
    if (!is_removed(fd)) return temporary;
    temporary.keep();
  }
}

Temporary Temporary::file(const std::string& path) { return create(path, false); }
Temporary Temporary::folder(const std::string& path) { return create(path, true); }

Temporary::Temporary(Temporary&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

Temporary::~Temporary() {
  if (fd_ < 0) return;
  delete_tree(path_);
  ::close(fd_);
}

void Temporary::keep() { ::close(std::exchange(fd_, -1)); }

}  // namespace trireme
