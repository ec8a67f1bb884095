#pragma once

namespace CLI {
class App;
}

namespace commands {

// Gives the application the subcommands with their options; a chosen one runs while words are parsed.
void add_all(CLI::App& app);

}  // namespace commands
