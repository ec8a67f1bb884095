#pragma once

// What `trireme_distributed` can do: each adds its subcommand, whose options live as long as the program.

#include <CLI/CLI.hpp>

namespace commands {

void add_launch(CLI::App& app);
void add_role(CLI::App& app);
void add_credentials(CLI::App& app);

// Whether SIGTERM or SIGINT has come.
bool stop_came();

}  // namespace commands
