#include "base/hash64.h"

#include <xxhash.h>

namespace trireme {

std::uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace trireme
