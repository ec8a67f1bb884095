// trireme info: what is installed and what it runs on.

#include <cstdio>

#include "commands.h"
#include "trireme/inspect.h"

void add_info(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("info", "version, processor, libraries, threads, folders, data sets");
  command->callback([] { std::printf("%s", trireme::system_information().c_str()); });
}
