#include "trireme/array.h"

#include <ostream>
#include <utility>

#include "base/error.h"
#include "base/feeds.h"
#include "ir/program.h"
#include "session/immediate/trace.h"

namespace trireme {
namespace {

using immediate::recorder;
using immediate::Trace;

std::shared_ptr<ArrayNode> node_of(const Value& value) {
  if (!value) fail_usage("an Array of an empty Value");
  Trace& trace = recorder().current();
  const auto& last = recorder().last;
  if (last != nullptr && value.get()->program == &last->program() && !last->is_tracing()) {
    return last->compute_late(value);
  }
  if (value.get()->program != &trace.program()) {
    const std::string name = value.get()->program->name;
    fail_usage(name == trace.program().name
                   ? "this Value belongs to a run of Arrays that is over\n"
                     "  hint   keep what functions of Arrays return as Array, not as auto"
                   : "this Value belongs to the Program \"" + name +
                         "\", so it is no Array\n  hint   a Session computes it");
  }
  std::shared_ptr<ArrayNode> node = trace.record(value);
  recorder().run_if_long(trace);
  return node;
}

}  // namespace

Array::Array() : Array(Tensor()) {}
Array::Array(Tensor tensor) : node_(ArrayNode::of(std::move(tensor))) {}
Array::Array(const Value& value) : node_(node_of(value)) {}

bool Array::is_computed() const { return node_->computed; }

DType Array::dtype() const {
  if (node_->computed) return node_->tensor.dtype();
  return value().dtype();
}

std::vector<std::int64_t> Array::shape() const {
  if (node_->computed) return node_->tensor.shape();
  const Shape& shape = value().shape();
  return is_known(shape, {}) ? evaluate(shape, {}) : tensor().shape();
}

int Array::rank() const {
  return node_->computed ? node_->tensor.rank() : static_cast<int>(value().shape().size());
}

std::int64_t Array::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape()) count *= size;
  return count;
}

const Array& Array::eval() const {
  if (node_->computed) return *this;
  const Value value = this->value();  // Errors
  Trace* const trace = node_->trace.get();
  if (node_->computed || trace == nullptr) return *this;
  if (trace->is_tracing() || value.get()->block != &trace->program().main()) {
    fail_usage(
        std::string("the elements of this Array are not known yet: ") +
        (trace->is_tracing() ? "jit() records the function"
                             : "it belongs to a function of control flow") +
        "\n  made   at " +
        (value.get()->producer == nullptr ? "an argument" : value.get()->producer->location.str()) +
        "\n  hint   use where(), if_else() and while_loop() instead of reading elements" +
        (trace->is_tracing() ? ", or leave out jit()" : ""));
  }
  trace->compute(node_);
  return *this;
}

Tensor Array::tensor() const { return eval().node_->tensor; }
std::string Array::str() const { return tensor().str(); }
Value Array::value() const { return recorder().value_of(node_); }

std::ostream& operator<<(std::ostream& out, const Array& array) { return out << array.str(); }

void eval_all() {
  Trace& trace = recorder().current();
  if (!trace.inlines()) trace.compute_all();
}

void set_array_seed(std::uint64_t seed) {
  eval_all();
  recorder().seed = seed;
  recorder().seeds = 0;
}

Program array_program() { return Program(recorder().current().handle().shared_ir()); }

bool is_array(const Value& value) {
  const immediate::Recorder& here = recorder();
  const auto records = [&](const std::shared_ptr<Trace>& trace) {
    return value.get()->program == &trace->program();
  };
  if (!value) return false;
  if (!here.stack.empty() && records(here.stack.back())) return true;
  return here.last != nullptr && !here.last->is_tracing() && records(here.last);
}

KeepRecording::KeepRecording() {
  Trace& long_one = recorder().current();
  recorder().run_if_long(long_one);
  Trace& trace = recorder().current();
  ++trace.kept;
  trace_ = trace.shared_from_this();
}

KeepRecording::~KeepRecording() { --static_cast<Trace*>(trace_.get())->kept; }

ArrayStatistics array_statistics() {
  const immediate::Engine& engine = recorder().engine;
  return {engine.compiled, engine.runs, engine.kernels};
}

}  // namespace trireme
