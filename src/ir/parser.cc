// Parses the text form of a Program; the inverse of printer.cc. The type rules of the ops check
// types while the Program is built, so the result of parse() is well-formed for any input bytes.
// Depth and sizes are limited, and the work is about linear in the length of the text.

#include <unordered_map>

#include "base/error.h"
#include "base/number_text.h"
#include "ir/builder.h"
#include "ir/scanner.h"

namespace trireme::ir {
namespace {

constexpr int kMaxBlockDepth = 64;
constexpr std::size_t kMaxRank = 32;
constexpr std::size_t kMaxDimLength = 256;
constexpr std::size_t kMaxOperands = 4096;
constexpr std::size_t kMaxAttributes = 256;
constexpr std::size_t kMaxCandidates = 1000;  // names compared for "did you mean"
constexpr std::size_t kMaxSuggestionLength = 64;

std::string dtype_hint() {
  std::string names;
  for (const DTypeInfo& info : kDTypes) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return "dtypes are " + names;
}

class Parser {
 public:
  Parser(std::string_view text, const OpSet& op_set, InternalOps internal_ops)
      : scan_(text), op_set_(op_set), internal_ops_(internal_ops) {}

  std::unique_ptr<Program> parse() {
    parse_header();
    while (scan_.peek_word("param") || scan_.peek_word("state")) parse_parameter();
    parse_block(program_->main(), 0);
    if (!scan_.at_end()) scan_.fail("nothing may follow the main block");
    return std::move(program_);
  }

 private:
  // Runs `make`, which builds a part of the Program. Adds the position in the text to its errors.
  template <class Make>
  auto build(std::size_t at, Make make) {
    try {
      return make();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      scan_.fail_at(at, error.what());
    }
  }

  template <class Make>
  void define(const std::string& name, std::size_t at, Make make) {
    values_.emplace(name, build(at, make));
  }

  void parse_header() {
    scan_.expect_word("program");
    std::string name = scan_.peek('"') ? scan_.quoted() : scan_.name("the program");
    scan_.skip();
    const std::size_t at = scan_.position();
    const std::string version(scan_.word());
    if (version != "v1") {
      scan_.fail_at(at, "expected the version v1, found '" + version.substr(0, 20) + "'",
                    "this version of Trireme reads v1 only; use a newer Trireme");
    }
    program_ = std::make_unique<Program>(std::move(name), op_set_);
    program_->torch.recorded = false;
  }

  void parse_parameter() {
    const std::size_t at = scan_.position();
    const bool trainable = scan_.word() == "param";
    const std::string name = scan_.value_name();
    scan_.expect(':', "before the type of the parameter");
    Type type = parse_type();
    scan_.expect('=', "before the initializer of the parameter");
    Initializer initializer{scan_.name("the initializer"), {}};
    scan_.expect('(', "after the name of the initializer");
    initializer.attributes = parse_attributes(')');
    Attributes settings;
    if (scan_.accept('{')) settings = parse_attributes('}');
    const Location location = parse_location_comment();
    define(name, at, [&] {
      return program_->add_parameter(name, std::move(type), initializer, trainable, location,
                                     settings_from(settings));
    });
  }

  void parse_block(Block& block, int depth) {
    scan_.skip();
    const std::size_t at = scan_.position();
    scan_.expect_word("block");
    if (depth == kMaxBlockDepth) scan_.fail_at(at, "blocks are nested more than 64 deep");
    if (scan_.word() != std::to_string(blocks_)) {
      scan_.fail_at(at, "expected block " + std::to_string(blocks_) +
                            ": blocks are numbered in the order of the text");
    }
    ++blocks_;
    parse_arguments(block);
    scan_.expect('{', "before the ops of the block");
    while (!scan_.accept_word("return")) parse_op(block, depth);
    if (scan_.peek('%')) {
      do {
        block.results.push_back(parse_value(block));
      } while (scan_.accept(','));
    }
    scan_.expect('}', "after the results of the block");
  }

  void parse_arguments(Block& block) {
    scan_.expect('(', "before the arguments of the block");
    if (scan_.accept(')')) return;
    do {
      scan_.skip();
      const std::size_t at = scan_.position();
      const std::string name = scan_.value_name();
      scan_.expect(':', "before the type of the argument");
      Type type = parse_type();
      define(name, at, [&] { return program_->add_argument(block, name, std::move(type)); });
    } while (scan_.accept(','));
    scan_.expect(')', "after the arguments of the block");
  }

