// If, Loop and Scan.

#include <algorithm>
#include <utility>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

constexpr std::int64_t kMaxUnrolled = 1000;  // steps of a loop whose number is known

const Graph& body_of(const NodeContext& n, std::string_view name) {
  const AttributeProto* a = n.attribute(name);
  n.require(a != nullptr && a->g != nullptr, "its graph " + std::string(name) + " is missing");
  return *a->g;
}

Item item_of(const Value& value, ElementType type) {
  Item item;
  item.type = type;
  item.value = value;
  return item;
}

bool is_true(const Tensor& condition) {
  return condition.elements() > 0 && condition.data<bool>()[0];
}

void set_all(NodeContext& n, std::vector<Item> results) {
  for (std::size_t j = 0; j < results.size(); ++j) n.set(j, std::move(results[j]));
}

// A branch whose condition is known takes its place. Else both become blocks, with results of one
// type.
void import_if(NodeContext& n) {
  const Graph& yes = body_of(n, "then_branch");
  const Graph& no = body_of(n, "else_branch");
  if (n.item(0).known)
    return set_all(n, n.importer().graph(is_true(*n.item(0).known) ? yes : no, {}));
  std::vector<ElementType> types;
  const auto block = [&](const Graph& graph) {
    std::vector<Value> values;
    types.clear();
    for (const Item& item : n.importer().graph(graph, {})) {
      values.push_back(n.importer().value_of(item));
      types.push_back(item.type);
    }
    return values;
  };
  const Value condition = reshape(n.value(0), {.shape = {}});
  const std::vector<Value> values = cond_values(
      condition, [&] { return block(yes); }, [&] { return block(no); }, SourceLocation());
  for (std::size_t j = 0; j < values.size(); ++j) n.set(j, values[j], types[j]);
}

// --- Loop --------------------------------------------------------------------------------------

struct LoopParts {
  const Graph& body;
  std::optional<std::int64_t> steps;  // empty: unknown
  std::size_t carried;
};

// The results of all steps, stacked. Without a step, their shape is unknown but for the first axis.
void set_stacked(NodeContext& n, std::size_t j, const std::vector<Item>& steps, int axis,
                 bool reverse) {
  n.require(!steps.empty(),
            "it has no steps, so the shape of its output " + std::to_string(j) + " is unknown");
  std::vector<Value> values;
  for (const Item& step : steps) values.push_back(n.importer().value_of(step));
  if (reverse) std::reverse(values.begin(), values.end());
  n.set(j, stack(values, axis), steps.front().type);
}

void set_results(NodeContext& n, std::size_t carried, std::vector<Item>& state,
                 const std::vector<std::vector<Item>>& outputs) {
  for (std::size_t j = 0; j < carried; ++j) n.set(j, std::move(state[j]));
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (n.wants(carried + j)) set_stacked(n, carried + j, outputs[j], 0, false);
  }
}

// Steps one after another, while the number of steps and the condition are known.
bool unroll(NodeContext& n, const LoopParts& parts) {
  std::vector<Item> state;
  for (std::size_t i = 0; i < parts.carried; ++i) state.push_back(n.item(i + 2));
  std::optional<Tensor> condition = n.has(1) ? n.item(1).known : Tensor::scalar(true);
  std::vector<std::vector<Item>> outputs(parts.body.outputs.size() - 1 - parts.carried);
  const std::int64_t limit = parts.steps.value_or(kMaxUnrolled + 1);
  for (std::int64_t step = 0; step < limit; ++step) {
    if (!condition || step >= kMaxUnrolled) return false;
    if (!is_true(*condition)) break;
    std::vector<Item> inputs(2);
    inputs[0].type = ElementType::i64;
    inputs[0].known = Tensor::scalar(step);
    inputs[1].type = ElementType::boolean;
    inputs[1].known = condition;
    inputs.insert(inputs.end(), state.begin(), state.end());
    std::vector<Item> results = n.importer().graph(parts.body, inputs);
    condition = results[0].known;
    if (!condition && step + 1 == limit) condition = Tensor::scalar(false);
    state.assign(results.begin() + 1,
                 results.begin() + 1 + static_cast<std::ptrdiff_t>(parts.carried));
    for (std::size_t j = 0; j < outputs.size(); ++j)
      outputs[j].push_back(results[1 + parts.carried + j]);
  }
  set_results(n, parts.carried, state, outputs);
  return true;
}

