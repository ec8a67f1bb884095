#include "program_mutator.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <random>
#include <vector>

#include "ir/blocks.h"
#include "ir/program.h"
#include "ops/op.h"
#include "trireme/error.h"

namespace trireme {
namespace {

constexpr std::int64_t kNumbers[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     7,
                                     64,
                                     1000000,
                                     2147483647,
                                     -2147483648,
                                     4294967296,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()};
constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i32,  DType::i64,
                            DType::f32,     DType::f64, DType::bf16, DType::f16};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string program(std::string_view text) {
    const auto old = ir::parse(text, ops::catalog(), ir::InternalOps::refuse);
    next_ = std::make_unique<ir::Program>(old->name, ops::catalog());
    ir::Copier copier(next_->main());
    for (const auto& parameter : old->parameters()) {
      keep(copier, *parameter->value,
           next_->add_parameter(parameter->name(), parameter->value->type, parameter->initializer,
                                parameter->trainable, {}, parameter->settings));
    }
    for (const auto& argument : old->main().arguments) {
      keep(copier, *argument, next_->add_input(argument->name, varied(argument->type)));
    }
    for (const auto& op : old->main().ops) {
      if (one_in(12)) add_op();
      copy(copier, *op);
    }
    if (old->main().ops.empty() || one_in(6)) add_op();
    choose_results(copier, *old);
    return ir::print(*next_);
  }

  std::string words(std::string text) {
    for (int i = 1 + below(3); i > 0 && !text.empty(); --i) {
      const std::size_t at = static_cast<std::size_t>(below(static_cast<int>(text.size())));
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit == std::string::npos || one_in(4)) {
        text.erase(at, static_cast<std::size_t>(1 + below(8)));
        continue;
      }
      std::size_t end = digit;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
      text.replace(digit, end - digit, std::to_string(any_number()));
    }
    return text;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  std::int64_t any_number() { return kNumbers[below(std::size(kNumbers))]; }

  void keep(ir::Copier& copier, const ir::Value& old, ir::Value* value) {
    copier.set(&old, value);
    values_.push_back(value);
  }

  ir::Value* fresh(const ir::Type& type) {
    values_.push_back(next_->add_input(next_->unique_argument("in"), type));
    return values_.back();
  }

  ir::Type varied(ir::Type type) {
    if (one_in(20)) type.dtype = kTypes[below(std::size(kTypes))];
    for (Dim& dim : type.shape) {
      if (one_in(20) && type.splits_of.empty()) dim = below(5);
    }
    return type;
  }

  std::int64_t varied(std::int64_t number) {
    return one_in(3) ? any_number()
                     : static_cast<std::int64_t>(static_cast<std::uint64_t>(number) +
                                                 static_cast<std::uint64_t>(below(5)) - 2);
  }

  Attributes varied(Attributes attributes) {
    for (NamedAttribute& a : attributes) {
      if (!one_in(5)) continue;
      if (auto* flag = std::get_if<bool>(&a.value)) *flag = !*flag;
      else if (auto* number = std::get_if<std::int64_t>(&a.value)) *number = varied(*number);
      else if (auto* real = std::get_if<double>(&a.value))
        *real = static_cast<double>(any_number());
      else if (auto* dtype = std::get_if<DType>(&a.value))
        *dtype = kTypes[below(std::size(kTypes))];
      else if (auto* list = std::get_if<std::vector<std::int64_t>>(&a.value)) {
        if (one_in(4)) list->push_back(below(4));
        for (std::int64_t& x : *list) x = one_in(2) ? varied(x) : x;
      } else if (auto* shape = std::get_if<Shape>(&a.value)) {
        for (Dim& dim : *shape) dim = one_in(2) ? Dim(one_in(8) ? any_number() : below(5)) : dim;
      }
    }
    return attributes;
  }

  std::vector<ir::Value*> varied(std::vector<ir::Value*> operands) {
    for (ir::Value*& operand : operands) {
      if (!one_in(8)) continue;
      ir::Value* other = values_[static_cast<std::size_t>(below(static_cast<int>(values_.size())))];
      if (other->type.dtype == operand->type.dtype) operand = other;
    }
    return operands;
  }

  void copy(ir::Copier& copier, const ir::Op& op) {
    std::vector<ir::Value*> operands;
    for (ir::Value* operand : op.operands) operands.push_back(copier.of(operand));
    if (!one_in(15) && append(copier, op, operands)) return;
    for (const auto& result : op.results) copier.set(result.get(), fresh(result->type));
  }

  bool append(ir::Copier& copier, const ir::Op& op, const std::vector<ir::Value*>& operands) {
    if (!op.blocks.empty()) {
      copier.copy(op);
      for (const auto& result : op.results) values_.push_back(copier.of(result.get()));
      return true;
    }
    for (const bool change : {true, false}) {
      try {
        const ir::Op* made =
            next_->append(next_->main(), op.name(), change ? varied(operands) : operands,
                          change ? varied(op.attributes) : op.attributes, {});
        for (std::size_t i = 0; i < op.results.size() && i < made->results.size(); ++i) {
          keep(copier, *op.results[i], made->results[i].get());
        }
        return true;
      } catch (const Error&) {  // a type rule
      }
    }
    return false;
  }

  // An op of the catalog with one of its samples; its operands are inputs or other values.
  void add_op() {
    const std::vector<std::string> names = ops::catalog().names();
    const std::string& name =
        names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
    const ops::Op& op = *ops::catalog().find(name);
    if (op.samples.empty() || op.has(ir::Trait::internal)) return;
    const ops::Sample& sample =
        op.samples[static_cast<std::size_t>(below(static_cast<int>(op.samples.size())))];
    std::vector<ir::Value*> operands;
    for (const ir::Type& type : sample.operands) {
      const auto same = std::find_if(values_.begin(), values_.end(),
                                     [&](const ir::Value* value) { return value->type == type; });
      operands.push_back(same == values_.end() || one_in(2) ? fresh(type) : *same);
    }
    try {
      const ir::Op* made =
          next_->append(next_->main(), name, operands, varied(sample.attributes), {});
      for (const auto& result : made->results) values_.push_back(result.get());
      added_.insert(added_.end(), values_.end() - static_cast<std::ptrdiff_t>(made->results.size()),
                    values_.end());
    } catch (const Error&) {  // a type rule
    }
  }

  void choose_results(const ir::Copier& copier, const ir::Program& old) {
    std::vector<ir::Value*>& results = next_->main().results;
    for (ir::Value* value : old.main().results) results.push_back(copier.of(value));
    results.insert(results.end(), added_.begin(), added_.end());
    if (results.size() > 6) results.resize(6);
    if (one_in(5) && !values_.empty()) results.push_back(values_.back());
  }

  std::mt19937_64 random_;
  std::unique_ptr<ir::Program> next_;
  std::vector<ir::Value*> values_, added_;
};

}  // namespace

std::string mutated_program(std::string_view text, std::uint64_t seed) {
  Mutator mutator(seed);
  if (seed % 16 != 0) {
    try {
      return mutator.program(text);
    } catch (const Error&) {  // not a Program
    }
  }
  return mutator.words(std::string(text));
}

}  // namespace trireme
