#pragma once

// A Plan under given sizes of its symbols: everything that does not change from run to run.

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"
#include "kernels/library.h"
#include "plan/plan.h"

namespace trireme::runtime {

struct BoundStep {
  const plan::KernelRun* kernel = nullptr;  // or
  std::unique_ptr<kernels::Prepared> library;
  std::size_t pointers = 0;  // first of its arguments in Bound::pointers
  std::size_t arguments = 0;
  std::size_t sizes = 0;  // first of its sizes in Bound::sizes
  std::int64_t trip = 0, grain = 1;
  bool parallel = false;
  struct Scratch {
    std::size_t position;  // among the arguments
    std::int64_t offset;   // in a thread's part of the workspace
  };
  std::vector<Scratch> scratch;
  std::int64_t scratch_bytes = 0;  // of one thread
};

// Memory: the arena as placed, then a workspace that one step at a time uses for scratch buffers
// (a part per thread) or as the workspace of a library kernel.
struct Bound {
  Bound(const plan::Plan& plan, const SymbolSizes& symbols, bool plan_memory, int threads,
        kernels::Find find);

  SymbolSizes symbols;
  plan::Placement placement;
  std::int64_t workspace_bytes = 0;
  std::vector<std::int64_t> bytes;  // of each buffer
  std::vector<BoundStep> steps;
  std::vector<void*> pointers;      // all steps' arguments
  std::vector<std::int64_t> sizes;  // all steps' sizes

  struct External {
    std::size_t pointer;  // place in `pointers` ...
    std::size_t root;     // ... where the memory of this buffer belongs
  };
  std::vector<External> externals;  // arguments outside the arena
  std::vector<std::size_t> seeds;   // places in `sizes` where the run's seed belongs

  // Points all arguments in the arena into `memory`; does nothing if they do already.
  void settle(const plan::Plan& plan, char* memory);

 private:
  void bind_kernel(const plan::Plan& plan, const plan::Step& step, const SymbolSizes& with_seed,
                   int threads, BoundStep& bound);
  void bind_library(const plan::Plan& plan, const plan::Step& step, int threads, kernels::Find find,
                    BoundStep& bound);
  char* settled_in_ = nullptr;
};

}  // namespace trireme::runtime
