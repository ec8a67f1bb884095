#include "session/immediate/trace.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/philox.h"
#include "ir/builder.h"
#include "ir/program.h"

namespace trireme {

std::shared_ptr<ArrayNode> ArrayNode::of(Tensor tensor) {
  auto node = std::make_shared<ArrayNode>();
  node->tensor = std::move(tensor);
  node->computed = true;
  return node;
}

namespace immediate {
namespace {

constexpr std::size_t kLongTrace = 256;  // ops

Shape shape_of(const std::vector<std::int64_t>& sizes) { return Shape(sizes.begin(), sizes.end()); }

bool is_main(const Value& value, const ir::Program& program) {
  return value.get()->block == &program.main();
}

}  // namespace

Trace::Trace(bool tracing)
    : program_(tracing ? "jit" : "arrays"), tracing_(tracing), seed_(recorder().next_seed()) {
  program_.ir().no_parameters =
      "a layer with parameters needs a Program: Arrays have none\n"
      "  hint   build the network from inputs of a Program, or pass weights as Arrays to functions "
      "such as matmul()";
}

Value Trace::add_input(DType dtype, const std::vector<std::int64_t>& shape) {
  return Value(
      program().add_input("a" + std::to_string(tensors_.size()), {dtype, shape_of(shape), ""}));
}

Value Trace::leaf(const Node& node) {
  const auto found = leaves_.find(node.get());
  if (found != leaves_.end()) return found->second.value;
  const Value value = add_input(node->tensor.dtype(), node->tensor.shape());
  tensors_.push_back(node->tensor);
  leaves_[node.get()] = {value, node};
  return value;
}

Node Trace::argument(DType dtype, const std::vector<std::int64_t>& shape) {
  const Value value = add_input(dtype, shape);
  tensors_.emplace_back();
  auto node = std::make_shared<ArrayNode>();
  node->trace = shared_from_this();
  node->value = value;
  return node;
}

Node Trace::record(const Value& value) {
  auto node = std::make_shared<ArrayNode>();
  node->trace = shared_from_this();
  node->value = value;
  if (is_main(value, program())) recorded_.push_back(node);
  return node;
}

std::vector<Node> Trace::pending() const {
  std::vector<Node> nodes;
  for (const auto& recorded : recorded_) {
    if (Node node = recorded.lock(); node != nullptr && !node->computed) nodes.push_back(node);
  }
  return nodes;
}

void Trace::run(const std::vector<Node>& nodes) {
  std::vector<const ir::Value*> fetches;
  std::vector<std::size_t> places;
  std::unordered_map<const ir::Value*, std::size_t> known;
  for (const Node& node : nodes) {
    const auto [found, is_new] = known.emplace(node->value.get(), fetches.size());
    if (is_new) fetches.push_back(node->value.get());
    places.push_back(found->second);
  }
  const std::vector<Tensor> results =
      recorder().computations.run(program(), fetches, tensors_, seed_);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ArrayNode& node = *nodes[i];
    node.tensor = results[places[i]];
    if (kept > 0) leaves_[&node] = {node.value, nodes[i]};
    node.value = Value();
    const std::shared_ptr<Trace> self = std::exchange(node.trace, nullptr);  // not the last handle
    node.computed = true;
  }
}

void Trace::compute(const Node& wanted) {
  if (kept > 0) return run({wanted});
  compute_all();
  if (wanted->failure != nullptr) std::rethrow_exception(wanted->failure);
}

void Trace::compute_all() {
  const std::shared_ptr<Trace> self = shared_from_this();
  const std::vector<Node> nodes = pending();
  Recorder& here = recorder();
  here.stack.pop_back();
  end();
  here.last = self;
  if (nodes.empty()) return;
  try {
    return run(nodes);
  } catch (const std::exception&) {
    // One by one, below, to find those that fail.
  }
  for (const Node& node : nodes) {
    try {
      run({node});
    } catch (const std::exception&) {
      node->failure = std::current_exception();
      node->value = Value();
      node->trace = nullptr;
    }
  }
}

Node Trace::compute_late(const Value& value) {
  if (!is_main(value, program())) fail_usage("this Value belongs to a function of control flow");
  Node node = record(value);
  run({node});
  return node;
}

Recorder& recorder() {
  static thread_local Recorder made;
  return made;
}

Trace& Recorder::current() {
  if (stack.empty()) stack.push_back(std::make_shared<Trace>(/*tracing=*/false));
  return *stack.back();
}

std::uint64_t Recorder::next_seed() { return seed_of_run(seed, seeds++); }

Value Recorder::value_of(const Node& node) {
  if (node->computed) return current().leaf(node);
  if (node->failure != nullptr) std::rethrow_exception(node->failure);
  Trace& trace = *node->trace;
  if (trace.thread != std::this_thread::get_id()) {
    fail_usage(
        "this Array belongs to another thread and is not computed yet\n"
        "  hint   call eval() there before you pass it on");
  }
  if (&trace == &current()) return node->value;
  if (trace.is_over() || trace.is_tracing()) {
    fail_usage(std::string("this Array belongs to a function of ") +
               (trace.is_tracing() ? "jit()" : "control flow") +
               ", which was only recorded\n"
               "  hint   return it from the function instead of keeping it elsewhere");
  }
  // jit() is called while the Arrays of its thread are recorded.
  std::vector<std::shared_ptr<Trace>> above;
  while (stack.back().get() != &trace) {
    above.push_back(std::move(stack.back()));
    stack.pop_back();
  }
  trace.compute_all();
  stack.insert(stack.end(), above.rbegin(), above.rend());
  if (node->failure != nullptr) std::rethrow_exception(node->failure);
  return current().leaf(node);
}

void Recorder::run_if_long(Trace& trace) {
  if (limit == 0) limit = kLongTrace;
  const std::size_t ops = trace.program().main().ops.size();
  if (ops < limit || trace.inlines()) return;
  if (&trace.program().builder().block() != &trace.program().main()) return;  // in a nested block
  // A loop is cut at the same place again and again, so that all parts are equal.
  const std::size_t period = period_of(trace.program(), kLongTrace / 2);
  limit = period == 0 ? kLongTrace : kLongTrace / period * period;
  trace.compute_all();
}

TraceGuard::TraceGuard(std::shared_ptr<Trace> trace) {
  recorder().current();
  recorder().stack.push_back(std::move(trace));
}

TraceGuard::~TraceGuard() {
  recorder().stack.back()->end();
  recorder().last = std::move(recorder().stack.back());
  recorder().stack.pop_back();
}

}  // namespace immediate
}  // namespace trireme
