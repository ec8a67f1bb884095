#include "runtime/bound.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace trireme::runtime {

namespace {

// Below this many elements a second thread costs more than it saves.
constexpr std::int64_t kLeastParallelWork = 32768;
constexpr std::int64_t kLeastWorkPerChunk = 8192;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;  // no memory holds more

std::int64_t aligned(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

const plan::Buffer& at(const plan::Plan& plan, int buffer) {
  return plan.buffers[static_cast<std::size_t>(buffer)];
}

}  // namespace

Bound::Bound(const plan::Plan& plan, const SymbolSizes& symbols_, bool plan_memory, int threads,
             kernels::Find find)
    : symbols(symbols_), placement(plan::place(plan, symbols_, plan_memory)) {
  SymbolSizes with_seed = symbols;
  with_seed[plan::kSeedSymbol] = 0;
  for (const plan::Buffer& buffer : plan.buffers) {
    const std::int64_t count = product(buffer.shape).evaluate(symbols);
    if (count < 0 || count > kMostElements) {
      fail_usage(fmt::format("{} has a {} size under these sizes of its symbols: {}", buffer.name,
                             count < 0 ? "negative" : "far too large", str(buffer.shape)));
    }
    bytes.push_back(count * static_cast<std::int64_t>(size_of(buffer.dtype)));
  }
  steps.resize(plan.steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const plan::Step& step = plan.steps[i];
    BoundStep& bound = steps[i];
    bound.pointers = pointers.size();
    bound.arguments = step.buffers.size();
    for (const int buffer : step.buffers) {
      if (buffer >= 0) {
        const int root = plan::root_of(plan, buffer);
        if (at(plan, root).kind != plan::BufferKind::arena) {
          externals.push_back({pointers.size(), static_cast<std::size_t>(root)});
        }
      }
      pointers.push_back(nullptr);
    }
    if (step.kernel >= 0) {
      bind_kernel(plan, step, with_seed, threads, bound);
    } else {
      bind_library(plan, step, threads, find, bound);
    }
  }
}

void Bound::bind_kernel(const plan::Plan& plan, const plan::Step& step,
                        const SymbolSizes& with_seed, int threads, BoundStep& bound) {
  const Dim seed{std::string_view{plan::kSeedSymbol}};
  bound.kernel = &plan.kernels[static_cast<std::size_t>(step.kernel)].run;
  bound.sizes = sizes.size();
  for (const Dim& dim : step.sizes) {
    if (dim == seed) seeds.push_back(sizes.size());
    sizes.push_back(dim.evaluate(with_seed));
  }
  bound.trip = step.trip.evaluate(with_seed);
  const std::int64_t work = step.work.evaluate(with_seed);
  bound.parallel = threads > 1 && bound.trip > 1 && work >= kLeastParallelWork;
  const double per_iteration = static_cast<double>(std::max<std::int64_t>(work, 1)) /
                               static_cast<double>(std::max<std::int64_t>(bound.trip, 1));
  bound.grain = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(kLeastWorkPerChunk) / per_iteration));
  for (const plan::Step::Scratch& scratch : step.scratch) {
    const std::int64_t bytes = scratch.bytes.evaluate(with_seed);
    if (bytes < 0 || bytes > kMostElements) {
      fail_usage(fmt::format("step '{}' wants {} bytes of scratch memory", step.name, bytes));
    }
    bound.scratch.push_back({static_cast<std::size_t>(scratch.buffer), bound.scratch_bytes});
    bound.scratch_bytes += aligned(bytes);
  }
  const std::int64_t parts = bound.parallel ? threads : 1;
  workspace_bytes = std::max(workspace_bytes, parts * bound.scratch_bytes);
}

void Bound::bind_library(const plan::Plan& plan, const plan::Step& step, int threads,
                         kernels::Find find, BoundStep& bound) {
  const kernels::Prepare prepare = find(step.library.kernel);
  if (prepare == nullptr) {
    fail_internal(fmt::format("step '{}' asks for the library kernel '{}', which there is not",
                              step.name, step.library.kernel));
  }
  kernels::Call call{step.library.numbers, step.library.texts, {}};
  for (const int buffer : step.buffers) {
    call.tensors.push_back({at(plan, buffer).dtype, evaluate(at(plan, buffer).shape, symbols)});
  }
  bound.library = prepare(call);
  workspace_bytes = std::max(
      workspace_bytes, aligned(static_cast<std::int64_t>(bound.library->workspace_bytes(threads))));
}

void Bound::settle(const plan::Plan& plan, char* memory) {
  if (memory == settled_in_) return;
  settled_in_ = memory;
  char* workspace = memory + placement.arena_bytes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<int>& buffers = plan.steps[i].buffers;
    void** arguments = pointers.data() + steps[i].pointers;
    for (std::size_t j = 0; j < buffers.size(); ++j) {
      if (buffers[j] < 0) continue;
      const std::int64_t offset = placement.offsets[static_cast<std::size_t>(buffers[j])];
      if (offset >= 0) arguments[j] = memory + offset;
    }
    for (const BoundStep::Scratch& scratch : steps[i].scratch) {
      arguments[scratch.position] = workspace + scratch.offset;
    }
  }
}

}  // namespace trireme::runtime
