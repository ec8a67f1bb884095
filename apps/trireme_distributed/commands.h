#pragma once

// What `trireme_distributed` can do: each adds its subcommand, whose options live as long as the
// program.

#include <CLI/CLI.hpp>

#include "trireme/export.h"

// Runs the program with these arguments and returns its exit code.
TRIREME_API int trireme_distributed_main(int argc, char** argv);

namespace commands {

void add_launch(CLI::App& app);
void add_role(CLI::App& app);
void add_job(CLI::App& app);
void add_credentials(CLI::App& app);

// Whether SIGTERM or SIGINT has come.
bool stop_came();
// Of a process of a job: SIGTERM gives it five seconds to end in good order; what is not done then
// is left to leases. A terminal's SIGINT goes to all processes at once and is for the launcher,
// which asks the others in their order.
void leave_in_time();
// The exit code of one that does not end in that time, instead of 4.
void end_late_with(int code);

}  // namespace commands
