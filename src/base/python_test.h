#pragma once

// For tests with an independent reader in Python.

#include <cstdlib>
#include <filesystem>
#include <string>

namespace trireme {

// The interpreter that this variable names, or the one that tools/python-env.sh made, or the system's. For a shell.
inline std::string python_interpreter(const char* variable) {
  if (const char* named = std::getenv(variable)) return named;
  if (const char* source = std::getenv("TRIREME_SOURCE_DIR")) {
    const std::string ours = std::string(source) + "/build/venv/bin/python";
    if (std::filesystem::exists(ours)) return "'" + ours + "'";
  }
  return "python3";
}

}  // namespace trireme
