#pragma once

// Reads the options of nn/catalog from a table of a job: fields(reader, options) sets every option
// that the table has. Errors: data with the line for a wrong type, a value beyond the limits of the
// field, and a required option that is missing.

#include <optional>
#include <string>
#include <vector>

#include "nn/catalog/field.h"
#include "session/job/node.h"
#include "trireme/convolution.h"
#include "trireme/nn.h"

namespace trireme::job {

class FieldReader {
 public:
  explicit FieldReader(Table& table) : table_(table) {}

  void operator()(const nn::Field& field, bool& value);
  void operator()(const nn::Field& field, std::int64_t& value);
  void operator()(const nn::Field& field, int& value);
  void operator()(const nn::Field& field, double& value);
  void operator()(const nn::Field& field, std::string& value);
  void operator()(const nn::Field& field, std::vector<std::int64_t>& value);
  void operator()(const nn::Field& field, std::vector<double>& value);
  void operator()(const nn::Field& field, std::vector<std::string>& value);  // one, or a list
  void operator()(const nn::Field& field, nn::Pair& value);                  // one number or two
  void operator()(const nn::Field& field, nn::Padding& value);    // one, two, four, or a word
  void operator()(const nn::Field& field, nn::Padding1d& value);  // one, two, or a word
  void operator()(const nn::Field& field, nn::Triple& value);     // one number or three
  void operator()(const nn::Field& field, nn::Padding3d& value);  // one, three, or a word
  void operator()(const nn::Field& field, nn::Activation& value);
  void operator()(const nn::Field& field, std::optional<Initializer>& value);  // a word
  void operator()(const nn::Field& field, std::uint64_t& value);
  void operator()(const nn::Field& field, const Node*& value);  // null if missing
  template <class T>
  void operator()(const nn::Field& field, std::optional<T>& value) {
    if (!table_.has(field.name)) return;
    T given = value.value_or(T(1));
    (*this)(field, given);
    value = given;
  }
  template <class Enum>
  void operator()(const nn::Field& field, Enum& value, const nn::Words<Enum>& words) {
    const Node* node = table_.node(field.name);
    if (node == nullptr) return;
    std::vector<std::string> known;
    const std::string word = table_.text(field.name, "");
    for (const auto& [name, meaning] : words) {
      known.push_back(name);
      if (name != word) continue;
      value = meaning;
      return;
    }
    fail_unknown({word, node, node}, field.name, known);
  }

 private:
  // Null if the table does not have the option.
  const Node* find(const nn::Field& field, bool given);
  std::vector<std::int64_t> list(const nn::Field& field, const Node& node, std::size_t count) const;

  Table& table_;
};

// Reads all options of the struct.
template <class Options>
void read_fields(Table& table, Options& options) {
  FieldReader reader(table);
  fields(reader, options);
}

}  // namespace trireme::job
