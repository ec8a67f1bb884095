#pragma once

#include <cstdint>
#include <string_view>

namespace trireme {

// XXH3 with 64 bits and seed 0: finds damage, not forgery.
std::uint64_t hash64(std::string_view bytes);

}  // namespace trireme
