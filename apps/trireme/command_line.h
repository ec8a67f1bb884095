#pragma once

namespace CLI {
class App;
}

namespace commands {

// Adds the subcommands with their options to the application. Parsing the command line runs the
// chosen one.
void add_all(CLI::App& app);

}  // namespace commands
