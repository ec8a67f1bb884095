// verify() checks the invariants that every transform must preserve. It trusts only the op
// definitions, so that an error is found in the transform that made it, not in the compiler.

#include <unordered_set>

#include "base/error.h"
#include "ir/mistake.h"
#include "ir/program.h"

namespace trireme::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  void verify() {
    for (std::size_t i = 0; i < program_.parameters().size(); ++i) {
      verify_parameter(*program_.parameters()[i], i);
    }
    verify_block(program_.main(), nullptr);
  }

 private:
  [[noreturn]] void fail(const std::string& message) {
    fail_internal("program " + program_.name + " is not well-formed: " + message);
  }

  [[noreturn]] void fail(const Op& op, const std::string& message) {
    const std::string where = op.location.str();
    fail(op.name() + (where.empty() ? "" : " (" + where + ")") + ": " + message);
  }

  void verify_name(const std::string& name) {
    if (!is_name(name)) fail("'" + name + "' is not a valid name");
    if (!names_.insert(name).second) fail("the name %" + name + " is used twice");
  }

  void verify_parameter(const Parameter& parameter, std::size_t index) {
    if (!parameter.value) fail("a parameter has no value");
    const Value& value = *parameter.value;
    verify_name(value.name);
    if (value.kind != ValueKind::parameter || value.index != static_cast<int>(index) ||
        value.program != &program_) {
      fail("parameter %" + value.name + " is linked wrongly");
    }
    if (program_.find_parameter(value.name) != &parameter) {
      fail("parameter %" + value.name + " is not found by its name");
    }
    if (!is_constant(value.type.shape)) fail("parameter %" + value.name + " has symbolic sizes");
    defined_.insert(&value);
  }

  void verify_block(const Block& block, const Op* owner) {
    if (block.owner != owner) fail("a block is linked to the wrong op");
    if (block.program != &program_) fail("a block is linked to the wrong program");
    for (std::size_t i = 0; i < block.arguments.size(); ++i) {
      const Value& argument = *block.arguments[i];
      verify_name(argument.name);
      if (argument.kind != ValueKind::argument || argument.index != static_cast<int>(i) ||
          argument.block != &block || argument.program != &program_) {
        fail("argument %" + argument.name + " is linked wrongly");
      }
      defined_.insert(&argument);
    }
    for (const auto& op : block.ops) verify_op(*op, block);
    for (const Value* result : block.results) {
      if (!defined_.contains(result)) fail("a block returns a value that is not defined in it");
    }
    // Values defined in a block are not visible after it.
    for (const auto& argument : block.arguments) defined_.erase(argument.get());
    for (const auto& op : block.ops) {
      for (const auto& result : op->results) defined_.erase(result.get());
    }
  }

  void verify_op(const Op& op, const Block& block) {
    if (!op.def || program_.op_set().find(op.def->name) != op.def) {
      fail("an op has no definition of this program's set");
    }
    if (op.parent != &block) fail(op, "it is linked to the wrong block");
    if (!op.location.layer.empty() && !is_name(op.location.layer)) {
      fail(op, "'" + op.location.layer + "' is not a valid name for a layer");
    }
    const std::size_t named = op.def->operands.size();
    if (op.def->variadic ? op.operands.size() + 1 < named : op.operands.size() != named) {
      fail(op, "it has the wrong number of operands");
    }
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      // An undefined operand may be a dangling pointer: do not read it.
      if (!defined_.contains(op.operands[i])) {
        fail(op, "operand " + operand_name(op.def, i) +
                     " is used where it is not defined or not visible");
      }
    }
    for (const auto& nested : op.blocks) verify_block(*nested, &op);
    verify_types(op);
    for (const auto& result : op.results) defined_.insert(result.get());
  }

  void verify_types(const Op& op) {
    std::vector<Type> types;
    try {
      if (!same(complete_attributes(*op.def, op.attributes), op.attributes)) {
        fail(op, "its attributes are not complete and sorted");
      }
      types = result_types(*op.def, op.operands, op.attributes, op.blocks);
    } catch (const TypeError& error) {
      fail(op, error.message);
    }
    if (types.size() != op.results.size()) fail(op, "it has the wrong number of results");
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Value& result = *op.results[i];
      if (result.kind != ValueKind::result || result.producer != &op ||
          result.index != static_cast<int>(i) || result.block != op.parent ||
          result.program != &program_) {
        fail(op, "a result is linked wrongly");
      }
      if (result.type != types[i]) {
        fail(op,
             "a result is " + result.type.str() + ", but its type rule returns " + types[i].str());
      }
    }
  }

  const Program& program_;
  std::unordered_set<const Value*> defined_;
  std::unordered_set<std::string> names_;
};

}  // namespace

void verify(const Program& program) { Verifier(program).verify(); }

}  // namespace trireme::ir
