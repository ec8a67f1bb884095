#pragma once

#include <string>

#include "ir/program.h"

namespace trireme {

// Says which Program this is, wherever it is built: of ops, attributes, types and how they depend on
// each other. Names of files and lines do not matter, nor does the order in which ops were built, which
// in C++ depends on the compiler where one expression builds several. Parameters and inputs count by
// name and type, whatever their first values.
std::string hash_of(const ir::Program& program);

}  // namespace trireme
