#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "compare.h"
#include "generate.h"
#include "transforms/prune.h"
#include "transforms/rewrite.h"

namespace trireme::differential {
namespace {

struct Smaller {
  Program program;
  ops::RefTensors numbers;
};

bool differs(const Smaller& smaller) {
  try {
    return difference(smaller.program, smaller.numbers, 0, true).has_value();
  } catch (const Error&) {
    return false;
  }
}

// Drops what neither the outputs nor assigns need.
void prune(Smaller& smaller, bool keep_assigns = true) {
  transforms::prune(
      smaller.program.ir(),
      {.keep_side_effects = keep_assigns, .drop_inputs = true, .drop_parameters = true});
}

void drop_all_assigns(Smaller& smaller) {
  Smaller next{smaller.program.clone(), smaller.numbers};
  prune(next, false);
  if (differs(next)) smaller = std::move(next);
}

// The Program with inputs in place of the results of op number `place`, or without this assign.
std::optional<Smaller> without_op(const Smaller& from, std::size_t place) {
  Smaller next{from.program.clone(), from.numbers};
  ir::Program& program = next.program.ir();
  const ir::Op& op = *program.main().ops[place];
  if (op.has(ir::Trait::makes_splits)) return std::nullopt;
  std::vector<const ir::Value*> wanted;
  for (const auto& result : op.results) wanted.push_back(result.get());
  ops::RefTensors parameters = next.numbers;
  const auto values = ops::evaluate(program, next.numbers, parameters, wanted, first_run());
  std::vector<ir::Value*> replacements;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = program.unique_argument("y");
    replacements.push_back(program.add_input(name, wanted[i]->type));
    ops::RefTensor value = values[i];
    if (wanted[i]->type.dtype == DType::f32) {
      for (double& x : value.data) x = static_cast<double>(static_cast<float>(x));
    }
    next.numbers[name] = std::move(value);
  }
  transforms::rewrite(program, [&](ir::Builder&, ir::Op& visited) -> transforms::Replacement {
    if (&visited != &op) return std::nullopt;
    return replacements;
  });
  prune(next);
  return next;
}

// Tries to replace each op once, the last first. Returns whether one was.
bool drop_ops(Smaller& smaller) {
  bool dropped = false;
  for (std::size_t i = smaller.program.ir().main().ops.size(); i-- > 0;) {
    if (i >= smaller.program.ir().main().ops.size()) continue;
    try {
      auto next = without_op(smaller, i);
      if (!next || !differs(*next)) continue;
      smaller = std::move(*next);
      dropped = true;
    } catch (const Error&) {  // this op cannot be replaced
    }
  }
  return dropped;
}

void keep_one_output(Smaller& smaller) {
  const std::size_t count = smaller.program.outputs().size();
  for (std::size_t i = 0; i < count && count > 1; ++i) {
    Smaller next{smaller.program.clone(), smaller.numbers};
    next.program.set_outputs({next.program.outputs()[i]});
    prune(next);
    if (!differs(next)) continue;
    smaller = std::move(next);
    return;
  }
}

}  // namespace

std::string shrunk(const Program& program, const ops::RefTensors& numbers) {
  Smaller smaller{program.clone(), numbers};
  prune(smaller);
  keep_one_output(smaller);
  drop_all_assigns(smaller);
  for (int i = 0; i < 4 && drop_ops(smaller); ++i) {
  }
  std::string text = smaller.program.str();
  const auto found = difference(smaller.program, smaller.numbers, 0, true);
  text += "# " + found.value_or("the difference is gone") + "\n";
  std::vector<Value> given = smaller.program.inputs();
  const std::vector<Value> parameters = smaller.program.parameters();
  given.insert(given.end(), parameters.begin(), parameters.end());
  for (const Value& value : given) {
    text += "# %" + value.get()->name + ":";
    const auto& data = smaller.numbers.at(value.get()->name).data;
    char number[40];
    for (std::size_t i = 0; i < std::min<std::size_t>(data.size(), 64); ++i) {
      std::snprintf(number, sizeof number, " %.9g", data[i]);
      text += number;
    }
    text += "\n";
  }
  return text;
}

}  // namespace trireme::differential
