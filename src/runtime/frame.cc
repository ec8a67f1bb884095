#include "runtime/frame.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/control.h"
#include "runtime/finite.h"
#include "runtime/limits.h"

namespace trireme::runtime {

namespace {

constexpr std::size_t kMaxBounds = 16;

std::string where(const plan::Step& step) {
  std::string text = fmt::format("in step '{}'", step.name);
  for (const std::string& source : step.sources) text += "\n  from " + source;
  return text;
}

// "digits.cc:10 conv2d_0" -> "conv2d_0"
std::string layer_of(const plan::Step& step) {
  if (step.sources.empty()) return {};
  const std::string& source = step.sources.front();
  const std::size_t space = source.find(' ');
  return space == std::string::npos ? std::string() : source.substr(space + 1);
}

}  // namespace

Frame::Frame(std::shared_ptr<const plan::Plan> plan, device::Device& device,
             ExecutorOptions options)
    : plan_(std::move(plan)), device_(device), options_(options), flat_(*plan_) {
  external_.assign(plan_->buffers.size(), nullptr);
  own_memory_.resize(plan_->buffers.size());
  find_external();
  std::size_t largest = 0;
  for (const plan::Step& step : plan_->steps) {
    largest = std::max(largest, step.buffers.size());
    controls_.push_back(step.control.kind == plan::Control::Kind::none
                            ? nullptr
                            : make_control(*plan_, step, device, options));
  }
  thread_pointers_.assign(static_cast<std::size_t>(device.threads()), std::vector<void*>(largest));
}

Frame::~Frame() {
  release(arena_);
  release(workspace_);
  for (Own& own : own_memory_) release(own);
}

void Frame::release(Own& own) {
  device_.release(own.memory, static_cast<std::size_t>(own.bytes));
  own = {};
}

void Frame::find_external() {
  for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
    const plan::Buffer& buffer = plan_->buffers[i];
    if (buffer.alias_of >= 0) continue;
    if (buffer.kind == plan::BufferKind::feed) feeds_.push_back(static_cast<int>(i));
    if (buffer.kind == plan::BufferKind::own) own_.push_back(static_cast<int>(i));
  }
  std::vector<bool> has_memory(plan_->buffers.size(), false);
  for (const int fetch : plan_->fetches) {
    const int root = plan::root_of(*plan_, fetch);
    const auto at = static_cast<std::size_t>(root);
    const bool direct = plan_->buffers[at].kind == plan::BufferKind::fetch && !has_memory[at];
    if (direct) has_memory[at] = true;
    direct_.push_back(direct ? root : -1);
  }
  fetched_.assign(plan_->fetches.size(), nullptr);
  for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
    const plan::Buffer& buffer = plan_->buffers[i];
    if (buffer.kind == plan::BufferKind::fetch && buffer.alias_of < 0 && !has_memory[i]) {
      fail_internal(fmt::format(
          "plan: buffer {} ({}) is a fetch that is not in the list of fetches", i, buffer.name));
    }
  }
}

void Frame::set_fetch(std::size_t fetch, void* memory) {
  if (direct_[fetch] >= 0) {
    set(direct_[fetch], memory);
  } else {
    fetched_[fetch] = memory;
  }
}

std::unique_ptr<BoundPlan> Frame::make_bound(const Sizes& sizes) const {
  return std::make_unique<BoundPlan>(*plan_, flat_, sizes, options_.plan_memory, device_.threads(),
                                     options_.find_kernel);
}

void Frame::place(const Sizes& sizes) {
  const auto found = std::find_if(bounds_.begin(), bounds_.end(),
                                  [&](const auto& bound) { return bound->placed_for == sizes; });
  if (found != bounds_.end()) {
    std::rotate(bounds_.begin(), found, found + 1);
    if (bounds_.front()->current != sizes) bounds_.front()->resize(sizes);
  } else {
    auto made = make_bound(sizes);
    if (bounds_.size() == kMaxBounds) bounds_.pop_back();
    bounds_.insert(bounds_.begin(), std::move(made));
  }
}

