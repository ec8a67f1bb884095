#include "trireme/control.h"

#include <algorithm>

#include "base/error.h"
#include "ir/blocks.h"
#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

using Blocks = std::vector<std::unique_ptr<ir::Block>>;
using IrValues = std::vector<ir::Value*>;

// A block under construction, with arguments of the types of `given`.
class Body {
 public:
  Body(ir::Program& program, const Values& given, std::size_t without_first_axis_from = SIZE_MAX)
      : program_(program), block_(program.make_block(*program.insertion_block)) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      ir::Type type = given[i].get()->type;
      if (i >= without_first_axis_from) {
        type.shape.erase(type.shape.begin());
        type.splits_of.clear();
      }
      arguments.emplace_back(
          program.add_argument(*block_, program.unique_argument("carried"), type));
    }
  }

  template <class Build>
  void build(Build make) {
    const ir::InsertionGuard guard(program_, *block_);
    for (const Value& value : make()) {
      if (!value) fail_usage("a block gives an empty Value");
      block_->results.push_back(value.get());
    }
  }

  ir::Block& block() { return *block_; }
  std::unique_ptr<ir::Block> take() { return std::move(block_); }

  Values arguments;

 private:
  ir::Program& program_;
  std::unique_ptr<ir::Block> block_;
};

IrValues of(const Values& values) {
  IrValues result;
  for (const Value& value : values) result.push_back(value.get());
  return result;
}

Values results_of(const ir::Op& op) {
  Values results;
  for (const auto& result : op.results) results.emplace_back(result.get());
  return results;
}

// Closes two blocks that share what they read from outside; returns it.
IrValues close_both(ir::Block& a, ir::Block& b) {
  IrValues outside = ir::close(a);
  const std::size_t own = outside.size();
  const IrValues all = ir::close(b, outside);
  // What only b reads: arguments of a that nothing reads.
  for (std::size_t i = own; i < all.size(); ++i) {
    outside.push_back(all[i]);
    a.program->add_argument(a, a.program->unique_argument("unused"), all[i]->type);
  }
  return outside;
}

const ir::Op& append(ir::Program& program, const char* name, IrValues operands,
                     Attributes attributes, Blocks blocks) {
  const ir::Location location = program.locate(SourceLocation::current());
  return *program.append(*program.insertion_block, name, std::move(operands), std::move(attributes),
                         location, std::move(blocks));
}

const Value& first_of(const Values& values, const Values& others) {
  static const Value none;
  return !values.empty() ? values.front() : !others.empty() ? others.front() : none;
}

}  // namespace

Values cond_values(const Value& condition, const std::function<Values()>& yes,
                   const std::function<Values()>& no, SourceLocation where) {
  nn::At at(condition, "cond", where);
  ir::Program& program = at.program();
  Body first(program, {}), second(program, {});
  first.build(yes);
  second.build(no);
  IrValues operands{condition.get()};
  const IrValues outside = close_both(first.block(), second.block());
  operands.insert(operands.end(), outside.begin(), outside.end());
  Blocks blocks;
  blocks.push_back(first.take());
  blocks.push_back(second.take());
  return results_of(append(program, "cond", std::move(operands), {}, std::move(blocks)));
}

Value cond(const Value& condition, const std::function<Value()>& yes,
           const std::function<Value()>& no, SourceLocation where) {
  return cond_values(
      condition, [&] { return Values{yes()}; }, [&] { return Values{no()}; }, where)[0];
}

namespace {

Value case_from(const Value& index, const std::vector<std::function<Value()>>& blocks,
                std::size_t from) {
  if (from + 1 == blocks.size()) return blocks[from]();
  return cond(equal(index, static_cast<double>(from)), blocks[from],
              [&] { return case_from(index, blocks, from + 1); });
}

}  // namespace

Value switch_case(const Value& index, const std::vector<std::function<Value()>>& blocks,
                  SourceLocation where) {
  const nn::At at(index, "switch_case", where);
  if (blocks.empty())
    nn::fail_layer("switch_case", "there is no block", "give at least one", index);
  return case_from(index, blocks, 0);
}

Values if_else(const Value& condition, const Values& xs, const ByRows& yes, const ByRows& no,
               SourceLocation where) {
  const nn::At at(condition, "if_else", where);
  if (condition.rank() != 1 || condition.dtype() != DType::boolean) {
    nn::fail_layer("if_else", "the condition is a boolean for each row", "compare something [n]",
                   condition);
  }
  // Rows as sequences of one row or none: those that are chosen are the rows that there are.
  const auto chosen = [&](const Value& is) {
    return nn::Sequences(cast(is, {.dtype = DType::i64}), Dim(std::string_view("rows")));
  };
  const nn::Sequences left = chosen(condition), right = chosen(logical_not(condition));
  const auto rows_of = [&](const nn::Sequences& part) {
    const Value index = part.ids();
    Values rows;
    for (const Value& x : xs) rows.push_back(gather(x, index));
    return rows;
  };
  const Values a = yes(rows_of(left)), b = no(rows_of(right));
  if (a.size() != b.size()) {
    nn::fail_layer("if_else", "the branches give different numbers of values", "", condition);
  }
  const Value behind = left.begins();  // how many rows of `yes` come before
  const Value total = gather(left.splits, dim_size(condition, {.axes = {0}, .dtype = DType::i64}));
  const Value place = select(condition, behind, right.begins() + total);
  Values results;
  for (std::size_t i = 0; i < a.size(); ++i) {
    results.push_back(gather(concat({a[i], b[i]}, {.axis = 0}), place));
  }
  return results;
}

