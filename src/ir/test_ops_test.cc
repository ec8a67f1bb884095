#include "ir/test_ops.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace trireme::ir {
namespace {

std::vector<Type> same_type(const TypeContext& c) {
  for (const Type& type : c.operands) {
    if (type != c.operands[0]) {
      throw TypeError{"the types differ: " + c.operand_texts[0] + ", " + c.operand_texts[1], ""};
    }
  }
  return {c.operands[0]};
}

std::vector<Type> comparison(const TypeContext& c) {
  Type type = same_type(c)[0];
  type.dtype = boolean;
  return {type};
}

std::vector<Type> select_type(const TypeContext& c) {
  if (c.operands[0].dtype != boolean) throw TypeError{"the condition is not boolean", ""};
  if (c.operands[1] != c.operands[2]) throw TypeError{"a and b differ", ""};
  return {c.operands[1]};
}

std::vector<Type> matmul_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& weight = c.operands[1];
  if (x.rank() != 2 || weight.rank() != 2 || x.shape[1] != weight.shape[0]) {
    throw TypeError{
        "the inner dimensions differ: " + c.operand_texts[0] + ", " + c.operand_texts[1],
        "transpose one of them"};
  }
  return {{x.dtype, {x.shape[0], weight.shape[1]}}};
}

std::vector<Type> broadcast_type(const TypeContext& c) {
  const Shape& shape = get_attribute<Shape>(c.attributes, "shape");
  const auto& axes = get_attribute<std::vector<std::int64_t>>(c.attributes, "axes");
  if (axes.size() != c.operands[0].shape.size()) throw TypeError{"wrong axes", ""};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (c.operands[0].shape[i] != shape.at(static_cast<std::size_t>(axes[i]))) {
      throw TypeError{"wrong sizes", ""};
    }
  }
  return {{c.operands[0].dtype, shape, ""}};
}

std::vector<Type> reshape_type(const TypeContext& c) {
  const Shape& shape = get_attribute<Shape>(c.attributes, "shape");
  if (product(shape) != product(c.operands[0].shape)) throw TypeError{"wrong count", ""};
  return {{c.operands[0].dtype, shape, ""}};
}

std::vector<Type> constant_type(const TypeContext& c) {
  return {{get_attribute<DType>(c.attributes, "dtype"), get_attribute<Shape>(c.attributes, "shape"),
           ""}};
}

}  // namespace

TestOps::TestOps() {
  const auto elementwise = static_cast<std::uint32_t>(Trait::elementwise);
  add("add(a, b)", elementwise, same_type);
  add("sub(a, b)", elementwise, same_type);
  add("mul(a, b)", elementwise, same_type);
  add("div(a, b)", elementwise, same_type);
  add("neg(x)", elementwise, same_type);
  add("less(a, b)", elementwise, comparison);
  add("less_equal(a, b)", elementwise, comparison);
  add("where(condition, a, b)", elementwise, select_type);
  add("matmul(x, weight)", 0, matmul_type);
  add("broadcast(x; shape: shape, axes: ints)", static_cast<std::uint32_t>(Trait::broadcast),
      broadcast_type);
  add("reshape(x; shape: shape)", static_cast<std::uint32_t>(Trait::reshape), reshape_type);
  add("constant(; value: float, dtype: dtype, shape: shape = [])",
      static_cast<std::uint32_t>(Trait::constant), constant_type);
  add("assign(target, value) -> ()", static_cast<std::uint32_t>(Trait::side_effect),
      [](const TypeContext& c) {
        same_type(c);
        return std::vector<Type>();
      });
  add("pair(x) -> first, second", 0,
      [](const TypeContext& c) { return std::vector<Type>{c.operands[0], {i64, {}, ""}}; });
  add("gather_all(first, xs...)", 0,
      [](const TypeContext& c) { return std::vector<Type>{c.operands[0]}; });
  add("everything(; flag: bool = true, count: int = -3, scale: float = 1e-20, "
      "title: string = \"a, b\", sizes: ints = [1, 2], weights: floats = [0.5, inf], "
      "kind: dtype = i32, extent: shape = [2*batch + 1, 3])",
      0, [](const TypeContext&) { return std::vector<Type>{{f64, {}, ""}}; });
  add("repeat(x)", 0, same_type);  // holds blocks
}

OpDef& TestOps::add(std::string signature, std::uint32_t traits,
                    std::function<std::vector<Type>(const TypeContext&)> type) {
  OpDef def;
  def.signature = std::move(signature);
  def.traits = traits;
  def.type = std::move(type);
  parse_signature(def);
  const std::string name = def.name;
  return ops_[name] = std::move(def);
}

const OpDef* TestOps::find(std::string_view name) const {
  const auto found = ops_.find(name);
  return found == ops_.end() ? nullptr : &found->second;
}

std::vector<std::string> TestOps::names() const {
  std::vector<std::string> result;
  for (const auto& [name, def] : ops_) result.push_back(name);
  return result;
}

namespace {

class Generator {
 public:
  Generator(const OpSet& ops, unsigned seed)
      : program_(std::make_unique<Program>("p" + std::to_string(seed), ops)), random_(seed) {}

  std::unique_ptr<Program> make() {
    if (number(0, 5) == 0) program_->name = text();
    for (int i = number(0, 3); i-- > 0;) add_parameter();
    for (int i = number(1, 3); i-- > 0;) {
      visible_.push_back(program_->add_input(fresh_name(), type(true)));
    }
    fill(program_->main(), 0);
    return std::move(program_);
  }

 private:
  int number(int low, int high) { return std::uniform_int_distribution<>(low, high)(random_); }

  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[number(0, static_cast<int>(choices.size()) - 1)];
  }

