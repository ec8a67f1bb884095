#include "job_processes.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace trireme::chaos {

namespace {

std::string content(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> words_of(const std::string& file) {
  std::vector<std::string> words;
  std::istringstream stream(content(file));
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  return words;
}

// Whether it runs, and its parent: "17 (a name) S 12 ...".
bool is_child_of(const std::string& process, pid_t parent) {
  const std::string stat = content(process + "/stat");
  const std::size_t name = stat.rfind(')');
  if (name == std::string::npos || name + 4 >= stat.size()) return false;
  const char state = stat[name + 2];
  return state != 'Z' && state != 'X' && std::atoi(stat.c_str() + name + 4) == parent;
}

struct Told {
  std::string role, name;
};

// Programs get their identity by environment, all others by arguments.
Told told(const std::string& process) {
  const std::string variable = "TRIREME_JOB_PROCESS=";
  for (const std::string& word : words_of(process + "/environ")) {
    if (word.starts_with(variable)) return {"trainer", word.substr(variable.size())};
  }
  Told result;
  const std::vector<std::string> words = words_of(process + "/cmdline");
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "role" && result.role.empty()) result.role = words[i + 1];
    if (words[i] == "--name") result.name = words[i + 1];
  }
  return result;
}

}  // namespace

std::map<std::string, pid_t> processes_of(pid_t launcher, const std::string& role) {
  std::map<std::string, pid_t> result;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string number = entry.path().filename();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!is_child_of(entry.path(), launcher)) continue;
    const Told who = told(entry.path());
    if (who.role == role && !who.name.empty()) result[who.name] = std::atoi(number.c_str());
  }
  return result;
}

}  // namespace trireme::chaos
