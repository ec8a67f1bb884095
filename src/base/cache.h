#pragma once

#include <string>

namespace trireme {

// Where what can be made again is kept between runs: $TRIREME_CACHE_DIR, else
// $XDG_CACHE_HOME/trireme, else ~/.cache/trireme. It need not exist yet. Empty if none is named:
// then nothing is kept.
std::string cache_directory();

}  // namespace trireme