  std::string text() {
    std::string result;
    for (int i = number(0, 12); i-- > 0;) result += static_cast<char>(number(0, 255));
    return result;
  }

  std::string fresh_name() {
    return one_of<std::string>({"image", "x.y", "_z", "enc/lin-1."}) + std::to_string(names_++);
  }

  double real() {
    switch (number(0, 6)) {
      case 0: return std::numeric_limits<double>::infinity();
      case 1: return std::numeric_limits<double>::quiet_NaN();
      case 2: return -0.0;
      case 3: return number(-9, 9);
      case 4: return std::numeric_limits<double>::denorm_min() * number(1, 1000);
      default:
        return std::ldexp(std::uniform_real_distribution<>(-1, 1)(random_), number(-300, 300));
    }
  }

  Shape shape(bool symbolic) {
    Shape result;
    for (int i = number(0, 4); i-- > 0;) {
      Dim dim = number(0, 9);
      if (symbolic && number(0, 2) == 0) dim = dim + batch * number(1, 3);
      if (symbolic && number(0, 5) == 0) dim = dim + Dim(std::string_view("tokens")) * batch;
      result.push_back(dim);
    }
    return result;
  }

  Type type(bool symbolic) {
    Type result{one_of({boolean, u8, i32, i64, f32, f64}), shape(symbolic), ""};
    if (symbolic && number(0, 4) == 0) result = {i64, {batch + 1}, "words"};
    return result;
  }

  Location location() {
    switch (number(0, 4)) {
      case 0: return {};
      case 1: return {"digits.cc", number(0, 9999), ""};
      case 2: return {"my file:1 a.cc", number(0, 99), "layer_0"};
      case 3: return {"", number(1, 9), "encoder/ffn-1.a"};
      default: return {"a.cc", number(1, 99), "linear_" + std::to_string(number(0, 30))};
    }
  }

  Attribute attribute() {
    switch (number(0, 7)) {
      case 0: return number(0, 1) == 1;
      case 1: return one_of<std::int64_t>({0, -7, INT64_MAX, INT64_MIN});
      case 2: return real();
      case 3: return text();
      case 4:
        return std::vector<std::int64_t>(static_cast<std::size_t>(number(0, 3)), number(-5, 5));
      case 5: return std::vector<double>(static_cast<std::size_t>(number(0, 3)), real());
      case 6: return one_of({boolean, u8, i32, i64, f32, f64});
      default: return shape(true);
    }
  }

  void add_parameter() {
    Initializer initializer{"kaiming_uniform", {}};
    for (int i = number(0, 4); i-- > 0;) {
      initializer.attributes.push_back({"n" + std::to_string(9 - i), attribute()});
    }
    ParameterSettings settings{.frozen = number(0, 4) == 0};
    if (number(0, 1) == 1) settings.l1 = settings.weight_decay = number(0, 9) / 7.0;
    visible_.push_back(program_->add_parameter(fresh_name(), type(false), initializer,
                                               number(0, 1) == 1, location(), settings));
  }

  void fill(Block& block, int depth) {
    for (int i = number(0, 12); i-- > 0;) add_op(block, depth);
    for (int i = number(0, 3); i-- > 0;) block.results.push_back(any());
  }

  Value* any() { return visible_[static_cast<std::size_t>(number(0, visible_.size() - 1))]; }

  void add_op(Block& block, int depth) {
    Value* x = any();
    Op* op = nullptr;
    switch (number(0, 8)) {
      case 0: op = append(block, "add", {x, x}); break;
      case 1: op = append(block, "less", {x, x}); break;
      case 2: op = append(block, "pair", {x}); break;
      case 3: op = append(block, "assign", {x, x}); break;
      case 4: op = append(block, "gather_all", {x, any(), any()}); break;
      case 5: op = append(block, "everything", {}, everything_attributes()); break;
      case 6: op = append(block, "constant", {}, {{"value", real()}, {"dtype", f32}}); break;
      case 7: op = append(block, "neg", {x}); break;
      default:
        op = append(block, "repeat", {x});
        for (int i = depth < 3 ? number(0, 2) : 0; i-- > 0;) add_nested(*op, depth);
    }
    for (const auto& result : op->results) visible_.push_back(result.get());
  }

  Op* append(Block& block, const char* name, std::vector<Value*> operands,
             Attributes attributes = {}) {
    return program_->append(block, name, std::move(operands), std::move(attributes), location());
  }

  void add_nested(Op& op, int depth) {
    const std::size_t outside = visible_.size();
    Block& block = program_->add_block(op);
    for (int i = number(0, 2); i-- > 0;) {
      visible_.push_back(program_->add_argument(block, fresh_name(), type(true)));
    }
    fill(block, depth + 1);
    visible_.resize(outside);
  }

  Attributes everything_attributes() {
    return {{"flag", number(0, 1) == 1},
            {"count", one_of<std::int64_t>({0, INT64_MIN, INT64_MAX})},
            {"scale", real()},
            {"title", text()},
            {"sizes", std::vector<std::int64_t>(static_cast<std::size_t>(number(0, 3)), 4)},
            {"weights", std::vector<double>(static_cast<std::size_t>(number(0, 3)), real())},
            {"kind", one_of({boolean, f64})},
            {"extent", shape(true)}};
  }

  std::unique_ptr<Program> program_;
  std::mt19937 random_;
  std::vector<Value*> visible_;
  int names_ = 0;
};

}  // namespace

std::unique_ptr<Program> random_program(const OpSet& ops, unsigned seed) {
  return Generator(ops, seed).make();
}

}  // namespace trireme::ir
