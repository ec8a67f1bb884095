#include "ir/mistake.h"

namespace trireme::ir {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text + " ";
}

std::string place(const Location& location) {
  if (location.file.empty()) return "";
  const bool has_line = location.line > 0;  // a command-line flag has none
  return "at " + location.file + (has_line ? ":" + std::to_string(location.line) : "");
}

std::string origin(const Value& value) {
  if (value.kind == ValueKind::argument) return "is %" + value.name;
  if (value.kind == ValueKind::parameter) {
    const std::string where = place(value.program->parameter_of(&value).location);
    return "is %" + value.name + (where.empty() ? "" : " " + where);
  }
  const Location& location = value.producer->location;
  const std::string where = place(location);
  return "from " + (location.layer.empty() ? value.producer->name() : location.layer) +
         (where.empty() ? "" : " " + where);
}

}  // namespace

std::string Location::str() const {
  if (file.empty() && line == 0 && layer.empty()) return "";
  std::string text = file + ":" + std::to_string(line);
  if (!layer.empty()) text += " " + layer;
  return text;
}

std::string operand_name(const OpDef* def, std::size_t i) {
  if (def && i + (def->variadic ? 1 : 0) < def->operands.size()) return def->operands[i];
  if (def && def->variadic) {
    const std::size_t first = def->operands.size() - 1;
    return def->operands.back() + "[" + std::to_string(i - first) + "]";
  }
  return "operand " + std::to_string(i);
}

std::string describe_mistake(std::string_view op, const OpDef* def,
                             const std::vector<Value*>& operands, const Location& location,
                             const TypeError& error) {
  std::string text = std::string(op) + ": " + error.message;
  const std::string where = place(location);
  if (!location.layer.empty()) {
    text += "\n  layer  " + (where.empty() ? location.layer : padded(location.layer, 17) + where);
  } else if (!where.empty()) {
    text += "\n  made   " + where;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    text += "\n  input  " + padded(operand_name(def, i), 17) + origin(*operands[i]) + ", " +
            operands[i]->type.str();
  }
  if (!error.hint.empty()) text += "\n  hint   " + error.hint;
  return text;
}

}  // namespace trireme::ir