  void parse_op(Block& block, int depth) {
    scan_.skip();
    const std::size_t at = scan_.position();
    std::vector<std::string> names;
    if (scan_.peek('%')) {
      do {
        names.push_back(scan_.value_name());
      } while (scan_.accept(','));
      scan_.expect('=', "between the results and the op");
    }
    scan_.skip();
    const std::size_t name_at = scan_.position();
    std::string name = scan_.name("an op, or 'return'");
    if (const OpDef* renamed = op_set_.find_renamed(name)) name = renamed->name;
    check_op_name(name, name_at);
    std::vector<Value*> operands = parse_operands(block);
    Attributes attributes;
    if (scan_.accept('{')) attributes = parse_attributes('}');
    use_new_names(*op_set_.find(name), attributes);
    std::vector<Type> types;
    if (scan_.accept(':')) {
      do {
        types.push_back(parse_type());
      } while (scan_.accept(','));
    }
    const Location location = parse_location_comment();
    std::vector<std::unique_ptr<Block>> blocks;
    while (scan_.peek_word("block")) {
      blocks.push_back(program_->make_block(block));
      parse_block(*blocks.back(), depth + 1);
    }
    Op* op = build(at, [&] {
      return program_->append(block, name, std::move(operands), std::move(attributes), location,
                              std::move(blocks));
    });
    check_results(*op, types, at);
    define_results(*op, names, at);
  }

  void check_op_name(const std::string& name, std::size_t at) {
    if (const OpDef* def = op_set_.find(name)) {
      if (internal_ops_ == InternalOps::accept || !def->has(Trait::internal)) return;
      scan_.fail_at(at, "the op '" + name + "' is internal: only the compiler makes it",
                    "save the Program before it is compiled");
    }
    const std::string near =
        name.size() > kMaxSuggestionLength ? "" : nearest(name, public_names(op_set_));
    scan_.fail_at(at, "there is no op '" + name.substr(0, kMaxSuggestionLength) + "'",
                  near.empty() ? "" : "did you mean '" + near + "'?");
  }

  std::vector<Value*> parse_operands(const Block& block) {
    scan_.expect('(', "before the operands of the op");
    std::vector<Value*> operands;
    if (scan_.accept(')')) return operands;
    do {
      operands.push_back(parse_value(block));
      if (operands.size() > kMaxOperands) scan_.fail("an op has more than 4096 operands");
    } while (scan_.accept(','));
    scan_.expect(')', "after the operands of the op");
    return operands;
  }

  void check_results(const Op& op, const std::vector<Type>& types, std::size_t at) {
    for (std::size_t i = 0; i < op.results.size() && i < types.size(); ++i) {
      if (op.results[i]->type == types[i]) continue;
      scan_.fail_at(at, op.name() + " returns " + op.results[i]->type.str() +
                            ", but the text says " + types[i].str());
    }
    if (types.size() == op.results.size()) return;
    scan_.fail_at(at, op.name() + " returns " + std::to_string(op.results.size()) +
                          " results, but the text has types for " + std::to_string(types.size()));
  }

  void define_results(const Op& op, const std::vector<std::string>& names, std::size_t at) {
    if (names.size() != op.results.size()) {
      scan_.fail_at(at, op.name() + " returns " + std::to_string(op.results.size()) +
                            " results, but the text names " + std::to_string(names.size()));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].find_first_not_of("0123456789") != std::string::npos) {
        scan_.fail_at(at, "results are named by numbers: %0, %1 ..., not %" + names[i]);
      }
      if (!values_.emplace(names[i], op.result(static_cast<int>(i))).second) {
        scan_.fail_at(at, "%" + names[i] + " is defined a second time");
      }
    }
  }

  Value* parse_value(const Block& block) {
    scan_.skip();
    const std::size_t at = scan_.position();
    const std::string name = scan_.value_name();
    const auto found = values_.find(name);
    if (found == values_.end()) fail_undefined(name, at);
    if (!is_visible(*found->second, block)) {
      scan_.fail_at(at, "%" + name + " is defined inside a nested block that has ended");
    }
    return found->second;
  }

  [[noreturn]] void fail_undefined(const std::string& name, std::size_t at) {
    std::vector<std::string> candidates;
    for (const auto& [candidate, value] : values_) {
      if (candidates.size() == kMaxCandidates || name.size() > kMaxSuggestionLength) break;
      if (candidate.size() <= kMaxSuggestionLength) candidates.push_back(candidate);
    }
    const std::string near = nearest(name, candidates);
    scan_.fail_at(at, "%" + name + " is not defined before it is used",
                  near.empty() ? "" : "did you mean '%" + near + "'?");
  }

