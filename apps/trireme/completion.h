#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace commands {

// The completion script for a shell: "bash", "zsh" or "fish". `program` as of describe(). Errors:
// usage for another shell.
std::string completion_script(const nlohmann::ordered_json& program, const std::string& shell);

}  // namespace commands
