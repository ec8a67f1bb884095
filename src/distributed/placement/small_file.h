#pragma once

// Files of a few lines that several machines read while one writes them: there whole or not at all,
// for their owner alone.

#include <string>

namespace trireme::distributed {

// Errors: not_found; io; usage, for one of more than 64 KiB.
std::string read_small_file(const std::string& path);
// False: there is one already, which stays as it is. Errors: io.
bool create_small_file(const std::string& path, const std::string& content);
// Makes the folder, if it is missing, with mode 0700. Errors: io, also for one that is not this
// user's alone.
void make_private_folder(const std::string& path);
// Replaces what is there. Errors: io.
void replace_small_file(const std::string& path, const std::string& content);

}  // namespace trireme::distributed