void Frame::reserve(const Sizes& largest) {
  if (!bounds_.empty() && bounds_.front()->fits(largest)) return;
  bounds_.clear();
  bounds_.push_back(make_bound(largest));
}

void Frame::resize(const Sizes& sizes) {
  if (bounds_.front()->current != sizes) bounds_.front()->resize(sizes);
}

// A kernel of a step may still run when later sizes need more workspace. So the workspace grows
// only before a run.
void Frame::ensure_memory() {
  const auto ensure = [&](Own& own, std::int64_t wanted) {
    if (own.memory != nullptr && wanted <= own.bytes) return;
    release(own);
    own.memory = static_cast<char*>(device_.allocate(static_cast<std::size_t>(wanted)));
    own.bytes = wanted;
  };
  ensure(arena_, bound().placement.arena_bytes);
  ensure(workspace_, bound().workspace_bytes);
}

void Frame::ensure_own_memory() {
  for (const int buffer : own_) {
    const auto i = static_cast<std::size_t>(buffer);
    const std::int64_t wanted = bound().bytes[i];
    Own& own = own_memory_[i];
    if (wanted > own.bytes) {
      release(own);
      const std::int64_t bytes = wanted + wanted / 4;  // the next run may want a little more
      own.memory = static_cast<char*>(device_.allocate(static_cast<std::size_t>(bytes)));
      own.bytes = bytes;
    }
    external_[i] = own.memory;
  }
}

void Frame::point() {
  BoundPlan& bound = *bounds_.front();
  bound.settle(arena_.memory, workspace_.memory);
  for (const BoundPlan::External& e : bound.externals)
    bound.pointers[e.pointer] = external_[e.root];
  for (const std::size_t place : bound.seeds) {
    bound.sizes[place] = static_cast<std::int64_t>(seed_);
  }
}

void* Frame::memory_of(std::size_t buffer) const {
  const std::int64_t offset = bound().placement.offsets[buffer];
  if (offset >= 0) return arena_.memory + offset;
  return external_[static_cast<std::size_t>(plan::root_of(*plan_, static_cast<int>(buffer)))];
}

void Frame::run(std::uint64_t seed) {
  seed_ = seed;
  ensure_memory();
  if (!own_.empty()) ensure_own_memory();
  point();
  run_steps();
  for (std::size_t i = 0; i < fetched_.size(); ++i) {
    const auto buffer = static_cast<std::size_t>(plan_->fetches[i]);
    const auto bytes = static_cast<std::size_t>(bound().bytes[buffer]);
    if (fetched_[i] != nullptr && bytes > 0) std::memcpy(fetched_[i], memory_of(buffer), bytes);
  }
}

void Frame::run_step(std::size_t i) {
  BoundPlan& bound = *bounds_.front();
  const BoundStep& step = bound.steps[i];
  void** arguments = bound.pointers.data() + step.pointers;
  if (controls_[i] != nullptr) {
    controls_[i]->run(bound, arguments, seed_);
    return;
  }
  if (step.library != nullptr) {
    step.library->run(arguments, workspace_.memory, device_);
    return;
  }
  if (step.trip == 0) return;
  const std::int64_t* sizes = bound.sizes.data() + step.sizes;
  if (!step.parallel) {
    (*step.kernel)(arguments, sizes, 0, step.trip);
  } else if (!step.scratch.empty()) {
    run_with_scratch(step);
  } else {
    device_.run(step.trip, step.grain, true, [&](std::int64_t begin, std::int64_t end, int) {
      (*step.kernel)(arguments, sizes, begin, end);
    });
  }
}

