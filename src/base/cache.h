#pragma once

#include <string>

namespace trireme {

// Returns the folder for files that can be made again, such as compiled kernels:
// $TRIREME_CACHE_DIR, else $XDG_CACHE_HOME/trireme, else ~/.cache/trireme. It may not exist yet.
// Returns "" if none of the variables is set: nothing is cached then.
std::string cache_directory();

// Creates the folder with mode 0700, and its parents, if it is missing. Returns false if that
// fails, and for a folder of another user or one that others may write to: they may have put
// anything there.
bool make_cache_folder(const std::string& path);

}  // namespace trireme
