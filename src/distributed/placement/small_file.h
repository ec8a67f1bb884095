#pragma once

// Files of a few lines that several machines read while one writes them. They appear complete or
// not at all, and only their owner can read them.

#include <string>

namespace trireme::distributed {

// Errors: not_found; io; usage for a file of more than 64 KiB.
std::string read_small_file(const std::string& path);
// Returns false if the file exists; it stays unchanged. Errors: io.
bool create_small_file(const std::string& path, const std::string& content);
// Makes the folder if necessary, with mode 0700. Errors: io, also for a folder that others can use.
void make_private_folder(const std::string& path);
// Replaces the file. Errors: io.
void replace_small_file(const std::string& path, const std::string& content);

}  // namespace trireme::distributed
