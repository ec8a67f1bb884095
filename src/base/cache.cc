#include "base/cache.h"

#include <cstdlib>

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

}  // namespace trireme
