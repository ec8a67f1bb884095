#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"
#include "trireme/host.h"
#include "trireme/precision.h"
#include "trireme/program.h"
#include "trireme/shape.h"
#include "trireme/tensor.h"

namespace trireme {

struct SessionOptions {
  int threads = 0;           // 0: $TRIREME_NUM_THREADS, else the processors this process may use
  std::uint64_t seed = 1;    // of the first parameters and of every run's random numbers
  bool plan_memory = true;   // false: every value has memory of its own; for checks
  bool fuse = true;          // false: every op is a kernel of its own; for checks
  bool libraries = true;     // false: convolutions and products are generated kernels too
  bool interpreter = false;  // run kernels without generating code: slow, the oracle
  // Of what is stored between kernels. With f16 a run with updates is refused.
  Precision precision = Precision::f32;
  HostFunctions host = {};   // what the op host_call runs, by name
  std::string profile = {};  // write a Chrome trace here at the end; empty: $TRIREME_PROFILE
};

struct RunOptions {
  bool training = false;      // dropout drops, batch_norm uses the batch's statistics
  bool updates = false;       // parameters take the new values that minimize() computes
  bool check_finite = false;  // Error(numeric) naming the first layer that makes NaN or infinity
};

// What a Session has cost so far.
struct SessionStatistics {
  int kernels = 0;                 // in all compiled Plans together
  int kernels_compiled = 0;        // turned into code by this process
  int kernels_cached = 0;          // found on disk
  int plans = 0;                   // one for each set of fetches and mode, whatever the sizes
  double compile_ms = 0;           // spent compiling, code generation included
  std::int64_t arena_bytes = 0;    // of the last run
  std::int64_t sum_of_values = 0;  // what the last run would need if no two values shared memory
  // With profiling: operations on single numbers that all runs did, as the ops are defined (two for each
  // product that is added up, one for each element of an elementwise op; none where numbers are moved).
  std::int64_t operations = 0;
};

// What a compiled run needs at given sizes. Sizes that only the run tells, such as that of the longest sequence, count as
// 0 unless they are given.
struct MemoryReport {
  int kernels = 0;
  int library_calls = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t sum_of_values = 0;  // what it would be if no two stored values shared memory
  // What all values of the Program take, those too that fusion never stores; no views, no constants.
  std::int64_t program_bytes = 0;
  std::int64_t parameter_bytes = 0;
};

// What a run is given: input name to Tensor. A data::Batch is one.
using Feeds = std::map<std::string, Tensor>;

// Runs a Program: compiles what is asked for, once, and keeps the parameters. TRIREME_DUMP=dir
// writes everything the compiler makes as text into dir. Not safe for several threads at once.
class TRIREME_API Session {
 public:
  // The Program must outlive the Session; it may grow meanwhile, as minimize() makes it do.
  explicit Session(const Program& program, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // The values of `fetches` (or none, for the updates' sake) in their order. Feeds that are not
  // needed may be given or left out; those given must fit each other in the sizes of their symbols.
  // A returned Tensor is the caller's: a later run does not change it.
  // Errors: usage, for a feed that is missing, unknown or of the wrong dtype or shape.
  std::vector<Tensor> run(const Feeds& feeds, const std::vector<Value>& fetches,
                          RunOptions options = {});

  // Compiles such a run, without running it, and tells what it needs.
  MemoryReport memory(const std::vector<Value>& fetches, RunOptions options,
                      const SymbolSizes& given);

  // A copy of what the parameter holds. Errors: not_found, with the nearest name.
  Tensor parameter(std::string_view name);
  // Errors: not_found; usage, if dtype or shape differ.
  void set_parameter(std::string_view name, const Tensor& value);

  // Runs so far. It makes the random numbers of the next run together with the seed, so setting it
  // back repeats them.
  std::uint64_t step() const;
  void set_step(std::uint64_t step);

  SessionStatistics statistics() const;
  int threads() const;
  std::string profile_table() const;  // time by step; empty without profiling

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme
