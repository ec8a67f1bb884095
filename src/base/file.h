#pragma once

#include <string>
#include <string_view>

namespace trireme {

// The whole file. Errors: not_found, io.
std::string read_file(const std::string& path);

// Writes to a temporary name beside `path`, syncs and renames, so that a reader sees the old content
// or the new, never a part, whatever fails. Errors: io, naming path and cause; `path` untouched.
void write_file_atomically(const std::string& path, std::string_view content);

// Creates the directory and its parents. Errors: io.
void make_directories(const std::string& path);

}  // namespace trireme
