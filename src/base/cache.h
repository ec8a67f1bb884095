#pragma once

#include <string>

namespace trireme {

// Returns the folder for files that can be made again, such as compiled kernels:
// $TRIREME_CACHE_DIR, else $XDG_CACHE_HOME/trireme, else ~/.cache/trireme. It may not exist yet.
// Returns "" if none of the variables is set: nothing is cached then.
std::string cache_directory();

}  // namespace trireme
