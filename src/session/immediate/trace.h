#pragma once

// The hidden Program that records the ops of Arrays.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "session/immediate/computation.h"
#include "trireme/array.h"

namespace trireme {

namespace immediate {
class Trace;
}

// What an Array refers to. Only its thread changes it, and only until it is computed.
struct ArrayNode {
  std::atomic<bool> computed = false;
  Tensor tensor;                            // if computed
  std::shared_ptr<immediate::Trace> trace;  // until then: where it is recorded
  Value value;                              // in this trace
  std::exception_ptr failure;               // why it cannot be computed any more

  static std::shared_ptr<ArrayNode> of(Tensor tensor);
};

namespace immediate {

using Node = std::shared_ptr<ArrayNode>;

// `tracing`: of jit(), whose inputs have no Tensors. Belongs to one thread.
class Trace : public std::enable_shared_from_this<Trace> {
 public:
  explicit Trace(bool tracing);

  ir::Program& program() { return program_.ir(); }
  const Program& handle() const { return program_; }
  bool is_tracing() const { return tracing_; }
  bool is_over() const { return over_; }
  void end() { over_ = true; }
  // While it is above 0, a run leaves the recording as it is.
  int kept = 0;
  bool inlines() const { return tracing_ || kept > 0; }
  const std::thread::id thread = std::this_thread::get_id();

  // The value of a Tensor: an input.
  Value leaf(const Node& node);
  // An input without a Tensor.
  Node argument(DType dtype, const std::vector<std::int64_t>& shape);
  // A node for a value of this trace.
  Node record(const Value& value);

  // Computes a node, or all that still exist if the recording is not kept. Then the recording is
  // over. Rethrows the failure of the node.
  void compute(const Node& wanted);
  // Nodes that fail have a failure.
  void compute_all();
  // A computed node for a value of a recording that is over.
  Node compute_late(const Value& value);

  // Tensors of the inputs, by index. Empty Tensors for arguments.
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  Value add_input(DType dtype, const std::vector<std::int64_t>& shape);
  std::vector<Node> pending() const;
  void run(const std::vector<Node>& nodes);

  Program program_;
  bool tracing_, over_ = false;
  std::uint64_t seed_;
  std::vector<Tensor> tensors_;
  struct Leaf {
    Value value;
    Node node;  // so that no other node has its address
  };
  std::unordered_map<const ArrayNode*, Leaf> leaves_;
  std::vector<std::weak_ptr<ArrayNode>> recorded_;
};

// What a thread has of immediate mode.
struct Recorder {
  Engine engine;
  Computations computations{engine};
  std::vector<std::shared_ptr<Trace>> stack;  // the last one records
  std::shared_ptr<Trace> last;                // over; kept so that its Values are noticed
  std::uint64_t seed = 1, seeds = 0;
  std::size_t limit = 0;  // of ops; 0: the usual one

  Trace& current();
  std::uint64_t next_seed();
  // The value of a node in the current trace.
  Value value_of(const Node& node);
  // Runs a trace that has become long, so that loops without an end have no trace without an end.
  void run_if_long(Trace& trace);
};

// That of this thread.
Recorder& recorder();

// Puts a trace on top while the guard lives.
class TraceGuard {
 public:
  explicit TraceGuard(std::shared_ptr<Trace> trace);
  ~TraceGuard();
  TraceGuard(const TraceGuard&) = delete;
  TraceGuard& operator=(const TraceGuard&) = delete;
};

}  // namespace immediate
}  // namespace trireme
