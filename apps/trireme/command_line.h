#pragma once

#include <string>

namespace CLI {
class App;
}

namespace commands {

// Adds the subcommands with their options to the application. Parsing the command line runs the
// chosen one.
void add_all(CLI::App& app);

// The examples of a command as text; "" if it has none.
std::string examples_of(const std::string& command);

}  // namespace commands
