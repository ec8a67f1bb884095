#include "base/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace trireme {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string cache_directory() {
  if (const std::string own = environment("TRIREME_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/trireme";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/trireme";
  return "";
}

bool make_cache_folder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  try {
    if (!parent.empty()) make_directories(parent);
  } catch (const Error&) {
    return false;
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace trireme
