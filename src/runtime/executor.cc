#include "runtime/executor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/bound.h"
#include "runtime/finite.h"

namespace trireme::runtime {

namespace {

constexpr std::size_t kMostBounds = 16;

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

struct Executor::State {
  State(std::shared_ptr<const plan::Plan> plan_, device::Device& device_, ExecutorOptions options_)
      : plan(std::move(plan_)), device(device_), options(options_) {
    plan::verify(*plan);
    external.assign(plan->buffers.size(), nullptr);
    find_externals();
    find_fetches();
    std::size_t most = 0;
    for (const plan::Step& step : plan->steps) most = std::max(most, step.buffers.size());
    thread_pointers.assign(static_cast<std::size_t>(device.threads()), std::vector<void*>(most));
  }
  ~State() { device.release(memory, static_cast<std::size_t>(memory_bytes)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  struct Named {
    std::string name;
    std::size_t buffer;
  };
  struct Fetch {
    std::size_t fetch;
    std::size_t buffer;
  };

  void find_externals();
  void find_fetches();

  Bound& bound_for(const SymbolSizes& sizes);
  void ensure_memory(const Bound& bound);
  template <class Pointer>
  void bind_named(const std::vector<Named>& wanted, const std::map<std::string, Pointer>& given,
                  const Bound& bound, const char* what);
  void bind_fetches(const Bindings& bindings, const Bound& bound);
  void* memory_of(const Bound& bound, std::size_t buffer) const;

  void run_steps(Bound& bound);
  void run_step(Bound& bound, const BoundStep& step);
  void run_with_scratch(const Bound& bound, const BoundStep& step);
  void record(const plan::Step& step, double start_us);
  void check(const Bound& bound, const plan::Step& step) const;

  std::shared_ptr<const plan::Plan> plan;
  device::Device& device;
  ExecutorOptions options;

  std::vector<Named> parameters, feeds;  // sorted by name
  std::vector<Fetch> direct;             // the kernels write into the caller's memory
  std::vector<Fetch> copied;             // copied there at the end
  std::vector<void*> external;           // memory of the roots outside the arena, in this run
  std::vector<std::vector<void*>> thread_pointers;  // arguments of a step with scratch, by thread

  std::vector<std::unique_ptr<Bound>> bounds;  // the one used last is first
  char* memory = nullptr;
  std::int64_t memory_bytes = 0;
};

void Executor::State::find_externals() {
  for (std::size_t i = 0; i < plan->buffers.size(); ++i) {
    const plan::Buffer& buffer = plan->buffers[i];
    if (buffer.alias_of >= 0) continue;
    if (buffer.kind == plan::BufferKind::parameter) parameters.push_back({buffer.name, i});
    if (buffer.kind == plan::BufferKind::feed) feeds.push_back({buffer.name, i});
  }
  const auto by_name = [](const Named& a, const Named& b) { return a.name < b.name; };
  std::sort(parameters.begin(), parameters.end(), by_name);
  std::sort(feeds.begin(), feeds.end(), by_name);
}

void Executor::State::find_fetches() {
  std::vector<bool> has_memory(plan->buffers.size(), false);
  for (std::size_t i = 0; i < plan->fetches.size(); ++i) {
    const auto buffer = static_cast<std::size_t>(plan->fetches[i]);
    const auto root = static_cast<std::size_t>(plan::root_of(*plan, plan->fetches[i]));
    if (plan->buffers[root].kind == plan::BufferKind::fetch && !has_memory[root]) {
      has_memory[root] = true;
      direct.push_back({i, root});
    } else {
      copied.push_back({i, buffer});
    }
  }
  for (std::size_t i = 0; i < plan->buffers.size(); ++i) {
    const plan::Buffer& buffer = plan->buffers[i];
    if (buffer.kind == plan::BufferKind::fetch && buffer.alias_of < 0 && !has_memory[i]) {
      fail_internal(
          fmt::format("plan: buffer {} ({}) is a fetch that nobody fetches", i, buffer.name));
    }
  }
}

Bound& Executor::State::bound_for(const SymbolSizes& sizes) {
  const auto found = std::find_if(bounds.begin(), bounds.end(),
                                  [&](const auto& bound) { return bound->symbols == sizes; });
  if (found != bounds.end()) {
    std::rotate(bounds.begin(), found, found + 1);
  } else {
    auto made = std::make_unique<Bound>(*plan, sizes, options.plan_memory, device.threads(),
                                        options.find_kernel);
    if (bounds.size() == kMostBounds) bounds.pop_back();
    bounds.insert(bounds.begin(), std::move(made));
  }
  return *bounds.front();
}

void Executor::State::ensure_memory(const Bound& bound) {
  const std::int64_t wanted = bound.placement.arena_bytes + bound.workspace_bytes;
  if (memory != nullptr && wanted <= memory_bytes) return;
  device.release(memory, static_cast<std::size_t>(memory_bytes));
  memory = nullptr;
  memory_bytes = 0;
  memory = static_cast<char*>(device.allocate(static_cast<std::size_t>(wanted)));
  memory_bytes = wanted;
}

// Both are sorted by name, so one walk finds all.
template <class Pointer>
void Executor::State::bind_named(const std::vector<Named>& wanted,
                                 const std::map<std::string, Pointer>& given, const Bound& bound,
                                 const char* what) {
  auto next = given.begin();
  for (const Named& named : wanted) {
    while (next != given.end() && next->first < named.name) ++next;
    if (next == given.end() || next->first != named.name) {
      fail_usage(fmt::format("the {} '{}' is missing from this run", what, named.name));
    }
    if (next->second == nullptr && bound.bytes[named.buffer] > 0) {
      fail_usage(fmt::format("the {} '{}' is null, but {} bytes long", what, named.name,
                             bound.bytes[named.buffer]));
    }
    external[named.buffer] = const_cast<void*>(static_cast<const void*>(next->second));
  }
}

void Executor::State::bind_fetches(const Bindings& bindings, const Bound& bound) {
  if (bindings.fetches.size() != plan->fetches.size()) {
    fail_usage(fmt::format("this Plan has {} fetches, and memory was given for {}",
                           plan->fetches.size(), bindings.fetches.size()));
  }
  for (std::size_t i = 0; i < bindings.fetches.size(); ++i) {
    const auto buffer = static_cast<std::size_t>(plan->fetches[i]);
    if (bindings.fetches[i] == nullptr && bound.bytes[buffer] > 0) {
      fail_usage(
          fmt::format("no memory was given for fetch {}, {}", i, plan->buffers[buffer].name));
    }
  }
  for (const Fetch& fetch : direct) external[fetch.buffer] = bindings.fetches[fetch.fetch];
}

void* Executor::State::memory_of(const Bound& bound, std::size_t buffer) const {
  const std::int64_t offset = bound.placement.offsets[buffer];
  if (offset >= 0) return memory + offset;
  return external[static_cast<std::size_t>(plan::root_of(*plan, static_cast<int>(buffer)))];
}

void Executor::State::run_step(Bound& bound, const BoundStep& step) {
  void** arguments = bound.pointers.data() + step.pointers;
  if (step.library != nullptr) {
    step.library->run(arguments, memory + bound.placement.arena_bytes, device);
    return;
  }
  if (step.trip == 0) return;
  const std::int64_t* sizes = bound.sizes.data() + step.sizes;
  if (!step.parallel) {
    (*step.kernel)(arguments, sizes, 0, step.trip);
  } else if (!step.scratch.empty()) {
    run_with_scratch(bound, step);
  } else {
    device.run(step.trip, step.grain, true, [&](std::int64_t begin, std::int64_t end, int) {
      (*step.kernel)(arguments, sizes, begin, end);
    });
  }
}

void Executor::State::run_with_scratch(const Bound& bound, const BoundStep& step) {
  void* const* arguments = bound.pointers.data() + step.pointers;
  const std::int64_t* sizes = bound.sizes.data() + step.sizes;
  char* workspace = memory + bound.placement.arena_bytes;
  for (std::size_t t = 0; t < thread_pointers.size(); ++t) {
    std::vector<void*>& own = thread_pointers[t];
    std::copy_n(arguments, step.arguments, own.begin());
    char* part = workspace + static_cast<std::int64_t>(t) * step.scratch_bytes;
    for (const BoundStep::Scratch& scratch : step.scratch) {
      own[scratch.position] = part + scratch.offset;
    }
  }
  device.run(step.trip, step.grain, true, [&](std::int64_t begin, std::int64_t end, int thread) {
    (*step.kernel)(thread_pointers[static_cast<std::size_t>(thread)].data(), sizes, begin, end);
  });
}

void Executor::State::run_steps(Bound& bound) {
  std::size_t i = 0;
  try {
    for (; i < bound.steps.size(); ++i) {
      if (options.profiler != nullptr) {
        const double start = options.profiler->now_us();
        run_step(bound, bound.steps[i]);
        record(plan->steps[i], start);
      } else {
        run_step(bound, bound.steps[i]);
      }
      if (options.check_finite) check(bound, plan->steps[i]);
    }
  } catch (const Error& error) {
    fail(error.kind(), fmt::format("{}\n  {}", error.what(), where(plan->steps[i])));
  }
}

void Executor::State::record(const plan::Step& step, double start_us) {
  const double end_us = options.profiler->now_us();
  const std::string& kernel = step.kernel >= 0
                                  ? plan->kernels[static_cast<std::size_t>(step.kernel)].name
                                  : step.library.kernel;
  options.profiler->record({step.name, kernel, layer_of(step), start_us, end_us - start_us});
}

void Executor::State::check(const Bound& bound, const plan::Step& step) const {
  for (const int write : step.writes) {
    const auto buffer = static_cast<std::size_t>(write);
    const std::string found = first_not_finite(plan->buffers[buffer].dtype,
                                               memory_of(bound, buffer), bound.bytes[buffer]);
    if (!found.empty()) {
      fail(ErrorKind::numeric, fmt::format("the first number that is not finite: {} in {}", found,
                                           plan->buffers[buffer].name));
    }
  }
}

Executor::Executor(std::shared_ptr<const plan::Plan> plan, device::Device& device,
                   ExecutorOptions options)
    : state_(std::make_unique<State>(std::move(plan), device, options)) {}

Executor::~Executor() = default;

void Executor::run(const SymbolSizes& sizes, const Bindings& bindings) {
  State& s = *state_;
  Bound& bound = s.bound_for(sizes);
  s.bind_named(s.parameters, bindings.parameters, bound, "parameter");
  s.bind_named(s.feeds, bindings.feeds, bound, "feed");
  s.bind_fetches(bindings, bound);
  s.ensure_memory(bound);
  bound.settle(*s.plan, s.memory);
  for (const Bound::External& e : bound.externals) bound.pointers[e.pointer] = s.external[e.root];
  for (const std::size_t place : bound.seeds) {
    bound.sizes[place] = static_cast<std::int64_t>(bindings.seed);
  }
  s.run_steps(bound);
  for (const State::Fetch& fetch : s.copied) {
    const auto bytes = static_cast<std::size_t>(bound.bytes[fetch.buffer]);
    if (bytes > 0) {
      std::memcpy(bindings.fetches[fetch.fetch], s.memory_of(bound, fetch.buffer), bytes);
    }
  }
}

const plan::Plan& Executor::plan() const { return *state_->plan; }

std::int64_t Executor::arena_bytes() const {
  return state_->bounds.empty() ? 0 : state_->bounds.front()->placement.arena_bytes;
}

std::int64_t Executor::workspace_bytes() const {
  return state_->bounds.empty() ? 0 : state_->bounds.front()->workspace_bytes;
}

}  // namespace trireme::runtime
