#include "session/job/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme::job {

std::string Node::where() const { return line > 0 ? fmt::format("{}:{}", file, line) : file; }

const Node* Node::find(const std::string& name) const {
  for (const Node& member : members) {
    if (member.key == name) return &member;
  }
  return nullptr;
}

void fail_at(const Node& node, const std::string& message) {
  fail_data(
      fmt::format("{}: {}{}{}", node.where(), node.path, node.path.empty() ? "" : ": ", message));
}

std::string kind_text(const Node& node) {
  switch (node.kind) {
    case Node::Kind::boolean: return node.boolean ? "true" : "false";
    case Node::Kind::integer: return "the integer " + std::to_string(node.integer);
    case Node::Kind::number: return "the number " + float_text(node.number);
    case Node::Kind::text: return "the text \"" + node.text + "\"";
    case Node::Kind::list: return "a list";
    case Node::Kind::table: return "a table";
  }
  return "";
}

std::vector<std::string> texts(const Node& node) {
  if (node.kind == Node::Kind::text) return {node.text};
  if (node.kind != Node::Kind::list) {
    fail_at(node, "must be text or a list of texts, but is " + kind_text(node));
  }
  std::vector<std::string> result;
  for (const Node& item : node.items) {
    if (item.kind != Node::Kind::text) fail_at(item, "must be text, but is " + kind_text(item));
    result.push_back(item.text);
  }
  return result;
}

Table::Table(const Node& node) : node_(node) {
  if (node.kind != Node::Kind::table) fail_at(node, "must be a table, but is " + kind_text(node));
}

const Node* Table::node(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return node_.find(key);
}

bool Table::has(const char* key) { return node(key) != nullptr; }

const Node& Table::required(const char* key) {
  if (const Node* found = node(key)) return *found;
  std::vector<std::string> given;
  for (const Node& member : node_.members) given.push_back(member.key);
  const std::string near = nearest(key, given);
  fail_at(node_, fmt::format("\"{}\" is missing{}", key,
                             near.empty() ? "" : "; is it what \"" + near + "\" is meant to be?"));
}

bool Table::boolean(const char* key, bool fallback) {
  const Node* found = node(key);
  if (found == nullptr) return fallback;
  if (found->kind != Node::Kind::boolean) {
    fail_at(*found, "must be true or false, but is " + kind_text(*found));
  }
  return found->boolean;
}

namespace {

std::int64_t checked_integer(const Node& node, std::int64_t min) {
  if (node.kind != Node::Kind::integer) {
    fail_at(node, "must be an integer, but is " + kind_text(node));
  }
  if (node.integer < min) {
    fail_at(node, fmt::format("must be at least {}, but is {}", min, node.integer));
  }
  return node.integer;
}

std::int64_t checked_size(const Node& node, std::int64_t min) {
  const std::int64_t size = checked_integer(node, min);
  if (size > kLargestSize) {
    fail_at(node, fmt::format("must be at most {}, but is {}", kLargestSize, size));
  }
  return size;
}

}  // namespace

std::int64_t Table::integer(const char* key, std::int64_t fallback, std::int64_t min) {
  const Node* found = node(key);
  return found == nullptr ? fallback : checked_integer(*found, min);
}

std::int64_t Table::required_size(const char* key) { return checked_size(required(key), 1); }

std::int64_t Table::size(const char* key, std::int64_t fallback) {
  const Node* found = node(key);
  return found == nullptr ? fallback : checked_size(*found, 1);
}

double Table::number(const char* key, double fallback) {
  const Node* found = node(key);
  if (found == nullptr) return fallback;
  if (found->kind == Node::Kind::integer) return static_cast<double>(found->integer);
  if (found->kind != Node::Kind::number) {
    fail_at(*found, "must be a number, but is " + kind_text(*found));
  }
  return found->number;
}

std::string Table::text(const char* key, const std::string& fallback) {
  const Node* found = node(key);
  if (found == nullptr) return fallback;
  if (found->kind != Node::Kind::text) {
    fail_at(*found, "must be text in quotes, but is " + kind_text(*found));
  }
  return found->text;
}

std::vector<std::int64_t> Table::sizes(const char* key, std::vector<std::int64_t> fallback,
                                       std::size_t count) {
  const Node* found = node(key);
  if (found == nullptr) return fallback;
  if (found->kind != Node::Kind::list) {
    return std::vector<std::int64_t>(count, checked_size(*found, 0));
  }
  std::vector<std::int64_t> result;
  for (const Node& item : found->items) result.push_back(checked_size(item, 0));
  if (result.size() != count) {
    fail_at(*found, fmt::format("must be an integer or a list of {}, but the list has {}", count,
                                result.size()));
  }
  return result;
}

std::vector<std::int64_t> Table::list_of_sizes(const char* key,
                                               std::vector<std::int64_t> fallback) {
  const Node* found = node(key);
  if (found == nullptr) return fallback;
  if (found->kind != Node::Kind::list) {
    fail_at(*found, "must be a list of integers, but is " + kind_text(*found));
  }
  std::vector<std::int64_t> result;
  for (const Node& item : found->items) result.push_back(checked_size(item, 1));
  return result;
}

std::vector<double> Table::numbers(const char* key, std::vector<double> fallback) {
  const Node* found = node(key);
  if (found == nullptr) return fallback;
  const auto value = [](const Node& item) {
    if (item.kind == Node::Kind::integer) return static_cast<double>(item.integer);
    if (item.kind == Node::Kind::number) return item.number;
    fail_at(item, "must be a number, but is " + kind_text(item));
  };
  if (found->kind != Node::Kind::list) return {value(*found)};
  std::vector<double> result;
  for (const Node& item : found->items) result.push_back(value(item));
  return result;
}

void Table::done() const {
  for (const Node& member : node_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    const std::string near = nearest(member.key, known_);
    fail_at(member, fmt::format("unknown key{}\n  known  {}",
                                near.empty() ? "" : "; did you mean \"" + near + "\"?",
                                fmt::join(known_, ", ")));
  }
}

Choice read_choice(const Node& node, const char* what) {
  static const Node empty;
  if (node.kind == Node::Kind::text) return {node.text, &empty, &node};
  if (node.kind == Node::Kind::table && node.members.size() == 1) {
    return {node.members[0].key, &node.members[0], &node};
  }
  fail_at(node, fmt::format("must be the name of {0} or a table with that name as its one key, "
                            "such as \"name\" or {{ name = {{ ... }} }}, but is {1}",
                            what,
                            node.kind == Node::Kind::table
                                ? fmt::format("a table of {} keys", node.members.size())
                                : kind_text(node)));
}

void fail_unknown(const Choice& choice, const char* what, const std::vector<std::string>& known) {
  const std::string near = nearest(choice.name, known);
  fail_at(*choice.node, fmt::format("unknown {} \"{}\"{}\n  known  {}", what, choice.name,
                                    near.empty() ? "" : "; did you mean \"" + near + "\"?",
                                    fmt::join(known, ", ")));
}

}  // namespace trireme::job
