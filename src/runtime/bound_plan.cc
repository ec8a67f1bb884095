#include "runtime/bound_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace trireme::runtime {

namespace {

// Below this many elements a second thread costs more than it saves.
constexpr std::int64_t kMinParallelWork = 32768;
constexpr std::int64_t kMinWorkPerChunk = 8192;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMaxElementCount = std::int64_t{1} << 48;  // no memory holds more
constexpr std::size_t kMaxInstances = 512;                        // of one step

std::int64_t aligned(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

const plan::Buffer& at(const plan::Plan& plan, int buffer) {
  return plan.buffers[static_cast<std::size_t>(buffer)];
}

SymbolSizes named(const plan::Plan& plan, const Sizes& sizes) {
  SymbolSizes symbols;
  for (std::size_t i = 0; i < sizes.size(); ++i) symbols[plan.symbols[i]] = sizes[i];
  return symbols;
}

}  // namespace

FlatPlan::FlatPlan(const plan::Plan& plan) {
  const auto flat = [&](const Dim& dim) { return FlatDim(dim, plan.symbols); };
  for (const plan::Buffer& buffer : plan.buffers) {
    std::vector<FlatDim>& dims = shapes.emplace_back();
    for (const Dim& dim : buffer.shape) dims.push_back(flat(dim));
  }
  for (const plan::Step& step : plan.steps) {
    Step& made = steps.emplace_back();
    for (const Dim& dim : step.sizes) made.sizes.push_back(flat(dim));
    made.trip = flat(step.trip.numerator);
    made.denominator = step.trip.denominator;
    made.work = flat(step.work);
    made.operations = flat(step.operations);
    for (const plan::Step::Scratch& scratch : step.scratch) {
      made.scratch.push_back(flat(scratch.bytes));
    }
  }
}

std::int64_t BoundPlan::bytes_of(std::size_t buffer, const Sizes& given) const {
  std::int64_t count = 1;
  bool negative = false;
  for (const FlatDim& dim : flat_.shapes[buffer]) {
    const std::int64_t size = dim.evaluate(given);
    negative = negative || size < 0;
    if (size > 0 && count > kMaxElementCount / size) count = kMaxElementCount + 1;
    else count *= size;
  }
  if (negative || count > kMaxElementCount) {
    const plan::Buffer& wrong = plan_.buffers[buffer];
    fail_usage(fmt::format("{} has a {} size under these sizes of its symbols: {}", wrong.name,
                           negative ? "negative" : "far too large", str(wrong.shape)));
  }
  return count * static_cast<std::int64_t>(size_of(plan_.buffers[buffer].dtype));
}

BoundPlan::BoundPlan(const plan::Plan& plan, const FlatPlan& flat, const Sizes& given,
                     bool plan_memory, int threads, kernels::Find find)
    : placed_for(given), current(given), plan_(plan), flat_(flat), threads_(threads), find_(find) {
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) bytes.push_back(bytes_of(i, given));
  placement = plan::place(plan, named(plan, given), plan_memory);
  placed_bytes_ = bytes;
  steps.resize(plan.steps.size());
  const Dim seed{std::string_view{plan::kSeedSymbol}};
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
    if (step.kernel >= 0) bound.kernel = &plan.kernels[static_cast<std::size_t>(step.kernel)].run;
    bound.sizes = sizes.size();
    for (const Dim& dim : step.sizes) {
      if (dim == seed) seeds.push_back(sizes.size());
      sizes.push_back(0);
    }
    for (const plan::Step::Scratch& scratch : step.scratch) {
      bound.scratch.push_back({static_cast<std::size_t>(scratch.buffer), 0});
    }
  }
  resize(given);
}

bool BoundPlan::fits(const Sizes& given) const {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto root = static_cast<std::size_t>(plan::root_of(plan_, static_cast<int>(i)));
    if (plan_.buffers[root].kind != plan::BufferKind::arena) continue;
    if (bytes_of(i, given) > placed_bytes_[i]) return false;
  }
  return true;
}

void BoundPlan::resize(const Sizes& given) {
  current = given;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = bytes_of(i, given);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kernel != nullptr) size_kernel(i);
    else if (!plan_.steps[i].library.kernel.empty()) size_library(i);
  }
}

void BoundPlan::size_kernel(std::size_t i) {
  BoundStep& bound = steps[i];
  const FlatPlan::Step& flat = flat_.steps[i];
  for (std::size_t k = 0; k < flat.sizes.size(); ++k) {
    sizes[bound.sizes + k] = flat.sizes[k].evaluate(current);
  }
  const std::int64_t numerator = flat.trip.evaluate(current);
  bound.trip = numerator <= 0 ? 0 : (numerator + flat.denominator - 1) / flat.denominator;
  const std::int64_t work = flat.work.evaluate(current);
  bound.parallel = threads_ > 1 && bound.trip > 1 && work >= kMinParallelWork;
  const double per_iteration = static_cast<double>(std::max<std::int64_t>(work, 1)) /
                               static_cast<double>(std::max<std::int64_t>(bound.trip, 1));
  bound.grain = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(kMinWorkPerChunk) / per_iteration));
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < flat.scratch.size(); ++k) {
    const std::int64_t wanted = flat.scratch[k].evaluate(current);
    if (wanted < 0 || wanted > kMaxElementCount) {
      fail_usage(
          fmt::format("step '{}' wants {} bytes of scratch memory", plan_.steps[i].name, wanted));
    }
    if (bound.scratch[k].offset != offset) settled_in_ = nullptr;
    bound.scratch[k].offset = offset;
    offset += aligned(wanted);
  }
  bound.scratch_bytes = offset;
  workspace_bytes = std::max(workspace_bytes, (bound.parallel ? threads_ : 1) * offset);
}

void BoundPlan::size_library(std::size_t i) {
  BoundStep& bound = steps[i];
  const plan::Step& step = plan_.steps[i];
  Sizes shapes;
  for (const int buffer : step.buffers) {
    for (const FlatDim& dim : flat_.shapes[static_cast<std::size_t>(buffer)]) {
      shapes.push_back(dim.evaluate(current));
    }
  }
  const auto known = bound.prepared.find(shapes);
  if (known != bound.prepared.end()) {
    bound.library = known->second.get();
    return;
  }
  const kernels::Prepare prepare = find_(step.library.kernel);
  if (prepare == nullptr) {
    fail_internal(fmt::format("step '{}' asks for the library kernel '{}', which there is not",
                              step.name, step.library.kernel));
  }
  kernels::Call call{step.library.attributes, {}};
  auto next = shapes.begin();
  for (const int buffer : step.buffers) {
    const auto rank = static_cast<std::ptrdiff_t>(at(plan_, buffer).shape.size());
    call.tensors.push_back({at(plan_, buffer).dtype, Sizes(next, next + rank)});
    next += rank;
  }
  if (bound.prepared.size() == kMaxInstances) bound.prepared.clear();
  auto& made = bound.prepared[shapes];
  made = prepare(call);
  bound.library = made.get();
  workspace_bytes = std::max(workspace_bytes,
                             aligned(static_cast<std::int64_t>(made->workspace_bytes(threads_))));
}

void BoundPlan::settle(char* memory, char* workspace) {
  if (memory == settled_in_ && workspace == workspace_) return;
  settled_in_ = memory;
  workspace_ = workspace;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<int>& buffers = plan_.steps[i].buffers;
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
