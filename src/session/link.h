#pragma once

#include <map>
#include <string>

namespace trireme {

// Joins object files, by name, to one shared object without debug information and gives its content.
// `linker` is a program; empty: mold, else ld.lld. `scratch` is a folder to work in. Errors: usage, if
// there is no linker; internal, if it fails, with what it said; io.
std::string link_shared(const std::map<std::string, std::string>& objects,
                        const std::string& linker, const std::string& scratch);

}  // namespace trireme
