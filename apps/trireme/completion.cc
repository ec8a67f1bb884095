// Completion scripts. Each finds the command that the words so far select, and offers its
// subcommands and options; files complete everything else.

#include "completion.h"

#include <functional>
#include <vector>

#include "trireme/error.h"

namespace commands {
namespace {

using Json = nlohmann::ordered_json;
// A command by its path, "/job/status"; "" is the program.
using Visit = std::function<void(const std::string& path, const Json& command)>;

void visit_all(const Json& command, const std::string& path, const Visit& visit) {
  visit(path, command);
  for (const Json& each : command["commands"]) {
    visit_all(each, path + "/" + each["name"].get<std::string>(), visit);
  }
}

// The first line of a description, without quotes and colons, which shells would interpret.
std::string short_text(const Json& text) {
  std::string line = text.get<std::string>();
  line = line.substr(0, line.find('\n'));
  std::string plain;
  for (const char c : line) {
    if (c == '\'' || c == '`' || c == '"' || c == '\\' || c == '$') continue;
    plain += c == ':' ? ';' : c;
  }
  return plain;
}

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::vector<std::string> paths_of(const Json& program) {
  std::vector<std::string> paths;
  visit_all(program, "", [&](const std::string& path, const Json&) {
    if (!path.empty()) paths.push_back(path);
  });
  return paths;
}

std::string bash(const Json& program) {
  std::string cases;
  visit_all(program, "", [&](const std::string& path, const Json& command) {
    std::vector<std::string> commands, options;
    for (const Json& each : command["commands"]) commands.push_back(each["name"]);
    for (const Json& option : command["options"]) {
      for (const Json& name : option["names"]) options.push_back(name);
    }
    cases += "    \"" + path + "\") commands=\"" + joined(commands, " ") + "\" options=\"" +
             joined(options, " ") + "\" ;;\n";
  });
  return "# Completion of trireme for bash.\n"
         "_trireme() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path=\"\" commands=\"\" options=\"\" i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"$path/${COMP_WORDS[i]}\" in\n"
         "      " +
         joined(paths_of(program), " | ") +
         ") path=\"$path/${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n"
         "    [[ -n $commands ]] || COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _trireme trireme\n";
}

std::string zsh(const Json& program) {
  std::string cases;
  visit_all(program, "", [&](const std::string& path, const Json& command) {
    std::string commands, options;
    for (const Json& each : command["commands"]) {
      commands +=
          "'" + each["name"].get<std::string>() + ":" + short_text(each["description"]) + "' ";
    }
    for (const Json& option : command["options"]) {
      for (const Json& name : option["names"]) {
        options += "'" + name.get<std::string>() + ":" + short_text(option["doc"]) + "' ";
      }
    }
    cases += "    (\"" + path + "\") commands=(" + commands + ") options=(" + options + ") ;;\n";
  });
  return "#compdef trireme\n"
         "_trireme() {\n"
         "  local key=\"\" word\n"
         "  local -a commands options\n"
         "  for word in ${words[2,CURRENT-1]}; do\n"
         "    case \"$key/$word\" in\n"
         "      (" +
         joined(paths_of(program), "|") +
         ") key=\"$key/$word\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$key\" in\n" +
         cases +
         "  esac\n"
         "  if [[ ${words[CURRENT]} == -* ]]; then\n"
         "    _describe -o option options\n"
         "  elif (( ${#commands} )); then\n"
         "    _describe command commands\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "if [[ ${funcstack[1]} == _trireme ]]; then _trireme \"$@\"; else compdef _trireme "
         "trireme; fi\n";
}

// The condition of fish that the words so far select the command.
std::string fish_condition(const std::string& path, const Json& command) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    parts.push_back("__fish_seen_subcommand_from " + path.substr(at + 1, end - at - 1));
    at = end;
  }
  std::vector<std::string> names;
  for (const Json& each : command["commands"]) names.push_back(each["name"]);
  if (path.empty()) return "__fish_use_subcommand";
  if (!names.empty()) {
    parts.push_back("not __fish_seen_subcommand_from " + joined(names, " "));
  }
  return joined(parts, "; and ");
}

std::string fish(const Json& program) {
  std::string text = "# Completion of trireme for fish.\n";
  visit_all(program, "", [&](const std::string& path, const Json& command) {
    const std::string head = "complete -c trireme -n '" + fish_condition(path, command) + "'";
    for (const Json& each : command["commands"]) {
      text += head + " -f -a " + each["name"].get<std::string>() + " -d '" +
              short_text(each["description"]) + "'\n";
    }
    for (const Json& option : command["options"]) {
      std::string names;
      for (const Json& each : option["names"]) {
        const std::string name = each;
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      text += head + names + (option["value"] == "" ? "" : " -r") + " -d '" +
              short_text(option["doc"]) + "'\n";
    }
  });
  return text;
}

}  // namespace

std::string completion_script(const Json& program, const std::string& shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  throw trireme::Error(trireme::ErrorKind::usage,
                       "completion: there are scripts for bash, zsh and fish, not for " + shell);
}

}  // namespace commands
