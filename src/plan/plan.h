#pragma once

// The compiled Plan: what the runtime does, in order, on which buffers. Made by the compiler,
// obeyed by the runtime, printable. Knows no op and no code generator.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme::plan {

// Runs iterations [begin, end) of a kernel's parallel loop; safe from several threads at once.
using KernelRun = std::function<void(void* const* buffers, const std::int64_t* sizes,
                                     std::int64_t begin, std::int64_t end)>;

struct Kernel {
  std::string name;
  std::string text;  // printed kernel IR, for dumps
  KernelRun run;
  std::string symbol;  // of a model compiled ahead of time: its function in the shared object
};

enum class BufferKind : std::uint8_t {
  parameter,  // lives in the session's state under `name`
  feed,       // given by the caller under `name`
  fetch,      // handed to the caller; index in Plan::fetches
  arena,      // placed by lifetime
};

struct Buffer {
  std::string name;  // "%12 conv2d_0", or the name of the parameter or feed
  BufferKind kind = BufferKind::arena;
  DType dtype = DType::f32;
  Shape shape;
  // Arena only: first and last step that touch it, filled by the compiler.
  int first_step = -1;
  int last_step = -1;
  // >= 0: the same storage as that buffer (a reshape, or an in-place result). Chains are allowed;
  // the root's lifetime covers all. A root may be of any kind.
  int alias_of = -1;
};

// ceil(numerator / denominator) under the sizes of a run.
struct Quotient {
  Dim numerator = 1;
  std::int64_t denominator = 1;
  std::int64_t evaluate(const SymbolSizes& sizes) const;
};

// A product of library code: which one, with which numbers, on tensors of which shapes.
struct LibraryCall {
  std::string kernel;                                        // a name in kernels/library.h's table
  std::map<std::string, std::vector<std::int64_t>> numbers;  // stride, padding, transpose_a ...
  std::map<std::string, std::string> texts;                  // layout, epilogue ...
};

struct Step {
  std::string name;                  // for people: "conv2d_0: add, maximum"
  std::vector<std::string> sources;  // "digits.cc:10 conv2d_0", of the ops it computes
  // One of the two:
  int kernel = -1;      // index into Plan::kernels
  LibraryCall library;  // if library.kernel is not empty

  // Kernel: the kernel's buffers in order; scratch buffers are -1 here. Library: operands, then
  // results.
  std::vector<int> buffers;
  std::vector<int> reads, writes;  // of these buffers, or what shares their storage; for checks

  // Kernel only.
  std::vector<Dim> sizes;  // values of the kernel's size parameters
  Quotient trip;           // iterations of the parallel loop
  Dim work = 0;            // about how many elements are computed; decides the threads
  struct Scratch {
    int buffer;  // position among the kernel's buffers
    Dim bytes;   // per thread
  };
  std::vector<Scratch> scratch;
};

struct Plan {
  std::vector<std::string> symbols;
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::vector<int> fetches;  // buffer of each fetched value, in the caller's order
  // What all values that the Program computes would take together, in bytes: those that fusion
  // keeps in registers too, but no views and no constants.
  Dim program_bytes = 0;
};

// Sizes named "$seed" in Step::sizes stand for the run's seed: Dim("seed__").
inline const std::string kSeedSymbol = "seed__";

struct Placement {
  std::vector<std::int64_t> offsets;  // bytes in the arena, by buffer; -1 if it has no place there
  std::int64_t arena_bytes = 0;
  std::int64_t sum_of_values = 0;  // what the arena buffers would take if none shared memory
};

int root_of(const Plan& plan, int buffer);  // follows alias_of

// Places arena buffers so that two that live at the same time never overlap: largest first, each at
// the lowest free offset, 64-byte aligned. `share` false gives every buffer its own place.
Placement place(const Plan& plan, const SymbolSizes& sizes, bool share = true);

std::string print(const Plan& plan);
std::string print_memory_map(const Plan& plan, const SymbolSizes& sizes);

// What a Plan promises: indices in range, every read written before, lifetimes cover uses.
// Error(internal) if not.
void verify(const Plan& plan);

}  // namespace trireme::plan
