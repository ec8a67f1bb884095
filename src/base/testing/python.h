#pragma once

// For tests that run Python.

#include <cstdlib>
#include <filesystem>
#include <string>

namespace trireme {

// Returns the Python interpreter, as text for a shell: the value of this variable, or the one of
// tools/python-env.sh, or the one of the system.
inline std::string python_interpreter(const char* variable) {
  if (const char* named = std::getenv(variable)) return named;
  if (const char* source = std::getenv("TRIREME_SOURCE_DIR")) {
    const std::string ours = std::string(source) + "/build/venv/bin/python";
    if (std::filesystem::exists(ours)) return "'" + ours + "'";
  }
  return "python3";
}

}  // namespace trireme
