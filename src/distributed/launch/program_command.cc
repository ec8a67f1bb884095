#include "distributed/launch/program_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

namespace trireme::distributed {
namespace {

bool can_run(const std::string& path) {
  std::error_code none;
  return !std::filesystem::is_directory(path, none) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::vector<std::string> program_words(const std::string& command) {
  std::error_code none;
  if (std::filesystem::exists(command, none)) return {command};
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words.empty() ? std::vector<std::string>{command} : words;
}

std::optional<std::string> find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return can_run(program) ? std::optional(program) : std::nullopt;
  }
  const char* const folders = std::getenv("PATH");
  std::string_view rest = folders == nullptr ? "" : folders;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::string path = std::string(folder.empty() ? "." : folder) + "/" + program;
    if (can_run(path)) return path;
  }
  return std::nullopt;
}

std::string program_name(const std::string& program, const std::vector<std::string>& arguments) {
  const std::string own = std::filesystem::path(program).stem().string();
  if (!own.starts_with("python")) return own;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-m" && i + 1 < arguments.size()) return arguments[i + 1];
    if (!word.starts_with("-")) return std::filesystem::path(word).stem().string();
  }
  return own;
}

}  // namespace trireme::distributed
