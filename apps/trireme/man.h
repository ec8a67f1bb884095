#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace commands {

// Writes the man pages trireme.1, trireme-train.1 and so on into a folder. `program` as of
// describe(). Errors: io.
void write_man_pages(const nlohmann::ordered_json& program, const std::string& folder);

}  // namespace commands
