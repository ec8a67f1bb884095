#pragma once

#include <map>
#include <string>

namespace trireme {

// Links object files, by name, to one shared object without debug information and returns its
// content. `linker` is a program; empty: mold, else ld.lld. `scratch` is a working folder. Errors:
// usage if there is no linker; internal, with its messages, if it fails; io.
std::string link_shared(const std::map<std::string, std::string>& objects,
                        const std::string& linker, const std::string& scratch);

}  // namespace trireme
