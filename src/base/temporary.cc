#include "base/temporary.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

namespace trireme {
namespace {

namespace fs = std::filesystem;

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
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool is_removed(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) != 0 || status.st_nlink == 0;
}

// Removes it if no living process has it locked. A file system without locks keeps it.
void remove_unlocked(const std::string& path, bool folder) {
  const int how = folder ? O_RDONLY | O_DIRECTORY : O_RDWR;
  const int fd = ::open(path.c_str(), how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ::close(fd);
}

}  // namespace

void Temporary::remove_stale(const std::string& path) {
  const fs::path final_path(path);
  const std::string prefix = final_path.filename().string() + ".tmp.";
  const fs::path parent = final_path.has_parent_path() ? final_path.parent_path() : ".";
  std::error_code ignored;
  for (fs::directory_iterator at(parent, ignored), end; at != end; at.increment(ignored)) {
    if (ignored) return;
    if (!at->path().filename().string().starts_with(prefix)) continue;
    const fs::file_status status = at->symlink_status(ignored);
    if (fs::is_regular_file(status) || fs::is_directory(status)) {
      remove_unlocked(at->path().string(), fs::is_directory(status));
    }
  }
}

// Another writer may remove it before it is locked: then it has no name any more.
Temporary Temporary::create(const std::string& path, bool folder) {
  for (;;) {
    const std::string name = path + ".tmp." + random_name();
    const int fd = create_at(name, folder);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) fail_system();
    Temporary temporary(name, fd, folder);
    ::flock(fd, LOCK_EX);  // a file system without locks keeps it
    if (!is_removed(fd)) return temporary;
    temporary.keep();
  }
}

Temporary Temporary::file(const std::string& path) { return create(path, false); }
Temporary Temporary::folder(const std::string& path) { return create(path, true); }

Temporary::Temporary(Temporary&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), folder_(other.folder_) {}

Temporary::~Temporary() {
  if (fd_ < 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(fd_);
}

void Temporary::keep() { ::close(std::exchange(fd_, -1)); }

}  // namespace trireme
