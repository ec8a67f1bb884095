#include "distributed/launch/scratch_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace trireme::distributed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "scratch-XXXXXX";
constexpr const char* kLock = "lock";
constexpr int kAttempts = 10;  // another process may remove a folder before it is locked

// Locked while it is open; -1 if another process has the lock, or there is none.
int lock_of(const fs::path& folder, int flags) {
  const int lock = ::open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return -1;
  }
  return lock;
}

// A folder without a lock is being made or removed.
void remove_the_dead(const fs::path& above) {
  std::error_code ignored;
  for (const fs::directory_entry& one : fs::directory_iterator(above, ignored)) {
    if (!one.path().filename().string().starts_with("scratch-")) continue;
    const int lock = lock_of(one.path(), 0);
    if (lock < 0) continue;
    fs::remove_all(one.path(), ignored);
    ::close(lock);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& above) : above_(above) {
  std::error_code error;
  fs::create_directories(above, error);
  remove_the_dead(above);
  for (int i = 0; lock_ < 0 && i < kAttempts; ++i) {
    path_ = (fs::path(above) / kName).string();
    if (::mkdtemp(path_.data()) == nullptr) {
      fail_io(fmt::format("cannot make a folder in {}: {}", above, std::strerror(errno)));
    }
    lock_ = lock_of(path_, O_CREAT);
  }
  if (lock_ < 0) fail_io(fmt::format("cannot lock {}: {}", path_, std::strerror(errno)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
  fs::remove(above_, ignored);
}

}  // namespace trireme::distributed
