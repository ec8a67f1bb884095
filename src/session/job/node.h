#pragma once

// A job file as a tree of values with their lines, and typed access to it. Code must read every
// key: a key that no code reads is refused, with the nearest known key.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/catalog/field.h"

namespace trireme::job {

struct Node {
  enum class Kind : std::uint8_t { boolean, integer, number, text, list, table };
  Kind kind = Kind::table;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<Node> items;    // list
  std::vector<Node> members;  // table, in the file's order
  std::string key;            // of a member
  std::string file;           // base name; "--set" for overrides
  int line = 0;
  std::string path;  // "train.epochs", "model.layers[2]"

  std::string where() const;  // "fashion.toml:12"
  const Node* find(const std::string& name) const;
};

// Errors: data with line and column.
Node parse_toml(std::string_view text, const std::string& file);
// Convert the tree to JSON, which a saved model keeps of its job, and back. Errors: data.
std::string json_text(const Node& node);
Node parse_json(const std::string& text, const std::string& file);
// Applies "train.epochs=2"; a value that is no TOML is text. Errors: usage.
void override_value(Node& root, const std::string& setting);

// The form of an error: "fashion.toml:12: train.epochs: must be an integer, but is text".
[[noreturn]] void fail_at(const Node& node, const std::string& message);
std::string kind_text(const Node& node);           // "text \"five\""
std::vector<std::string> texts(const Node& node);  // of a list, or a single text. Errors: data

using nn::kLargestSize;

// Reads one table. A missing key gives the fallback.
class Table {
 public:
  explicit Table(const Node& node);  // Errors: data if it is no table
  bool has(const char* key);
  bool boolean(const char* key, bool fallback);
  std::int64_t integer(const char* key, std::int64_t fallback, std::int64_t min = 0);
  // Sizes in a network: from 1 to kLargestSize.
  std::int64_t size(const char* key, std::int64_t fallback);
  std::int64_t required_size(const char* key);
  double number(const char* key, double fallback);
  std::string text(const char* key, const std::string& fallback);
  const Node* node(const char* key);      // null if missing
  const Node& required(const char* key);  // Errors: data
  // From 0 to kLargestSize. A single integer stands for `count` equal ones.
  std::vector<std::int64_t> sizes(const char* key, std::vector<std::int64_t> fallback,
                                  std::size_t count);
  // A list of any length of sizes from 1 to kLargestSize.
  std::vector<std::int64_t> list_of_sizes(const char* key, std::vector<std::int64_t> fallback);
  // A list of numbers, or one number.
  std::vector<double> numbers(const char* key, std::vector<double> fallback);

  // Errors: data for a key that was not read. Call it last.
  void done() const;
  const Node& self() const { return node_; }

 private:
  const Node& node_;
  std::vector<std::string> known_;
};

// A choice that is either a name or a table with that name as its only key:
// "adam", { adam = { learning_rate = 0.1 } }.
struct Choice {
  std::string name;
  const Node* options;  // an empty table for a bare name
  const Node* node;
};
Choice read_choice(const Node& node, const char* what);
[[noreturn]] void fail_unknown(const Choice& choice, const char* what,
                               const std::vector<std::string>& known);

}  // namespace trireme::job