// A loop of the Program: the step's number, the condition and the carried values.
void import_while(NodeContext& n, const LoopParts& parts) {
  n.require(
      parts.body.outputs.size() == 1 + parts.carried,
      "it collects an output of each step, and the number of its steps is known only when it runs");
  Values initial = {constant(n.program(), {.value = 0, .dtype = i64, .shape = {}}),
                    n.has(1) ? reshape(n.value(1), {.shape = {}})
                             : constant(n.program(), {.value = 1, .dtype = boolean, .shape = {}})};
  std::vector<ElementType> types;
  for (std::size_t i = 0; i < parts.carried; ++i) {
    initial.push_back(n.importer().value_of(n.item(i + 2)));
    types.push_back(n.type(i + 2));
  }
  const std::optional<Value> limit =
      n.has(0) ? std::optional(reshape(n.value(0), {.shape = {}})) : std::nullopt;
  const auto goes_on = [&](const Values& v) {
    return limit ? logical_and(v[1], less(v[0], *limit)) : v[1];
  };
  const auto body = [&](const Values& v) {
    std::vector<Item> inputs = {item_of(v[0], ElementType::i64),
                                item_of(v[1], ElementType::boolean)};
    for (std::size_t i = 0; i < parts.carried; ++i) inputs.push_back(item_of(v[i + 2], types[i]));
    Values next = {v[0] + 1.0};
    for (const Item& item : n.importer().graph(parts.body, inputs)) {
      const Value value = n.importer().value_of(item);
      next.push_back(next.size() == 1 ? reshape(value, {.shape = {}}) : value);
    }
    return next;
  };
  const Values results = while_values(initial, goes_on, body, {}, SourceLocation());
  for (std::size_t j = 0; j < parts.carried; ++j) n.set(j, results[j + 2], types[j]);
}

void import_loop(NodeContext& n) {
  const Graph& body = body_of(n, "body");
  n.require(n.inputs() >= 2 && body.outputs.size() + 1 >= n.inputs(),
            "its body has " + std::to_string(body.outputs.size()) + " outputs for " +
                std::to_string(n.inputs()) + " inputs");
  LoopParts parts{body, std::nullopt, n.inputs() - 2};
  if (n.has(0) && n.item(0).known) parts.steps = n.known_integers(0, "").at(0);
  const bool known_steps = parts.steps && *parts.steps <= kMaxUnrolled;
  const bool known_condition = !n.has(1) || n.item(1).known.has_value();
  if (known_condition && (known_steps || !n.has(0)) && unroll(n, parts)) return;
  import_while(n, parts);
}

// --- Scan --------------------------------------------------------------------------------------

struct ScanParts {
  const Graph& body;
  std::size_t states, sequences;
  std::vector<std::int64_t> input_axes, output_axes, input_directions, output_directions;
};

std::int64_t at(const std::vector<std::int64_t>& numbers, std::size_t i) {
  return i < numbers.size() ? numbers[i] : 0;
}

// The sequences have their steps along axis 0, in the order of the steps.
Value steps_first(NodeContext& n, const ScanParts& parts, std::size_t i, const Value& x) {
  const int axis = n.axis(at(parts.input_axes, i), x.rank());
  Value y = axis == 0 ? x : move_axis(x, axis, 0);
  return at(parts.input_directions, i) == 1 ? flip(y, {.axes = {0}}) : y;
}