void Frame::run_with_scratch(const BoundStep& step) {
  const BoundPlan& bound = *bounds_.front();
  void* const* arguments = bound.pointers.data() + step.pointers;
  const std::int64_t* sizes = bound.sizes.data() + step.sizes;
  for (std::size_t t = 0; t < thread_pointers_.size(); ++t) {
    std::vector<void*>& own = thread_pointers_[t];
    std::copy_n(arguments, step.arguments, own.begin());
    char* part = workspace_.memory + static_cast<std::int64_t>(t) * step.scratch_bytes;
    for (const BoundStep::Scratch& scratch : step.scratch) {
      own[scratch.position] = part + scratch.offset;
    }
  }
  device_.run(step.trip, step.grain, true, [&](std::int64_t begin, std::int64_t end, int thread) {
    (*step.kernel)(thread_pointers_[static_cast<std::size_t>(thread)].data(), sizes, begin, end);
  });
}

// What depends on the size is sized, and given memory, now.
void Frame::define(const plan::Step& step) {
  const auto buffer = static_cast<std::size_t>(step.buffers.back());
  const BoundPlan& bound = *bounds_.front();
  const auto count = bound.bytes[buffer] / static_cast<std::int64_t>(sizeof(std::int64_t));
  const auto* values = static_cast<const std::int64_t*>(memory_of(buffer));
  Sizes sizes = bound.current;
  const auto found = std::find(plan_->symbols.begin(), plan_->symbols.end(), step.defines);
  if (found == plan_->symbols.end() || count == 0) return;  // nothing has this size
  std::int64_t& size = sizes[static_cast<std::size_t>(found - plan_->symbols.begin())];
  if (size == values[count - 1]) return;
  size = values[count - 1];
  bounds_.front()->resize(sizes);
  if (bound.workspace_bytes > workspace_.bytes) {
    release(workspace_);
    workspace_.memory =
        static_cast<char*>(device_.allocate(static_cast<std::size_t>(bound.workspace_bytes)));
    workspace_.bytes = bound.workspace_bytes;
  }
  ensure_own_memory();
  point();
}

// A step of blocks counts one; the steps in its blocks count themselves.
void Frame::spend(std::size_t i) {
  const BoundPlan& bound = *bounds_.front();
  const FlatPlan::Step& flat = flat_.steps[i];
  std::int64_t operations = 1 + std::max<std::int64_t>(0, flat.operations.evaluate(bound.current));
  operations = std::max(operations, flat.work.evaluate(bound.current));
  if (bound.steps[i].library != nullptr) {
    for (const int buffer : plan_->steps[i].buffers) {
      operations = std::max(operations, bound.bytes[static_cast<std::size_t>(buffer)]);
    }
  }
  options_.limits->spend(operations);
}

void Frame::run_steps() {
  std::size_t i = 0;
  try {
    for (; i < plan_->steps.size(); ++i) {
      const plan::Step& step = plan_->steps[i];
      if (options_.limits != nullptr) spend(i);
      if (options_.profiler != nullptr && controls_[i] == nullptr) {
        const double start = options_.profiler->now_us();
        run_step(i);
        record(i, start);
      } else {
        run_step(i);
      }
      if (options_.check_finite) check(step);
      if (!step.defines.empty()) define(step);
    }
  } catch (const Error& error) {
    fail(error.kind(), fmt::format("{}\n  {}", error.what(), where(plan_->steps[i])));
  }
}

void Frame::record(std::size_t i, double start_us) {
  const plan::Step& step = plan_->steps[i];
  const double end_us = options_.profiler->now_us();
  const std::string& kernel = step.kernel >= 0
                                  ? plan_->kernels[static_cast<std::size_t>(step.kernel)].name
                                  : step.library.kernel;
  options_.profiler->record({step.name, kernel, layer_of(step), start_us, end_us - start_us,
                             flat_.steps[i].operations.evaluate(bound().current)});
}

void Frame::check(const plan::Step& step) const {
  for (const int write : step.writes) {
    const auto buffer = static_cast<std::size_t>(write);
    const std::string found =
        first_not_finite(plan_->buffers[buffer].dtype, memory_of(buffer), bound().bytes[buffer]);
    if (!found.empty()) {
      fail(ErrorKind::numeric, fmt::format("the first number that is not finite: {} in {}", found,
                                           plan_->buffers[buffer].name));
    }
  }
}

}  // namespace trireme::runtime
