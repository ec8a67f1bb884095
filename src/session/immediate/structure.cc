#include "session/immediate/structure.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/attributes.h"

namespace trireme::immediate {
namespace {

constexpr const char* kNumber = "value";  // the attribute of a constant

bool is_number(const ir::Op& op) {
  if (!op.has(ir::Trait::constant) || !has_attribute(op.attributes, kNumber)) return false;
  const ir::Type& type = op.result()->type;
  return type.shape.empty() && (type.dtype == DType::f32 || type.dtype == DType::f64 ||
                                type.dtype == DType::i32 || type.dtype == DType::i64);
}

// Collects the operands of an op and of the ops inside of it.
template <class Visit>
void visit_operands(const ir::Op& op, const Visit& visit) {
  for (const ir::Value* operand : op.operands) visit(operand);
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) visit_operands(*inner, visit);
    for (const ir::Value* result : block->results) visit(result);
  }
}

// Memory for the tables of a usual recording, which is walked at every step of a loop.
class Scratch {
 public:
  std::pmr::memory_resource* get() { return &pool_; }

 private:
  std::array<std::byte, 32768> bytes_;
  std::pmr::monotonic_buffer_resource pool_{bytes_.data(), bytes_.size()};
};

class Writer {
 public:
  Writer(Structure& made, Scratch& scratch) : made_(made), ids_(scratch.get()) {}

  void block(const ir::Block& block) {
    number(block.arguments.size());
    for (const auto& argument : block.arguments) {
      type(argument->type);
      define(argument.get());
    }
    for (const auto& inner : block.ops) op(*inner, /*main=*/false);
    number(block.results.size());
    for (const ir::Value* result : block.results) value(result);
  }

  void op(const ir::Op& op, bool main) {
    number(reinterpret_cast<std::uintptr_t>(op.def));
    number(op.operands.size());
    for (const ir::Value* operand : op.operands) value(operand);
    const bool open = main && is_number(op);
    if (open) made_.numbers.push_back(&op);
    for (const auto& [name, attribute] : op.attributes) {
      if (open && name == kNumber) continue;
      this->attribute(attribute);
    }
    for (const auto& nested : op.blocks) block(*nested);
    for (const auto& result : op.results) {
      if (!op.blocks.empty()) type(result->type);
      define(result.get());
    }
  }

  // An input is described where it is first used.
  void value(const ir::Value* value) {
    const auto [found, is_new] = ids_.emplace(value, ids_.size());
    number(found->second);
    if (!is_new) return;
    made_.inputs.push_back(value);
    type(value->type);
  }

 private:
  void define(const ir::Value* value) { ids_.emplace(value, ids_.size()); }

  void raw(const void* bytes, std::size_t size) {
    made_.key.append(static_cast<const char*>(bytes), size);
  }
  void number(std::uint64_t value) { raw(&value, sizeof(value)); }
  void text(const std::string& text) {
    number(text.size());
    made_.key += text;
  }
  void shape(const Shape& shape) {
    number(shape.size());
    for (const Dim& dim : shape) {
      number(dim.is_constant() ? 1 : 0);
      if (dim.is_constant()) number(static_cast<std::uint64_t>(dim.constant()));
      else text(dim.str());
    }
  }
  void type(const ir::Type& type) {
    number(static_cast<std::uint64_t>(type.dtype));
    shape(type.shape);
  }
  void attribute(const Attribute& attribute) {
    number(attribute.index());
    std::visit(
        [&](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::string>) {
            text(held);
          } else if constexpr (std::is_same_v<T, Shape>) {
            shape(held);
          } else if constexpr (std::is_class_v<T>) {
            number(held.size());
            raw(held.data(), held.size() * sizeof(held[0]));
          } else {
            std::uint64_t bits = 0;
            static_assert(sizeof(held) <= sizeof(bits));
            std::memcpy(&bits, &held, sizeof(held));
            number(bits);
          }
        },
        attribute);
  }

  Structure& made_;
  std::pmr::unordered_map<const ir::Value*, std::uint64_t> ids_;
};

}  // namespace

Structure structure_of(const ir::Program& program, const std::vector<const ir::Value*>& fetches,
                       std::string memory) {
  const auto& ops = program.main().ops;
  Scratch scratch;
  std::pmr::unordered_set<const ir::Value*> needed(scratch.get());
  needed.insert(fetches.begin(), fetches.end());
  std::pmr::vector<const ir::Op*> chosen(scratch.get());
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    bool used = false;
    for (const auto& result : (*op)->results) used = used || needed.contains(result.get());
    if (!used) continue;
    chosen.push_back(op->get());
    visit_operands(**op, [&](const ir::Value* operand) { needed.insert(operand); });
  }
  Structure made{.key = std::move(memory)};
  made.key.clear();
  Writer writer(made, scratch);
  for (auto op = chosen.rbegin(); op != chosen.rend(); ++op) writer.op(**op, /*main=*/true);
  for (const ir::Value* fetch : fetches) writer.value(fetch);
  return made;
}

double number_of(const ir::Op& constant) {
  return get_attribute<double>(constant.attributes, kNumber);
}

std::size_t period_of(const ir::Program& program, std::size_t longest) {
  const auto& ops = program.main().ops;
  for (std::size_t period = 1; period <= longest && 2 * period <= ops.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = ops.size() - period; i < ops.size() && repeats; ++i) {
      repeats = ops[i]->def == ops[i - period]->def;
    }
    if (repeats) return period;
  }
  return 0;
}

}  // namespace trireme::immediate