  Type parse_type() {
    scan_.skip();
    const std::size_t at = scan_.position();
    Type type;
    const std::string dtype(scan_.word().substr(0, kMaxSuggestionLength));
    if (!parse_dtype(dtype, &type.dtype)) {
      scan_.fail_at(at, "expected a type such as f32[2, 3], found '" + dtype + "'", dtype_hint());
    }
    type.shape = parse_shape();
    if (scan_.accept_word("splits")) {
      scan_.expect('(', "after 'splits'");
      scan_.skip();
      const std::size_t rows_at = scan_.position();
      type.splits_of = scan_.word();
      const auto rows = Dim::parse(type.splits_of);
      if (!rows || (!rows->symbol() && !rows->is_constant()) || rows->str() != type.splits_of) {
        scan_.fail_at(rows_at, "the rows of splits must be a symbol or a number");
      }
      scan_.expect(')', "after the rows that are split");
    }
    return type;
  }

  Shape parse_shape() {
    scan_.expect('[', "before the dimensions of a shape");
    Shape shape;
    if (scan_.accept(']')) return shape;
    do {
      scan_.skip();
      const std::size_t at = scan_.position();
      const std::string text(scan_.until(",]", kMaxDimLength));
      const std::optional<Dim> dim = Dim::parse(text);
      if (!dim)
        scan_.fail_at(at, "'" + text + "' is not a dimension",
                      "write a number, or a term such as 2*batch + 1");
      if (shape.size() == kMaxRank) scan_.fail_at(at, "a shape has more than 32 dimensions");
      shape.push_back(*dim);
    } while (scan_.accept(','));
    scan_.expect(']', "after the dimensions of a shape");
    return shape;
  }

  // "name = value, ..." and the closing bracket.
  Attributes parse_attributes(char close) {
    Attributes attributes;
    if (scan_.accept(close)) return attributes;
    do {
      std::string name = scan_.name("an attribute");
      scan_.expect('=', "after the name of an attribute");
      attributes.push_back({std::move(name), parse_attribute()});
      if (attributes.size() > kMaxAttributes) scan_.fail("there are more than 256 attributes");
    } while (scan_.accept(','));
    scan_.expect(close, "after the attributes");
    return attributes;
  }

  Attribute parse_attribute() {
    if (scan_.peek('"')) return scan_.quoted();
    if (scan_.peek('[')) return parse_numbers<std::int64_t>(parse_integer, "an integer");
    const std::size_t at = scan_.position();
    const std::string text(scan_.word());
    if (text == "shape") return parse_shape();
    if (text == "floats") return parse_numbers<double>(parse_float, "a number");
    if (text == "true" || text == "false") return text == "true";
    DType dtype;
    if (parse_dtype(text, &dtype)) return dtype;
    if (const auto integer = parse_integer(text)) return *integer;
    if (const auto number = parse_float(text)) return *number;
    scan_.fail_at(
        at, "'" + text.substr(0, kMaxSuggestionLength) + "' is not an attribute value",
        "values are numbers, \"text\", true, false, [1, 2], floats[0.5], shape[batch, 2], f32");
  }

  template <class T, class Read>
  std::vector<T> parse_numbers(Read read, const char* what) {
    scan_.expect('[', "before a list of numbers");
    std::vector<T> numbers;
    if (scan_.accept(']')) return numbers;
    do {
      scan_.skip();
      const std::size_t at = scan_.position();
      const auto number = read(scan_.word());
      if (!number) scan_.fail_at(at, "expected " + std::string(what) + " in the list");
      numbers.push_back(*number);
    } while (scan_.accept(','));
    scan_.expect(']', "after a list of numbers");
    return numbers;
  }

  // Reserves the layer names of the text, so that layers appended later get other names.
  Location parse_location_comment() {
    Location location = scan_.trailing_location();
    if (location.layer != last_layer_) program_->builder().reserve_names(location.layer);
    last_layer_ = location.layer;
    return location;
  }

  Scanner scan_;
  const OpSet& op_set_;
  InternalOps internal_ops_;
  std::unique_ptr<Program> program_;
  std::unordered_map<std::string, Value*> values_;
  std::string last_layer_;
  int blocks_ = 0;
};

}  // namespace

std::unique_ptr<Program> parse(std::string_view text, const OpSet& op_set,
                               InternalOps internal_ops) {
  return Parser(text, op_set, internal_ops).parse();
}

}  // namespace trireme::ir
