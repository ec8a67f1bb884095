#include "base/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace trireme {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

void delete_in(int parent, const char* name) noexcept {
  if (::unlinkat(parent, name, 0) == 0 || errno != EISDIR) return;
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  const OpenFolder folder(::fdopendir(fd));
  if (folder == nullptr) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(folder.get())) {
    if (!is_dots(entry->d_name)) delete_in(fd, entry->d_name);
  }
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

}  // namespace

std::vector<std::string> names_in(const std::string& path, int& error) {
  std::vector<std::string> names;
  const OpenFolder folder(::opendir(path.c_str()));
  error = folder == nullptr ? errno : 0;
  if (folder == nullptr) return names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    error = errno;
    if (entry == nullptr) return names;
    if (!is_dots(entry->d_name)) names.emplace_back(entry->d_name);
  }
}

void delete_tree(const std::string& path) noexcept { delete_in(AT_FDCWD, path.c_str()); }

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

Folder::Folder(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_.valid()) return;
  const int error = errno;
  if (error == ENOENT) fail(ErrorKind::not_found, fmt::format("there is no folder {}", path_));
  fail_io(fmt::format("cannot open the folder {}: {}", path_, error_reason(error)));
}

std::string Folder::read(const std::string& file, FileLimit limit) const {
  if (!is_plain_name(file)) {
    fail_data(fmt::format("{}: \"{}\" is not the name of a file in the folder", path_, file));
  }
  const Descriptor opened(
      ::openat(descriptor_.get(), file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const int error = errno;
  if (!opened.valid()) {
    fail(error == ENOENT ? ErrorKind::not_found : ErrorKind::io,
         fmt::format("cannot open {}: {}", this->path(file), error_reason(error)));
  }
  struct stat status{};
  if (::fstat(opened.get(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fail_io(fmt::format("cannot read {}: it is no plain file", this->path(file)));
  }
  return read_descriptor(opened.get(), this->path(file), max_bytes(limit));
}

bool Folder::contains(const std::string& file) const {
  struct stat status{};
  return is_plain_name(file) && ::fstatat(descriptor_.get(), file.c_str(), &status, 0) == 0;
}

bool Folder::was_replaced() const {
  struct stat mine{}, now{};
  if (::fstat(descriptor_.get(), &mine) != 0 || ::stat(path_.c_str(), &now) != 0) return true;
  return mine.st_dev != now.st_dev || mine.st_ino != now.st_ino;
}

}  // namespace trireme
