#pragma once

#include <nlohmann/json.hpp>

namespace CLI {
class App;
}

// An App and its subcommands: {"name", "description", "options": [{"names", "value", "doc"}],
// "arguments": [{"name", "doc"}], "commands": [...]}. `value` is "" for an option without a value.
nlohmann::ordered_json describe(const CLI::App& app);
