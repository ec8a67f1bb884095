#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include <toml++/toml.h>

#include "base/error.h"
#include "session/job/node.h"

namespace trireme::job {
namespace {

// toml++ accepts deeper nesting than anyone writes by hand; the recursion here should not.
constexpr int kDeepest = 32;

// Errors: data for a key of more parts than kDeepest, for which toml++ would make as many nested
// tables. Strings and comments may have any dots.
class DottedKeys {
 public:
  DottedKeys(std::string_view text, const std::string& file) : text_(text), file_(file) {}
  void check() {
    int dots = 0, line = 1;
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') skip_until('\n');
      if (c == '"' || c == '\'') line += skip_string(c);
      if (at_ >= text_.size()) return;
      if (text_[at_] == '\n') ++line;
      if (std::string_view("=[]{},\n").find(text_[at_]) != std::string_view::npos) dots = 0;
      if (text_[at_] == '.' && ++dots >= kDeepest) {
        fail_data(fmt::format("{}:{}: a key has more than {} parts", file_, line, kDeepest));
      }
    }
  }

 private:
  void skip_until(char end) {
    while (at_ < text_.size() && text_[at_] != end) ++at_;
  }
  // Moves to the last quote of the string that begins here; returns the number of its lines.
  int skip_string(char quote) {
    const std::string three(3, quote);
    const bool long_string = text_.substr(at_, 3) == three;
    const std::string end = long_string ? three : std::string(1, quote);
    int lines = 0;
    for (at_ += end.size(); at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++lines;
      if (!long_string && text_[at_] == '\n') return lines - 1;  // an error of toml++; not skipped
      if (quote == '"' && text_[at_] == '\\') ++at_;
      else if (text_.substr(at_, end.size()) == end) {
        at_ += end.size() - 1;
        return lines;
      }
    }
    return lines;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

Node convert(const toml::node& from, const std::string& path, const std::string& file, int depth) {
  Node to;
  to.file = file;
  to.line = static_cast<int>(from.source().begin.line);
  to.path = path;
  if (depth > kDeepest) fail_at(to, "nested too deeply");
  if (const auto* table = from.as_table()) {
    to.kind = Node::Kind::table;
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      Node member = convert(value, path.empty() ? name : path + "." + name, file, depth + 1);
      // An error is where the key stands, which for a long value may be lines above its start.
      member.line = static_cast<int>(key.source().begin.line);
      member.key = name;
      to.members.push_back(std::move(member));
    }
    // toml++ sorts keys; the file's order is the better one for people.
    std::sort(to.members.begin(), to.members.end(), [](const Node& a, const Node& b) {
      return std::tie(a.line, a.key) < std::tie(b.line, b.key);
    });
  } else if (const auto* array = from.as_array()) {
    to.kind = Node::Kind::list;
    for (std::size_t i = 0; i < array->size(); ++i) {
      to.items.push_back(convert(*array->get(i), fmt::format("{}[{}]", path, i), file, depth + 1));
    }
  } else if (const auto* text = from.as_string()) {
    to.kind = Node::Kind::text;
    to.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    to.kind = Node::Kind::integer;
    to.integer = integer->get();
  } else if (const auto* number = from.as_floating_point()) {
    to.kind = Node::Kind::number;
    to.number = number->get();
  } else if (const auto* boolean = from.as_boolean()) {
    to.kind = Node::Kind::boolean;
    to.boolean = boolean->get();
  } else {
    fail_at(to, "dates and times have no meaning in a job");
  }
  return to;
}

// Lines and files of a value given on the command line.
void mark_override(Node& node, const std::string& path) {
  node.file = "--set";
  node.line = 0;
  node.path = path;
  for (Node& member : node.members) mark_override(member, path + "." + member.key);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    mark_override(node.items[i], fmt::format("{}[{}]", path, i));
  }
}

Node override_node(const std::string& text, const std::string& path) {
  Node node;
  try {
    const std::string line = "value = " + text;
    DottedKeys(line, "--set").check();
    const toml::table parsed = toml::parse(line);
    if (parsed.size() != 1) throw Error(ErrorKind::usage, "more than a value");
    node = convert(*parsed.get("value"), path, "--set", 0);
  } catch (const std::exception&) {  // a bare word: adam, fashion_mnist/train
    node.kind = Node::Kind::text;
    node.text = text;
  }
  mark_override(node, path);
  return node;
}

}  // namespace

Node parse_toml(std::string_view text, const std::string& file) {
  DottedKeys(text, file).check();
  std::optional<toml::table> parsed;
  try {
    parsed = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    fail_data(fmt::format("{}:{}:{}: {}", file, error.source().begin.line,
                          error.source().begin.column, error.description()));
  }
  return convert(*parsed, "", file, 0);
}

void override_value(Node& root, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == 0 || equals == std::string::npos) {
    fail_usage("--set " + setting + ": must look like train.epochs=2");
  }
  const std::string path = setting.substr(0, equals);
  if (std::count(path.begin(), path.end(), '.') >= kDeepest) {
    fail_usage(fmt::format("--set: the key has more than {} parts", kDeepest));
  }
  Node* table = &root;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t dot = path.find('.', begin);
    const std::string key = path.substr(begin, dot == std::string::npos ? dot : dot - begin);
    if (key.empty()) fail_usage("--set " + setting + ": the key is incomplete");
    if (table->kind != Node::Kind::table) {
      fail_usage(fmt::format("--set {}: {} is {} and has no keys", setting, table->path,
                             kind_text(*table)));
    }
    auto member = std::find_if(table->members.begin(), table->members.end(),
                               [&](const Node& m) { return m.key == key; });
    if (member == table->members.end()) {
      Node fresh;
      mark_override(fresh, path.substr(0, dot));
      fresh.key = key;
      member = table->members.insert(table->members.end(), std::move(fresh));
    }
    if (dot == std::string::npos) {
      *member = override_node(setting.substr(equals + 1), path);
      member->key = key;
      return;
    }
    table = &*member;
    begin = dot + 1;
  }
}

}  // namespace trireme::job