Values while_values(const Values& initial, const std::function<Value(const Values&)>& condition,
                    const std::function<Values(const Values&)>& body, const WhileOptions& options,
                    SourceLocation where) {
  nn::At at(first_of(initial, {}), "while_loop", where);
  ir::Program& program = at.program();
  Body test(program, initial), step(program, initial);
  test.build([&] { return Values{condition(test.arguments)}; });
  step.build([&] { return body(step.arguments); });
  IrValues operands = of(initial);
  const IrValues outside = close_both(test.block(), step.block());
  operands.insert(operands.end(), outside.begin(), outside.end());
  Blocks blocks;
  blocks.push_back(test.take());
  blocks.push_back(step.take());
  Values results = results_of(
      append(program, "while_loop", std::move(operands),
             {{"carried", static_cast<std::int64_t>(initial.size())}, {"limit", options.limit}},
             std::move(blocks)));
  results.pop_back();  // the number of steps
  return results;
}

ScanResult scan(const Values& initial, const Values& sequences,
                const std::function<ScanStep(const Values&, const Values&)>& step,
                const ScanOptions& options, SourceLocation where) {
  const Value& any = first_of(initial, sequences);
  nn::At at(any, "scan", where);
  ir::Program& program = at.program();
  Dim length = options.length;
  for (const Value& sequence : sequences) {
    if (sequence.rank() == 0) nn::fail_layer("scan", "a sequence has rows", "", sequence);
    if (length == Dim(0)) length = sequence.dim(0);
  }
  Values given = initial;
  given.insert(given.end(), sequences.begin(), sequences.end());
  Body body(program, given, initial.size());
  const auto middle = body.arguments.begin() + static_cast<std::ptrdiff_t>(initial.size());
  body.build([&] {
    ScanStep made =
        step(Values(body.arguments.begin(), middle), Values(middle, body.arguments.end()));
    if (made.carried.size() != initial.size()) {
      nn::fail_layer("scan",
                     "the step gives " + std::to_string(made.carried.size()) + " of " +
                         std::to_string(initial.size()) + " carried values anew",
                     "", any);
    }
    made.carried.insert(made.carried.end(), made.outputs.begin(), made.outputs.end());
    return made.carried;
  });
  IrValues operands = of(given);
  const IrValues outside = ir::close(body.block());
  operands.insert(operands.end(), outside.begin(), outside.end());
  Blocks blocks;
  blocks.push_back(body.take());
  const Values results =
      results_of(append(program, "scan", std::move(operands),
                        {{"carried", static_cast<std::int64_t>(initial.size())},
                         {"length", Shape{length}},
                         {"reverse", options.reverse},
                         {"sequences", static_cast<std::int64_t>(sequences.size())}},
                        std::move(blocks)));
  const auto end = results.begin() + static_cast<std::ptrdiff_t>(initial.size());
  return {Values(results.begin(), end), Values(end, results.end())};
}

TensorArray TensorArray::zeros(const Program& program, const Dim& size, const Shape& shape,
                               DType dtype, SourceLocation where) {
  Shape all = shape;
  all.insert(all.begin(), size);
  return TensorArray(constant(program, {.value = 0, .dtype = dtype, .shape = all}, where));
}

namespace {

Value inside(const Value& values, const Value& index) {
  const Value most = dim_size(values, {.axes = {0}, .dtype = index.dtype()}) - 1.0;
  return maximum(minimum(index, most), 0.0);
}

}  // namespace

Value TensorArray::read(const Value& index, SourceLocation where) const {
  const nn::At at(values_, "TensorArray::read", where);
  return gather(values_, inside(values_, index));
}

TensorArray TensorArray::write(const Value& index, const Value& value, SourceLocation where) const {
  const nn::At at(values_, "TensorArray::write", where);
  const Value number = cast(inside(values_, index), {.dtype = DType::i64});
  const Value here = equal(nn::counted(values_, values_.shape(), 0), number);
  std::vector<std::int64_t> axes;
  for (int i = 1; i < values_.rank(); ++i) axes.push_back(i);
  const Value everywhere = broadcast(value, {.shape = values_.shape(), .axes = axes});
  return TensorArray(select(here, everywhere, values_));
}

}  // namespace trireme
