#include "transforms/step_places.h"

#include <algorithm>

namespace trireme::transforms {

using ir::Trait;

StepPlaces::StepPlaces(const ir::Recurrence& rnn) : rnn_(rnn) {
  for (std::size_t i = 0; i < rnn.body.arguments.size(); ++i) {
    const ir::Value* argument = rnn.body.arguments[i].get();
    places_[argument] = i < rnn.states                  ? Place::step
                        : rnn.is_sequence(i)            ? Place::rows
                        : mentions_rows(argument->type) ? Place::sequences
                                                        : Place::outside;
  }
  for (const auto& op : rnn.body.ops) {
    const Place place = place_of(*op);
    for (const auto& result : op->results) places_[result.get()] = place;
    for (const ir::Value* operand : op->operands) users_[operand].push_back(op.get());
  }
}

const std::vector<const ir::Op*>& StepPlaces::users(const ir::Value* value) const {
  const auto found = users_.find(value);
  return found == users_.end() ? none_ : found->second;
}

namespace {

bool mentions(const ir::Type& type, const Dim& inside) {
  const std::string symbol = inside.str();
  return type.splits_of == symbol ||
         std::any_of(type.shape.begin(), type.shape.end(), [&](const Dim& dim) {
           const std::vector<std::string> symbols = dim.symbols();
           return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
         });
}

bool mentions_any(const ir::Type& type, const std::vector<std::pair<Dim, Dim>>& dims) {
  return std::any_of(dims.begin(), dims.end(),
                     [&](const auto& pair) { return mentions(type, pair.first); });
}

}  // namespace

bool StepPlaces::mentions_rows(const ir::Type& type) const {
  return mentions(type, rnn_.dims.active) || mentions_any(type, rnn_.dims.of_sequences) ||
         mentions_others(type);
}

bool StepPlaces::mentions_others(const ir::Type& type) const {
  return mentions_any(type, rnn_.dims.of_others);
}

bool StepPlaces::can_be_for_rows(const ir::Op& op) const {
  return std::none_of(op.operands.begin(), op.operands.end(),
                      [&](const ir::Value* v) { return mentions_others(v->type); }) &&
         std::none_of(op.results.begin(), op.results.end(),
                      [&](const auto& v) { return mentions_others(v->type); });
}

bool StepPlaces::is_costly(const ir::Op& op) const {
  return op.has(Trait::library) || op.has(Trait::contraction) || !op.blocks.empty();
}

bool StepPlaces::is_free(const ir::Op& op) const {
  if (op.has(Trait::random)) return false;
  if (op.has(Trait::generator)) return true;
  return op.has(Trait::broadcast) && of(op.operands[0]) == Place::outside;
}

Place StepPlaces::place_of(const ir::Op& op) const {
  Place place = Place::outside;
  for (const ir::Value* operand : op.operands) place = std::max(place, places_.at(operand));
  bool has_rows = false, lacks_rows = false;
  for (const auto& result : op.results) {
    (mentions_rows(result->type) ? has_rows : lacks_rows) = true;
  }
  // Random numbers are drawn for each step.
  if (op.has(Trait::random))
    return has_rows && !lacks_rows ? std::max(place, Place::rows) : Place::step;
  // Computed only from sizes, with one element per row.
  if (place == Place::outside && has_rows && !is_free(op)) place = Place::rows;
  if (place == Place::outside || place == Place::step) return place;
  if (place == Place::rows && !can_be_for_rows(op)) return Place::step;
  return lacks_rows || !is_by_row(op) ? Place::step : place;
}

std::vector<bool> StepPlaces::rows_of_operands(const ir::Op& op, bool* valid) const {
  std::vector<bool> rows;
  *valid = true;
  const auto has_rows = [&](const ir::Type& type) {
    if (!mentions_rows(type)) return false;
    const Dim first = type.splits_of.empty() ? type.shape[0] : type.shape[0] - Dim(1);
    ir::Type rest = type;
    rest.shape.erase(rest.shape.begin());
    if (!rnn_.dims.is_inside(first) || mentions_rows(rest)) *valid = false;
    return true;
  };
  for (const ir::Value* operand : op.operands) rows.push_back(has_rows(operand->type));
  for (const auto& result : op.results) {
    if (mentions_rows(result->type)) has_rows(result->type);
  }
  return rows;
}

bool StepPlaces::is_by_row(const ir::Op& op) const {
  bool valid = true;
  const std::vector<bool> rows = rows_of_operands(op, &valid);
  if (!valid) return false;
  if (op.has(Trait::elementwise) || op.has(Trait::sequences)) return true;
  if (op.has(Trait::generator)) {  // a constant or random numbers: see place_of()
    return !op.def->row_wise || op.def->row_wise(op, rows);
  }
  if (rows[0] && op.def->expands_sequences && op.def->expands_sequences(op)) return true;
  return op.def->row_wise && op.def->row_wise(op, rows);
}

bool StepPlaces::is_additive(const ir::Op& op) const {
  bool valid = true;
  const std::vector<bool> rows = rows_of_operands(op, &valid);
  return valid && can_be_for_rows(op) && op.def->row_additive && op.def->row_additive(op, rows) &&
         op.results.size() == 1 && !mentions_rows(op.result()->type);
}

}  // namespace trireme::transforms
