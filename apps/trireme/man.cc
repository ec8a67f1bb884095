// Man pages in the macros of man(7).

#include "man.h"

#include "support.h"

namespace commands {
namespace {

using Json = nlohmann::ordered_json;

// Text without a meaning to roff.
std::string plain(const std::string& text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    line_start = c == '\n';
    if (c == '\\') escaped += "\\e";
    else if (c == '-') escaped += "\\-";
    else escaped += c;
  }
  return escaped;
}

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

// Lines as they are, in a fixed-width font.
std::string literal(std::string text) {
  while (text.starts_with("\n")) text.erase(0, 1);
  while (text.ends_with("\n")) text.pop_back();
  return ".nf\n" + plain(text) + "\n.fi\n";
}

std::string entry(const std::string& head, const std::string& doc) {
  return ".TP\n.B " + plain(head) + "\n" + (doc.empty() ? "\\&" : plain(doc)) + "\n";
}

std::string head_of(const Json& option) {
  std::string head;
  for (const Json& name : option["names"]) {
    head += (head.empty() ? "" : ", ") + name.get<std::string>();
  }
  const std::string value = option["value"];
  return value.empty() ? head : head + " " + value;
}

// `words`: "trireme job status".
std::string synopsis(const std::string& words, const Json& command) {
  std::string line = words;
  if (!command["commands"].empty()) line += " COMMAND";
  if (!command["options"].empty()) line += " [OPTIONS]";
  for (const Json& argument : command["arguments"]) {
    line += " " + argument["name"].get<std::string>();
  }
  return line;
}

std::string options_of(const Json& command) {
  std::string text;
  for (const Json& argument : command["arguments"]) {
    text += entry(argument["name"], argument["doc"]);
  }
  for (const Json& option : command["options"]) text += entry(head_of(option), option["doc"]);
  return text;
}

struct Description {
  std::string summary, text, examples;  // the first line; all; the part after "examples:"
};

Description description_of(const Json& command) {
  const std::string all = command["description"];
  const std::size_t examples = all.find("examples:\n");
  std::string text = all.substr(0, examples);
  text.erase(text.find_last_not_of('\n') + 1);
  return {text.substr(0, text.find('\n')), text,
          examples == all.npos ? "" : all.substr(examples + 10)};
}

void write_page(const std::string& folder, const std::string& name, const std::string& text) {
  write_file(folder + "/" + name + ".1", text);
}

std::string page_start(const std::string& name, const std::string& words, const Json& command) {
  const Description description = description_of(command);
  return ".TH " + plain(name) + " 1 \"\" \"Trireme " TRIREME_VERSION "\"\n" + section("NAME") +
         plain(name + " - " + description.summary) + "\n" + section("SYNOPSIS") + ".B " +
         plain(synopsis(words, command)) + "\n" + section("DESCRIPTION") + plain(description.text) +
         "\n";
}

// Subcommands of a command are on its page.
void write_command(const Json& command, const std::string& folder) {
  const std::string name = "trireme-" + command["name"].get<std::string>();
  const std::string words = "trireme " + command["name"].get<std::string>();
  std::string text = page_start(name, words, command);
  if (const std::string options = options_of(command); !options.empty()) {
    text += section("OPTIONS") + options;
  }
  for (const Json& each : command["commands"]) {
    text += section(plain("\"" + synopsis(words + " " + each["name"].get<std::string>(), each) +
                          "\"")) +
            plain(description_of(each).text) + "\n" + options_of(each);
  }
  if (const std::string examples = description_of(command).examples; !examples.empty()) {
    text += section("EXAMPLES") + literal(examples);
  }
  write_page(folder, name, text + section("\"SEE ALSO\"") + ".BR trireme (1)\n");
}

}  // namespace

void write_man_pages(const Json& program, const std::string& folder) {
  std::string text = page_start("trireme", "trireme", program) + section("COMMANDS");
  for (const Json& command : program["commands"]) {
    const std::string name = command["name"];
    text += entry(name, description_of(command).summary + "; see trireme-" + name + "(1)");
    write_command(command, folder);
  }
  text += section("OPTIONS") + options_of(program);
  text += section("EXAMPLES") + literal(description_of(program).examples);
  text += section("NOTES") + literal(program["footer"]);
  write_page(folder, "trireme", text);
}

}  // namespace commands
