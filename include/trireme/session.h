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
  std::uint64_t seed = 1;    // of initial parameters and of the random numbers of every run
  bool plan_memory = true;   // false: values share no memory; for debugging
  bool fuse = true;          // false: one kernel per op; for debugging
  bool libraries = true;     // false: convolutions and matrix products use generated kernels too
  bool interpreter = false;  // interprets kernels instead of generating code: slow, for comparison
  // Of values stored between kernels. With f16, runs with updates are refused.
  Precision precision = Precision::f32;
  HostFunctions host = {};  // functions for the op host_call, by name
  // Limits for Programs from other people; 0: none. A run that needs more is Error(data).
  std::int64_t max_bytes = 0;       // of memory of parameters, results and values in between
  std::int64_t max_operations = 0;  // of one run: computed elements, or products that are added
  // write a Chrome trace to this file at the end; empty: $TRIREME_PROFILE
  std::string profile = {};
};

struct RunOptions {
  bool training = false;      // dropout is active, batch_norm uses the batch's statistics
  bool updates = false;       // parameters get the new values that minimize() computes
  bool check_finite = false;  // Error(numeric) names the first layer with NaN or infinity
  // Runs only these sets of updates (UpdateOptions::name; "" is the set without a name), and
  // computes only what they and the fetches need. Running statistics, such as those of batch_norm,
  // are then updated where their layer's input is computed. Empty: all sets, if `updates` is true.
  std::vector<std::string> update = {};
};

// Resources that a Session has used so far.
struct SessionStatistics {
  int kernels = 0;                 // in all compiled Plans
  int kernels_compiled = 0;        // compiled by this process
  int kernels_cached = 0;          // loaded from the cache on disk
  int plans = 0;                   // one for each set of fetches and mode; sizes do not matter
  double compile_ms = 0;           // time spent compiling, including code generation
  std::int64_t arena_bytes = 0;    // of the last run
  std::int64_t sum_of_values = 0;  // memory of the last run if no two values shared memory
  // With profiling: scalar operations of all runs, as the ops are defined. A multiply-add counts
  // two, an element of an elementwise op one, moving data none.
  std::int64_t operations = 0;
};

// Memory that a compiled run needs at given sizes. Sizes known only at run time, such as the length
// of the longest sequence, count as 0 unless they are given.
struct MemoryReport {
  int kernels = 0;
  int library_calls = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t sum_of_values = 0;  // memory if no two stored values shared memory
  // Memory of all values of the Program, including values that fusion never stores; without views
  // and constants.
  std::int64_t program_bytes = 0;
  std::int64_t parameter_bytes = 0;
};

// The inputs of a run: input name to Tensor. A data::Batch is also Feeds.
using Feeds = std::map<std::string, Tensor>;

// Runs a Program. Compiles each requested computation once and owns the parameters.
// TRIREME_DUMP=dir writes all intermediate results of the compiler as text into dir. One thread at
// a time may use a Session.
class TRIREME_API Session {
 public:
  // Shares the Program, which may grow later, as in minimize().
  explicit Session(const Program& program, SessionOptions options = {});
  // Shares the parameters of `other`: those of the same name, dtype and shape in both Programs are
  // the same memory, so an update in one Session is an update in all. Parameters that only one
  // Program has when they are first used belong to its Session. Seed, counters, frozen parameters
  // and Plans are separate. The Sessions may be destroyed in any order. Several threads may run
  // Sessions that share parameters, each its own, while no thread updates or sets a shared
  // parameter. A run that updates one must not overlap with other runs; the caller must wait.
  Session(const Program& program, SessionOptions options, const Session& other);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Runs the Program and returns the values of `fetches`, in order. `fetches` may be empty, to run
  // only the updates. Feeds that are not needed may be given or omitted; symbols must have the same
  // size in all given feeds. The caller owns the returned Tensors: a later run does not change
  // them.
  // Errors: usage, for a feed that is missing, unknown or of the wrong dtype or shape.
  std::vector<Tensor> run(const Feeds& feeds, const std::vector<Value>& fetches,
                          RunOptions options = {});

  // Compiles such a run without running it and returns its memory.
  MemoryReport memory(const std::vector<Value>& fetches, RunOptions options,
                      const SymbolSizes& given);

  // Returns a copy of a parameter's value.
  // Errors: not_found, with the most similar name.
  Tensor parameter(std::string_view name);
  // Errors: not_found; usage, if dtype or shape differ.
  void set_parameter(std::string_view name, const Tensor& value);

  // The learning rate of the next update of the set `name`, with its schedule, before the factors
  // of single parameters.
  // Errors: usage, if there is no such set, or the Program was parsed and its rate is fixed.
  double learning_rate(std::string_view name = "");
  // Sets the learning rate; the next update uses it. Does not compile again. A schedule continues
  // from there: it is multiplied by the factor that makes its rate of the next update `rate`. The
  // rate is a parameter, so checkpoints contain it.
  // Errors: usage, for updates without UpdateOptions::adjustable_rate, a rate that is negative or
  // not finite (0, for FTRL), and a schedule that is 0 now.
  void set_learning_rate(double rate, std::string_view name = "");

  // Freezes the trainable parameters whose names match `pattern`, where * matches any characters:
  // later updates of all sets leave them and their optimizer state unchanged, do not compute their
  // gradients, and leave these out of Clip::global_norm. Counters of steps and running statistics
  // go on. The next run compiles, once for each set of frozen parameters. Returns the number of
  // parameters that match. Checkpoints do not say what is frozen.
  // Errors: not_found, if no parameter matches.
  int freeze(std::string_view pattern);
  // Undoes freeze(). Averages (UpdateOptions::average) start again from the parameters. Other
  // optimizer state continues. Counts of updates belong to the whole set: the first steps of a
  // parameter that Adam has never updated are up to (1 - beta1) / sqrt(1 - beta2), 3.2 by default,
  // times the rate. Parameters that Program::configure() has frozen stay frozen: they have no
  // updates.
  int unfreeze(std::string_view pattern);
  std::vector<std::string> frozen() const;  // names of parameters, sorted

  // The number of runs so far. With the seed it determines the random numbers of the next run, so
  // setting it back repeats them.
  std::uint64_t step() const;
  void set_step(std::uint64_t step);

  SessionStatistics statistics() const;
  int threads() const;
  const SessionOptions& options() const;  // `profile` may be that of the environment
  std::string profile_table() const;      // time per step of the Plan; empty without profiling

 private:
  friend struct SessionAccess;  // of session/run
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme
