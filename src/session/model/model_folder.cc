#include "session/model/model_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
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
  int unread = 0;
  if (fs::is_directory(status) && (fs::exists(directory + "/" + kind.file, error) ||
                                   (names_in(directory, unread).empty() && unread == 0))) {
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

[[noreturn]] void fail_kept(const std::string& path, int error) {
  fail_io(
      fmt::format("cannot keep {}: {}; nothing was changed\n"
                  "  hint   move it to another folder",
                  path, error_reason(error)));
}

// Gives a file a second name, and the files of a folder one each in a new folder. A file that is
// there already stays. So no moment is without one of the names.
void link_tree(const std::string& from, const std::string& to) {
  struct stat status{};
  if (::lstat(from.c_str(), &status) != 0) fail_kept(from, errno);
  if (!S_ISDIR(status.st_mode)) {
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) != 0 && errno != EEXIST) {
      fail_kept(from, errno);
    }
    return;
  }
  if (::mkdir(to.c_str(), status.st_mode & 07777) != 0 && errno != EEXIST) fail_kept(from, errno);
  int error = 0;
  for (const std::string& name : names_in(from, error)) {
    link_tree(from + "/" + name, to + "/" + name);
  }
  if (error != 0) fail_kept(from, error);
}

// Links everything in `directory` that is not of this kind into `temporary`.
void keep_other_files(const std::string& directory, const FolderKind& kind,
                      const std::string& temporary) {
  int error = 0;
  for (const std::string& name : names_in(directory, error)) {
    if (!kind.owns(name)) link_tree(directory + "/" + name, temporary + "/" + name);
  }
  if (error != 0 && error != ENOENT) fail_kept(directory, error);
}

Temporary temporary_folder(const std::string& directory) {
  try {
    return Temporary::folder(directory);
  } catch (const std::system_error& error) {
    fail_io(fmt::format("cannot write {}: {}", directory, error.code().message()));
  }
}

}  // namespace

bool is_model_file(std::string_view name) {
  return name == kProgramFile || name == kWeightsFile || name == kModelFile ||
         name == kChecksumsFile || name.ends_with(vocabulary_file("")) ||
         name.ends_with(subwords_file(""));
}

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
  keep_other_files(directory, kind, temporary.path());
  sync_name(temporary.path() + "/.");
  swap_in(temporary.path(), directory);
  sync_name(directory);
}

}  // namespace trireme
