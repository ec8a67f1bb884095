#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace CLI {
class App;
}

namespace commands {

// The path of trireme_distributed, which lies beside this program and runs jobs of several
// processes. It is a separate program so that this one need not load gRPC and RocksDB.
std::string distributed_program();

// All commands as of describe(), with examples in their descriptions and the `footer`; those of
// trireme_distributed too if it is installed.
nlohmann::ordered_json describe_program(const CLI::App& app);

}  // namespace commands