// Runs the scan for one batch: `inputs` are the states and the sequences.
std::vector<Item> scanned(NodeContext& n, const ScanParts& parts, const std::vector<Item>& inputs) {
  Values initial, sequences;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value x = n.importer().value_of(inputs[i]);
    if (i < parts.states) initial.push_back(x);
    else sequences.push_back(steps_first(n, parts, i - parts.states, x));
  }
  std::vector<ElementType> types;
  const ScanResult result = scan(
      initial, sequences,
      [&](const Values& carried, const Values& rows) {
        std::vector<Item> items;
        for (std::size_t i = 0; i < carried.size(); ++i)
          items.push_back(item_of(carried[i], inputs[i].type));
        for (std::size_t i = 0; i < rows.size(); ++i)
          items.push_back(item_of(rows[i], inputs[parts.states + i].type));
        ScanStep step;
        types.clear();
        for (const Item& item : n.importer().graph(parts.body, items)) {
          types.push_back(item.type);
          const Value value = n.importer().value_of(item);
          (step.carried.size() < parts.states ? step.carried : step.outputs).push_back(value);
        }
        return step;
      },
      {}, SourceLocation());
  std::vector<Item> items;
  for (std::size_t i = 0; i < result.carried.size(); ++i)
    items.push_back(item_of(result.carried[i], types[i]));
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    Value y = result.outputs[i];
    if (at(parts.output_directions, i) == 1) y = flip(y, {.axes = {0}});
    const int axis = n.axis(at(parts.output_axes, i), y.rank());
    items.push_back(item_of(axis == 0 ? y : move_axis(y, 0, axis), types[parts.states + i]));
  }
  return items;
}

// Version 8 had a batch axis and lengths; the batch is run example by example.
void import_batched_scan(NodeContext& n, const ScanParts& parts) {
  n.require(!n.has(0), "its sequences have lengths of their own");
  const Value first = n.value(1);
  n.require(first.dim(0).is_constant(), "its batch has the size " + first.dim(0).str());
  std::vector<std::vector<Value>> results;
  std::vector<ElementType> types;
  for (std::int64_t b = 0; b < first.dim(0).constant(); ++b) {
    std::vector<Item> inputs;
    for (std::size_t i = 1; i < n.inputs(); ++i)
      inputs.push_back(item_of(squeeze(part_of(n.value(i), 0, b, b + 1), {0}), n.type(i)));
    const std::vector<Item> items = scanned(n, parts, inputs);
    results.resize(items.size());
    types.clear();
    for (std::size_t j = 0; j < items.size(); ++j) {
      results[j].push_back(items[j].value);
      types.push_back(items[j].type);
    }
  }
  for (std::size_t j = 0; j < results.size(); ++j) n.set(j, stack(results[j], 0), types[j]);
}

void import_scan(NodeContext& n) {
  const auto sequences = static_cast<std::size_t>(n.integer("num_scan_inputs"));
  const bool batched = n.version() < 9;
  const std::size_t given = n.inputs() - (batched ? 1 : 0);
  n.require(sequences >= 1 && sequences <= given,
            "its num_scan_inputs is " + std::to_string(sequences));
  const ScanParts parts{body_of(n, "body"),
                        given - sequences,
                        sequences,
                        n.integers("scan_input_axes"),
                        n.integers("scan_output_axes"),
                        n.integers(batched ? "directions" : "scan_input_directions"),
                        n.integers("scan_output_directions")};
  if (batched) return import_batched_scan(n, parts);
  std::vector<Item> inputs;
  for (std::size_t i = 0; i < n.inputs(); ++i) inputs.push_back(n.item(i));
  set_all(n, scanned(n, parts, inputs));
}

constexpr Operator kControlOperators[] = {
    {"", "If", import_if, {.widens = false, .takes_items = true}},
    {"", "Loop", import_loop, {.widens = false, .takes_items = true}},
    {"", "Scan", import_scan, {.widens = false, .takes_items = true}},
};

}  // namespace

Operators control_operators() { return kControlOperators; }

}  // namespace trireme::onnx
