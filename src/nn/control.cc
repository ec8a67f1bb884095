#include "trireme/control.h"

#include <algorithm>

#include "nn/blocks.h"
#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

using IrValues = std::vector<ir::Value*>;
using nn::Body;

void add_arguments(Body& body, const Values& given,
                   std::size_t without_first_axis_from = SIZE_MAX) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    ir::Type type = given[i].get()->type;
    if (i >= without_first_axis_from) {
      type.shape.erase(type.shape.begin());
      type.splits_of.clear();
    }
    body.add_argument(type);
  }
}

const Value& first_of(const Values& values, const Values& others) {
  static const Value none;
  return !values.empty() ? values.front() : !others.empty() ? others.front() : none;
}

}  // namespace

Values cond_values(const Value& condition, const std::function<Values()>& yes,
                   const std::function<Values()>& no, SourceLocation where) {
  nn::LocationScope at(condition, "cond", where);
  ir::Program& program = at.program();
  Body first(program), second(program);
  first.build(yes);
  second.build(no);
  IrValues operands{condition.get()};
  const IrValues outside = nn::close_both(first.block(), second.block());
  operands.insert(operands.end(), outside.begin(), outside.end());
  return nn::results_of(
      nn::append_blocks(program, "cond", std::move(operands), {}, first, &second));
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
  const nn::LocationScope at(index, "switch_case", where);
  if (blocks.empty())
    nn::fail_layer("switch_case", "there is no block", "pass at least one", index);
  return case_from(index, blocks, 0);
}

Values if_else(const Value& condition, const Values& xs, const ByRows& yes, const ByRows& no,
               SourceLocation where) {
  const nn::LocationScope at(condition, "if_else", where);
  if (condition.rank() != 1 || condition.dtype() != DType::boolean) {
    nn::fail_layer("if_else", "the condition must be a boolean [n], one for each row",
                   "compare a value [n] with another", condition);
  }
  // Treats each row as a sequence of one row or none; the selected rows are the rows of these
  // sequences.
  const auto selected = [&](const Value& is) {
    return nn::Sequences(cast(is, {.dtype = DType::i64}), Dim(std::string_view("rows")));
  };
  const nn::Sequences left = selected(condition), right = selected(logical_not(condition));
  const auto rows_of = [&](const nn::Sequences& part) {
    const Value index = part.ids();
    Values rows;
    for (const Value& x : xs) rows.push_back(gather(x, index));
    return rows;
  };
  const Values a = yes(rows_of(left)), b = no(rows_of(right));
  if (a.size() != b.size()) {
    nn::fail_layer("if_else", "the branches return different numbers of values", "", condition);
  }
  const Value position_in_yes = left.begins();  // number of earlier rows for `yes`
  const Value total = gather(left.splits, dim_size(condition, {.axes = {0}, .dtype = DType::i64}));
  const Value position = trireme::where(condition, position_in_yes, right.begins() + total);
  Values results;
  for (std::size_t i = 0; i < a.size(); ++i) {
    results.push_back(gather(concat({a[i], b[i]}, {.axis = 0}), position));
  }
  return results;
}

Values while_values(const Values& initial, const std::function<Value(const Values&)>& condition,
                    const std::function<Values(const Values&)>& body, const WhileOptions& options,
                    SourceLocation where) {
  nn::LocationScope at(first_of(initial, {}), "while_loop", where);
  ir::Program& program = at.program();
  Body test(program), step(program);
  add_arguments(test, initial);
  add_arguments(step, initial);
  test.build([&] { return Values{condition(test.arguments)}; });
  step.build([&] { return body(step.arguments); });
  return nn::append_while(program, initial, test, step, options.limit);
}

ScanResult scan(const Values& initial, const Values& sequences,
                const std::function<ScanStep(const Values&, const Values&)>& step,
                const ScanOptions& options, SourceLocation where) {
  const Value& any = first_of(initial, sequences);
  nn::LocationScope at(any, "scan", where);
  ir::Program& program = at.program();
  Dim length = options.length;
  for (const Value& sequence : sequences) {
    if (sequence.rank() == 0) nn::fail_layer("scan", "a sequence must have rows", "", sequence);
    if (length == Dim(0)) length = sequence.dim(0);
  }
  Values given = initial;
  given.insert(given.end(), sequences.begin(), sequences.end());
  Body body(program);
  add_arguments(body, given, initial.size());
  const auto middle = body.arguments.begin() + static_cast<std::ptrdiff_t>(initial.size());
  body.build([&] {
    ScanStep result =
        step(Values(body.arguments.begin(), middle), Values(middle, body.arguments.end()));
    if (result.carried.size() != initial.size()) {
      nn::fail_layer("scan",
                     "the step returns " + std::to_string(result.carried.size()) + " of " +
                         std::to_string(initial.size()) + " carried values",
                     "", any);
    }
    result.carried.insert(result.carried.end(), result.outputs.begin(), result.outputs.end());
    return result.carried;
  });
  IrValues operands;
  for (const Value& value : given) operands.push_back(value.get());
  const IrValues outside = ir::close(body.block());
  operands.insert(operands.end(), outside.begin(), outside.end());
  const Values results =
      nn::results_of(nn::append_blocks(program, "scan", std::move(operands),
                                       {{"carried", static_cast<std::int64_t>(initial.size())},
                                        {"length", Shape{length}},
                                        {"reverse", options.reverse},
                                        {"sequences", static_cast<std::int64_t>(sequences.size())}},
                                       body));
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

Value clamped_index(const Value& values, const Value& index) {
  const Value last = dim_size(values, {.axes = {0}, .dtype = index.dtype()}) - 1.0;
  return maximum(minimum(index, last), 0.0);
}

}  // namespace

Value TensorArray::read(const Value& index, SourceLocation where) const {
  const nn::LocationScope at(values_, "TensorArray::read", where);
  return gather(values_, clamped_index(values_, index));
}

TensorArray TensorArray::write(const Value& index, const Value& value, SourceLocation where) const {
  const nn::LocationScope at(values_, "TensorArray::write", where);
  const Value number = cast(clamped_index(values_, index), {.dtype = DType::i64});
  const Value here = equal(nn::counted(values_, values_.shape(), 0), number);
  std::vector<std::int64_t> axes;
  for (int i = 1; i < values_.rank(); ++i) axes.push_back(i);
  const Value everywhere = broadcast(value, {.shape = values_.shape(), .axes = axes});
  return TensorArray(trireme::where(here, everywhere, values_));
}

}  // namespace trireme
