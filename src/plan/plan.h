#pragma once

// The compiled Plan: the steps of the runtime, in order, and their buffers. The compiler makes it
// and the runtime executes it. It can be printed. It contains no op and no code generator.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/attribute.h"
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
  fetch,      // returned to the caller; index in Plan::fetches
  arena,      // placed by lifetime
  own,        // has separate memory: its size depends on a symbol that a step of the run defines
};

struct Buffer {
  std::string name;  // "%12 conv2d_0", or the name of the parameter or feed
  BufferKind kind = BufferKind::arena;
  DType dtype = DType::f32;
  Shape shape;
  // Arena only: first and last step that use it, set by the compiler.
  int first_step = -1;
  int last_step = -1;
  // >= 0: shares the storage of that buffer (a reshape, or an in-place result). Chains are allowed;
  // the lifetime of the root covers all. A root may be of any kind.
  int alias_of = -1;
};

// ceil(numerator / denominator) under the sizes of a run.
struct Quotient {
  Dim numerator = 1;
  std::int64_t denominator = 1;
  std::int64_t evaluate(const SymbolSizes& sizes) const;
};

// A call of a library kernel: its name, its attributes, the dtypes and shapes of its tensors.
struct LibraryCall {
  std::string kernel;     // a name in kernels/library.h's table
  Attributes attributes;  // of the op, sorted by name: stride, padding, transpose_a, epilogue ...
};

struct Plan;

// A block of an op, as a separate Plan. Its feeds are the arguments of the block, its fetches are
// the results.
struct Nested {
  std::shared_ptr<const Plan> plan;
  std::vector<int> arguments;  // of each feed, in the order of the Plan's buffers
};

// A step that runs other Plans. Its buffers are operands and then results. The step itself uses the
// first `extra` operands; the others are arguments of the block, in order.
struct Control {
  enum class Kind : std::uint8_t { none, cond, while_loop, scan, rnn };
  Kind kind = Kind::none;
  std::vector<Nested> blocks;
  int extra = 0;      // cond: the condition. rnn: the number of sequences with a row, by step
  int carried = 0;    // arguments and results that each run of a block passes to the next
  int sequences = 0;  // arguments after these, of which each run takes its part
  bool reverse = false;
  std::int64_t limit = 0;  // while_loop: the most runs
  Dim length = 0;          // scan: the number of runs

  // rnn: the sizes that differ from run to run. A size is the number of running sequences. If these
  // are split further, another size is the number of their rows, and so on.
  struct Size {
    std::string symbol;
    int splits = -1;      // argument that splits these rows; -1: the sequences that run
    bool by_row = false;  // the splits are of the rows of each step, not of the sequences
    int of = 0;           // what is split: the index of an earlier size
  };
  std::vector<Size> sizes;
  // The index of the size that the rows of arguments and of results have; -1: none. Splits have one
  // row more.
  std::vector<int> argument_rows, result_rows;
};

struct Step {
  std::string name;                  // for people: "conv2d_0: add, maximum"
  std::vector<std::string> sources;  // "digits.cc:10 conv2d_0", of the ops it computes
  // Exactly one of the three:
  int kernel = -1;      // index into Plan::kernels
  LibraryCall library;  // if library.kernel is not empty
  Control control;      // if its kind is not none

  // Floating-point operations by the definition of the ops. For profiles; not stored in files. 0
  // for a Control, because the steps of its blocks have their own.
  Dim operations = 0;

  // If not empty: after the step, the last element of its last buffer, i64, is the size of this
  // symbol.
  std::string defines;

  // Kernel: the buffers of the kernel in order, with -1 for scratch buffers. Library: operands,
  // then results.
  std::vector<int> buffers;
  std::vector<int> reads, writes;  // of these buffers, or buffers with the same storage; for checks

  // Kernel only.
  std::vector<Dim> sizes;  // values of the kernel's size parameters
  Quotient trip;           // iterations of the parallel loop
  Dim work = 0;            // approximate number of computed elements; decides the number of threads
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
  // Bytes of all values that the Program computes, including values that fusion keeps in registers,
  // but no views and no constants.
  Dim program_bytes = 0;
};

// The size "$seed" in Step::sizes is the seed of the run: Dim("seed__").
inline const std::string kSeedSymbol = "seed__";

struct Placement {
  std::vector<std::int64_t> offsets;  // in bytes, by buffer; -1 outside of the arena
  std::int64_t arena_bytes = 0;
  std::int64_t sum_of_values = 0;  // bytes of the arena buffers if none shared memory
};

// Returns the symbols whose sizes are defined by steps of the Plan.
std::vector<std::string> defined_symbols(const Plan& plan);
// Counts steps, including the steps of nested Plans.
int count_library_calls(const Plan& plan);
int count_kernels(const Plan& plan);

int root_of(const Plan& plan, int buffer);  // follows alias_of

// Places arena buffers so that two with overlapping lifetimes never overlap in memory: largest
// first, each at the lowest free offset, 64-byte aligned. If `share` is false, no buffers share
// memory.
Placement place(const Plan& plan, const SymbolSizes& sizes, bool share = true);

std::string print(const Plan& plan);
std::string print_memory_map(const Plan& plan, const SymbolSizes& sizes);

// Checks the invariants of a Plan: indices are in range, values are written before they are read,
// and lifetimes cover uses. Error(internal) if one is violated.
void verify(const Plan& plan);

}  // namespace trireme::plan
