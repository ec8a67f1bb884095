#pragma once

// The subcommands. Each adds itself to the application and says what to run when it is chosen; what
// it throws becomes the message and the exit code (main.cc).

#include <CLI/CLI.hpp>
#include <string>

// Thrown by a command that a signal ended after it had put its work in order.
struct Stopped {
  std::string message;
};

void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_predict(CLI::App& app);
void add_compile(CLI::App& app);
void add_inspect(CLI::App& app);
void add_data(CLI::App& app);
void add_info(CLI::App& app);
