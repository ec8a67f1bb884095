#pragma once

// A Plan for given sizes of its symbols: everything that is equal in every run.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "device/device.h"
#include "kernels/library.h"
#include "plan/plan.h"
#include "runtime/flat.h"

namespace trireme::runtime {

// The Dims of a Plan, ready to be computed.
struct FlatPlan {
  explicit FlatPlan(const plan::Plan& plan);

  struct Step {
    std::vector<FlatDim> sizes;
    FlatDim trip, work, operations;
    std::int64_t denominator = 1;
    std::vector<FlatDim> scratch;
  };
  std::vector<std::vector<FlatDim>> shapes;  // of each buffer
  std::vector<Step> steps;
};

struct BoundStep {
  const plan::KernelRun* kernel = nullptr;     // or
  kernels::KernelInstance* library = nullptr;  // or neither: it runs other Plans
  std::size_t pointers = 0;                    // first of its arguments in BoundPlan::pointers
  std::size_t arguments = 0;
  std::size_t sizes = 0;  // first of its sizes in BoundPlan::sizes
  std::int64_t trip = 0, grain = 1;
  bool parallel = false;
  struct Scratch {
    std::size_t position;  // among the arguments
    std::int64_t offset;   // in a thread's part of the workspace
  };
  std::vector<Scratch> scratch;
  std::int64_t scratch_bytes = 0;  // of one thread
  // Library kernels, by the shapes of all their tensors.
  std::map<Sizes, std::unique_ptr<kernels::KernelInstance>> prepared;
};

// Memory: the arena; a workspace; and separate memory for buffers whose size a step defines. One
// step at a time uses the workspace, for scratch buffers (a part per thread) or for a library
// kernel.
struct BoundPlan {
  // Places buffers for `sizes`, in the order of Plan::symbols. Sizes that steps define count as 0.
  BoundPlan(const plan::Plan& plan, const FlatPlan& flat, const Sizes& sizes, bool plan_memory,
            int threads, kernels::Find find);

  // Changes the sizes. No buffer of the arena may become larger than it was placed for: see fits().
  void resize(const Sizes& sizes);
  bool fits(const Sizes& sizes) const;

  const Sizes placed_for;
  Sizes current;  // the present sizes
  plan::Placement placement;
  std::int64_t workspace_bytes = 0;
  std::vector<std::int64_t> bytes;  // of each buffer
  std::vector<BoundStep> steps;
  std::vector<void*> pointers;      // all steps' arguments
  std::vector<std::int64_t> sizes;  // all steps' sizes

  struct External {
    std::size_t pointer;  // place in `pointers` ...
    std::size_t root;     // ... of the memory of this buffer
  };
  std::vector<External> externals;  // arguments outside the arena
  std::vector<std::size_t> seeds;   // places in `sizes` of the seed of the run

  // Points all arguments in the arena into `memory`, and scratch into `workspace`. Does nothing if
  // they already point there.
  void settle(char* memory, char* workspace);

 private:
  std::int64_t bytes_of(std::size_t buffer, const Sizes& sizes) const;
  void size_kernel(std::size_t i);
  void size_library(std::size_t i);

  const plan::Plan& plan_;
  const FlatPlan& flat_;
  int threads_;
  kernels::Find find_;
  std::vector<std::int64_t> placed_bytes_;
  char* settled_in_ = nullptr;
  char* workspace_ = nullptr;
};

}  // namespace trireme::runtime
