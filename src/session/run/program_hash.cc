#include "session/run/program_hash.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/checksum.h"

namespace trireme {
namespace {

class Hasher {
 public:
  std::string block(const ir::Block& block) {
    std::vector<std::string> ops;
    for (const auto& op : block.ops) ops.push_back(hash_of_[op.get()] = checksum(text(*op)));
    std::sort(ops.begin(), ops.end());
    std::string all;
    for (const std::string& op : ops) all += op + "\n";
    for (const ir::Value* result : block.results) all += "return " + text(*result) + "\n";
    return checksum(all);
  }

 private:
  std::string text(const ir::Value& value) const {
    if (value.producer == nullptr) return "%" + value.name + " : " + value.type.str();
    return hash_of_.at(value.producer) + "#" + std::to_string(value.index);
  }

  std::string text(const ir::Op& op) {
    const ir::OpDef& def = *op.def;
    std::string text = (def.old_name.empty() ? def.name : def.old_name) + "(";
    for (const ir::Value* operand : op.operands) text += this->text(*operand) + ", ";
    text += ") {";
    std::map<std::string, const Attribute*> attributes;
    for (const auto& [name, attribute] : op.attributes) {
      attributes[old_name(def, name)] = &attribute;
    }
    for (const auto& [name, attribute] : attributes) {
      text += name + " = " + print_attribute(*attribute) + ", ";
    }
    text += "} :";
    for (const auto& result : op.results) text += " " + result->type.str();
    for (const auto& nested : op.blocks) text += " " + block(*nested);
    return text;
  }

  // Checkpoints of the previous version have hashes with the names of that version.
  static const std::string& old_name(const ir::OpDef& def, const std::string& name) {
    for (const auto& [before, now] : def.old_attributes) {
      if (now == name) return before;
    }
    return name;
  }

  std::unordered_map<const ir::Op*, std::string> hash_of_;
};

}  // namespace

std::string hash_of(const ir::Program& program) { return Hasher().block(program.main()); }

}  // namespace trireme
