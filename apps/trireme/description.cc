#include "description.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "command_line.h"
#include "describe/describe.h"

namespace commands {
namespace {

using Json = nlohmann::ordered_json;

// What a program prints; "" if it cannot be run.
std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) output.append(block, n);
  return ::pclose(pipe) == 0 ? output : "";
}

std::string quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// Adds the commands of the other program; subcommands of a command that both have are joined.
void add_commands(Json& program, const Json& other) {
  for (const Json& command : other["commands"]) {
    Json* own = nullptr;
    for (Json& each : program["commands"]) {
      if (each["name"] == command["name"]) own = &each;
    }
    if (own == nullptr) {
      program["commands"].push_back(command);
      continue;
    }
    Json joined = command;
    for (const Json& each : (*own)["commands"]) joined["commands"].push_back(each);
    *own = std::move(joined);
  }
}

}  // namespace

std::string distributed_program() {
  char own[4096];
  const ssize_t size = ::readlink("/proc/self/exe", own, sizeof own);
  const std::string path(own, size > 0 ? static_cast<std::size_t>(size) : 0);
  return path.substr(0, path.rfind('/') + 1) + "trireme_distributed";
}

nlohmann::ordered_json describe_program(const CLI::App& app) {
  Json program = describe(app);
  program["footer"] = app.get_footer();
  for (Json& command : program["commands"]) {
    const std::string examples = examples_of(command["name"]);
    if (examples.empty()) continue;
    command["description"] = command["description"].get<std::string>() + "\nexamples:\n" + examples;
  }
  if (::access(distributed_program().c_str(), X_OK) != 0) return program;
  const Json other = Json::parse(output_of(quoted(distributed_program()) + " describe"), nullptr,
                                 /*allow_exceptions=*/false);
  if (other.is_object()) add_commands(program, other);
  return program;
}

}  // namespace commands
