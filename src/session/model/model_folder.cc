#include "session/model/model_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Errors: usage, if replacing `directory` would lose something that is of another kind.
void check_replaceable(const std::string& directory, const FolderKind& kind) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(directory, error);
  if (!fs::exists(status)) return;
  if (fs::is_directory(status) &&
      (fs::exists(directory + "/" + kind.file, error) || fs::is_empty(directory, error))) {
    return;
  }
  fail_usage(
      fmt::format("{} exists and is no {}; it is left as it is\n"
                  "  hint   choose another folder or remove it",
                  directory, kind.name));
}

// Puts `temporary` where `directory` is; what was there is then called `temporary`.
void swap_in(const std::string& temporary, const std::string& directory) {
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE) == 0) {
    return;
  }
  if (errno == ENOENT && ::rename(temporary.c_str(), directory.c_str()) == 0) return;
  if (errno == EINVAL || errno == ENOSYS) {  // a file system that cannot exchange names
    const std::string old = temporary + ".old";
    if (::rename(directory.c_str(), old.c_str()) == 0) {
      if (::rename(temporary.c_str(), directory.c_str()) == 0) {
        ::rename(old.c_str(), temporary.c_str());
        return;
      }
      ::rename(old.c_str(), directory.c_str());
    }
  }
  fail_io(fmt::format("cannot write {}: {}", directory, std::generic_category().message(errno)));
}

void sync_path(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

Temporary temporary_folder(const std::string& directory) {
  try {
    return Temporary::folder(directory);
  } catch (const std::system_error& error) {
    fail_io(fmt::format("cannot write {}: {}", directory, error.code().message()));
  }
}

}  // namespace

void replace_folder(const std::string& target, const FolderKind& kind,
                    const std::function<void(const std::string& temporary)>& write) {
  const std::string directory = without_slash(target);
  if (directory.empty()) fail_usage("save: the folder's name is empty");
  check_replaceable(directory, kind);
  const std::string parent = fs::path(directory).parent_path().string();
  if (!parent.empty()) make_directories(parent);
  Temporary::remove_stale(directory);
  const Temporary temporary = temporary_folder(directory);
  write(temporary.path());
  sync_path(temporary.path());
  swap_in(temporary.path(), directory);
  sync_path(parent.empty() ? "." : parent);
}

}  // namespace trireme
