#pragma once

// The compiled Plan: what the runtime does, in order, on which buffers. Made by the compiler,
// obeyed by the runtime, printable. Knows no op and no code generator.

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
  fetch,      // handed to the caller; index in Plan::fetches
  arena,      // placed by lifetime
  own,        // has memory of its own: its size depends on a symbol that a step of the run defines
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
  std::string kernel;     // a name in kernels/library.h's table
  Attributes attributes;  // of the op, sorted by name: stride, padding, transpose_a, epilogue ...
};

struct Plan;

// A block of an op, as a Plan of its own: its feeds are arguments of the block, its fetches the results.
struct Nested {
  std::shared_ptr<const Plan> plan;
  std::vector<int> arguments;  // of each feed, in the order of the Plan's buffers
};

// A step that runs other Plans. Its buffers are operands, of which the first `extra` are for itself and
// the others for the block's arguments in order, and then results.
struct Control {
  enum class Kind : std::uint8_t { none, cond, while_loop, scan, rnn };
  Kind kind = Kind::none;
  std::vector<Nested> blocks;
  int extra = 0;      // cond: the condition. rnn: how many sequences have a row, by step
  int carried = 0;    // arguments and results that each run of a block hands to the next
  int sequences = 0;  // arguments behind these of which each run takes its part
  bool reverse = false;
  std::int64_t limit = 0;  // while_loop: the most runs
  Dim length = 0;          // scan: the number of runs

  // rnn: the sizes that differ from run to run. A size is the number of sequences that run or, where they
  // are split further, the number of their rows, and again where these are split.
  struct Size {
    std::string symbol;
    int splits = -1;      // argument that splits these rows; -1: the sequences that run
    bool by_row = false;  // the splits are of the rows of each step, not of the sequences
    int of = 0;           // what is split: an earlier one of the sizes
  };
  std::vector<Size> sizes;
  // Which size the rows of arguments and of results are; -1: none. Splits have one row more.
  std::vector<int> argument_rows, result_rows;
};

struct Step {
  std::string name;                  // for people: "conv2d_0: add, maximum"
  std::vector<std::string> sources;  // "digits.cc:10 conv2d_0", of the ops it computes
  // One of the three:
  int kernel = -1;      // index into Plan::kernels
  LibraryCall library;  // if library.kernel is not empty
  Control control;      // if its kind is not none

  // Operations on single numbers, as the ops are defined; for profiles, and not stored in files. Of a
  // Control, 0: the steps of its blocks have their own.
  Dim operations = 0;

  // Not empty: when the step has run, the last element of its last buffer, i64, is this symbol's size.
  std::string defines;

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

// The symbols whose sizes steps of the Plan define.
std::vector<std::string> defined_symbols(const Plan& plan);
// Steps that the functions cover, with those of nested Plans.
int count_library_calls(const Plan& plan);
int count_kernels(const Plan& plan);

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
