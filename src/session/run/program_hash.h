#pragma once

#include <string>

#include "ir/program.h"

namespace trireme {

// Identifies a Program by its ops, attributes, types and dependencies, independent of the machine.
// Files and lines do not matter. The order of building ops does not matter either: if one C++
// expression builds several, the order depends on the compiler. Parameters and inputs count by name
// and type, not by their first values.
std::string hash_of(const ir::Program& program);

}  // namespace trireme
