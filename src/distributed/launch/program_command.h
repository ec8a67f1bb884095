#pragma once

// The command of a training program of the user: `trireme launch --program "python train.py"`.

#include <optional>
#include <string>
#include <vector>

namespace trireme::distributed {

// The words of a command without a shell: separated by spaces, in which nothing is quoted. A file
// of this name is one word, with its spaces.
std::vector<std::string> program_words(const std::string& command);

// The file of a program: a path, or a name in PATH as for a shell. Symbolic links are kept, because
// a virtual environment of Python is found by them. Empty if there is none that can be run.
std::optional<std::string> find_program(const std::string& program);

// The name of a job that runs this program: its file without the ending; for Python that of the
// script or module.
std::string program_name(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace trireme::distributed
