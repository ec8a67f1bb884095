// Prints the text form of a Program. parser.cc reads it back; README.md has the grammar.

#include <unordered_map>

#include "base/attributes.h"
#include "ir/program.h"

namespace trireme::ir {
namespace {

std::string attributes_text(const Attributes& attributes) {
  std::string text;
  for (const NamedAttribute& attribute : attributes) {
    if (!text.empty()) text += ", ";
    text += attribute.name + " = " + print_attribute(attribute.value);
  }
  return text;
}

class Printer {
 public:
  std::string print(const Program& program) {
    text_ =
        "program " + (is_name(program.name) ? program.name : quoted_text(program.name)) + " v1\n";
    for (const auto& parameter : program.parameters()) print_parameter(*parameter);
    print_block(program.main(), 0);
    return std::move(text_);
  }

 private:
  void print_parameter(const Parameter& parameter) {
    text_ += (parameter.trainable ? "param %" : "state %") + parameter.name() + " : " +
             parameter.value->type.str() + " = " + parameter.initializer.name + "(" +
             attributes_text(parameter.initializer.attributes) + ")";
    const Attributes settings = attributes_of(parameter.settings);
    if (!settings.empty()) text_ += " {" + attributes_text(settings) + "}";
    end_line(parameter.location);
  }

  void print_block(const Block& block, int depth) {
    indent(depth);
    text_ += "block " + std::to_string(blocks_++) + " (";
    for (const auto& argument : block.arguments) {
      if (argument != block.arguments.front()) text_ += ", ";
      text_ += "%" + argument->name + " : " + argument->type.str();
    }
    text_ += ") {\n";
    for (const auto& op : block.ops) print_op(*op, depth + 1);
    indent(depth + 1);
    text_ += "return";
    for (std::size_t i = 0; i < block.results.size(); ++i) {
      text_ += (i ? ", " : " ") + name(block.results[i]);
    }
    text_ += "\n";
    indent(depth);
    text_ += "}\n";
  }

  void print_op(const Op& op, int depth) {
    indent(depth);
    for (const auto& result : op.results) {
      numbers_[result.get()] = static_cast<int>(numbers_.size());
      text_ += (result == op.results.front() ? "" : ", ") + name(result.get());
    }
    if (!op.results.empty()) text_ += " = ";
    text_ += op.name() + "(";
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      text_ += (i ? ", " : "") + name(op.operands[i]);
    }
    text_ += ")";
    if (!op.attributes.empty()) text_ += " {" + attributes_text(op.attributes) + "}";
    for (const auto& result : op.results) {
      text_ += (result == op.results.front() ? " : " : ", ") + result->type.str();
    }
    end_line(op.location);
    for (const auto& nested : op.blocks) print_block(*nested, depth + 1);
  }

  void end_line(const Location& location) {
    const std::string where = location.str();
    text_ += (where.empty() ? "" : "   // " + where) + "\n";
  }

  void indent(int depth) { text_.append(static_cast<std::size_t>(depth) * 2, ' '); }

  std::string name(const Value* value) const {
    if (value->kind != ValueKind::result) return "%" + value->name;
    const auto found = numbers_.find(value);
    return "%" + (found == numbers_.end() ? "undefined" : std::to_string(found->second));
  }

  std::string text_;
  std::unordered_map<const Value*, int> numbers_;
  int blocks_ = 0;
};

// Counts results in the order of printing until `wanted`. Returns false if `wanted` is not found.
bool count_until(const Block& block, const Value* wanted, int* count) {
  for (const auto& op : block.ops) {
    for (const auto& result : op->results) {
      if (result.get() == wanted) return true;
      ++*count;
    }
    for (const auto& nested : op->blocks) {
      if (count_until(*nested, wanted, count)) return true;
    }
  }
  return false;
}

}  // namespace

std::string print(const Program& program) { return Printer().print(program); }

std::string name_in_text(const Value* value) {
  if (value->kind != ValueKind::result) return "%" + value->name;
  int count = 0;
  const bool found = count_until(value->program->main(), value, &count);
  return "%" + (found ? std::to_string(count) : "undefined");
}

}  // namespace trireme::ir
