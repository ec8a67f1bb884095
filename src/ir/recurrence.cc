#include "ir/recurrence.h"

#include <algorithm>

namespace trireme::ir {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw TypeError{message, ""};
}

std::size_t count_attribute(const Attributes& attributes, const char* name, std::size_t max_count) {
  const auto count = get_attribute<std::int64_t>(attributes, name);
  require(count >= 0 && static_cast<std::uint64_t>(count) <= max_count,
          "`" + std::string(name) + "` is " + std::to_string(count) + ", but only " +
              std::to_string(max_count) + " operands are left for it");
  return static_cast<std::size_t>(count);
}

std::string type_pair_text(const Value& argument, const Type& operand) {
  return "%" + argument.name + " : " + argument.type.str() + " and " + operand.str();
}

// If both are splits, stores the rows they split, in the step and outside, and returns true.
bool split_rows(const Type& operand, const Type& argument, std::pair<Dim, Dim>* rows) {
  if (operand.splits_of.empty() || argument.splits_of.empty()) return false;
  *rows = {*Dim::parse(argument.splits_of), *Dim::parse(operand.splits_of)};
  return true;
}

bool same_row(const Type& a, const Type& b) {
  return a.dtype == b.dtype && a.rank() == b.rank() && a.rank() > 0 &&
         std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1);
}

}  // namespace

bool StepDims::is_inside(const Dim& dim) const {
  const auto is = [&](const auto& pair) { return pair.first == dim; };
  return dim == active || std::any_of(of_sequences.begin(), of_sequences.end(), is) ||
         std::any_of(of_others.begin(), of_others.end(), is);
}

Dim StepDims::outside(const Dim& inside, bool by_row) const {
  if (inside == active) return by_row ? rows : batch;
  for (const auto& [in, out] : by_row ? of_sequences : of_others) {
    if (in == inside) return out;
  }
  return inside;
}

StepDims step_dims(const std::vector<Type>& operands, const Block& body,
                   const Attributes& attributes, const Dim& batch, const Dim& rows,
                   std::size_t first) {
  const std::size_t states = count_attribute(attributes, "states", operands.size() - first);
  const std::size_t sequences =
      count_attribute(attributes, "sequences", operands.size() - first - states);
  const Shape& active = get_attribute<Shape>(attributes, "active");
  require(active.size() == 1 && active[0].symbol(), "`active` must be one symbol");
  require(body.arguments.size() == operands.size() - first,
          "the step has " + std::to_string(body.arguments.size()) + " arguments for " +
              std::to_string(operands.size() - first) + " values");
  StepDims dims{active[0], rows, batch, {}, {}};
  for (std::size_t i = 0; i < body.arguments.size(); ++i) {
    const bool by_row = i >= states && i < states + sequences;
    std::pair<Dim, Dim> split;
    if (split_rows(operands[first + i], body.arguments[i]->type, &split) &&
        split.first != split.second) {
      (by_row ? dims.of_sequences : dims.of_others).push_back(split);
    }
  }
  for (std::size_t i = 0; i < body.arguments.size(); ++i) {
    const bool by_row = i >= states && i < states + sequences;
    const Type& inside = body.arguments[i]->type;
    const Type& outside = operands[first + i];
    if (inside == outside && !by_row) continue;
    const bool splits = !inside.splits_of.empty();
    const Dim one = splits ? Dim(1) : Dim(0);
    require(same_row(inside, outside) && dims.is_inside(inside.shape[0] - one) &&
                dims.outside(inside.shape[0] - one, by_row) == outside.shape[0] - one,
            "the type of a step's argument does not match its operand: " +
                type_pair_text(*body.arguments[i], outside));
  }
  return dims;
}

Recurrence::Recurrence(const Op& o)
    : op(o),
      body(*o.blocks[0]),
      states(static_cast<std::size_t>(get_attribute<std::int64_t>(o.attributes, "states"))),
      sequences(static_cast<std::size_t>(get_attribute<std::int64_t>(o.attributes, "sequences"))),
      outputs(body.results.size() - states),
      reverse(get_attribute<bool>(o.attributes, "reverse")) {
  std::vector<Type> types;
  for (const Value* operand : o.operands) types.push_back(operand->type);
  const bool packed = o.def->control == ControlFlow::packed_rnn;
  const Dim rows = packed ? types[0].shape[0] : *Dim::parse(types[0].splits_of);
  const Dim batch =
      packed ? get_attribute<Shape>(o.attributes, "batch")[0] : types[0].shape[0] - Dim(1);
  dims = step_dims(types, body, o.attributes, batch, rows, first);
}

}  // namespace trireme::ir
