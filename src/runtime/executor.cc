#include "runtime/executor.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/frame.h"

namespace trireme::runtime {

struct Executor::State {
  State(std::shared_ptr<const plan::Plan> plan, device::Device& device, ExecutorOptions options)
      : frame((plan::verify(*plan), std::move(plan)), device, options),
        defined(plan::defined_symbols(frame.plan())) {
    const std::vector<plan::Buffer>& buffers = frame.plan().buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].alias_of >= 0) continue;
      if (buffers[i].kind == plan::BufferKind::parameter)
        parameters.push_back({buffers[i].name, i});
      if (buffers[i].kind == plan::BufferKind::feed) feeds.push_back({buffers[i].name, i});
    }
    const auto by_name = [](const Named& a, const Named& b) { return a.name < b.name; };
    std::sort(parameters.begin(), parameters.end(), by_name);
    std::sort(feeds.begin(), feeds.end(), by_name);
  }

  struct Named {
    std::string name;
    std::size_t buffer;
  };

  Sizes sizes_from(const SymbolSizes& given) const;
  template <class Pointer>
  void bind_named(const std::vector<Named>& wanted, const std::map<std::string, Pointer>& given,
                  const char* what);
  void bind_fetches(const Bindings& bindings);

  Frame frame;
  std::vector<std::string> defined;      // symbols whose sizes the run tells
  std::vector<Named> parameters, feeds;  // sorted by name
};

Sizes Executor::State::sizes_from(const SymbolSizes& given) const {
  Sizes sizes;
  for (const std::string& symbol : frame.plan().symbols) {
    const auto found = given.find(symbol);
    const bool later = std::find(defined.begin(), defined.end(), symbol) != defined.end();
    if (found == given.end() && !later) {
      fail_usage(fmt::format("the size of \"{}\" is missing from this run", symbol));
    }
    sizes.push_back(later ? 0 : found->second);
  }
  return sizes;
}

// Both are sorted by name, so one walk finds all.
template <class Pointer>
void Executor::State::bind_named(const std::vector<Named>& wanted,
                                 const std::map<std::string, Pointer>& given, const char* what) {
  auto next = given.begin();
  for (const Named& named : wanted) {
    while (next != given.end() && next->first < named.name) ++next;
    if (next == given.end() || next->first != named.name) {
      fail_usage(fmt::format("the {} '{}' is missing from this run", what, named.name));
    }
    const std::int64_t bytes = frame.bound().bytes[named.buffer];
    if (next->second == nullptr && bytes > 0) {
      fail_usage(fmt::format("the {} '{}' is null, but {} bytes long", what, named.name, bytes));
    }
    frame.set(static_cast<int>(named.buffer), next->second);
  }
}

void Executor::State::bind_fetches(const Bindings& bindings) {
  const plan::Plan& plan = frame.plan();
  if (bindings.fetches.size() != plan.fetches.size()) {
    fail_usage(fmt::format("this Plan has {} fetches, and memory was given for {}",
                           plan.fetches.size(), bindings.fetches.size()));
  }
  for (std::size_t i = 0; i < bindings.fetches.size(); ++i) {
    const auto buffer = static_cast<std::size_t>(plan.fetches[i]);
    const bool later = plan.buffers[buffer].kind == plan::BufferKind::own;
    if (bindings.fetches[i] == nullptr && !later && frame.bound().bytes[buffer] > 0) {
      fail_usage(fmt::format("no memory was given for fetch {}, {}", i, plan.buffers[buffer].name));
    }
    frame.set_fetch(i, later ? nullptr : bindings.fetches[i]);
  }
}

Executor::Executor(std::shared_ptr<const plan::Plan> plan, device::Device& device,
                   ExecutorOptions options)
    : state_(std::make_unique<State>(std::move(plan), device, options)) {}

Executor::~Executor() = default;

void Executor::run(const SymbolSizes& sizes, const Bindings& bindings) {
  State& s = *state_;
  s.frame.place(s.sizes_from(sizes));
  s.bind_named(s.parameters, bindings.parameters, "parameter");
  s.bind_named(s.feeds, bindings.feeds, "feed");
  s.bind_fetches(bindings);
  s.frame.run(bindings.seed);
}

std::vector<std::int64_t> Executor::shape_of_fetch(std::size_t i) const {
  const plan::Plan& plan = state_->frame.plan();
  SymbolSizes sizes;
  for (std::size_t k = 0; k < plan.symbols.size(); ++k) {
    sizes[plan.symbols[k]] = state_->frame.bound().current[k];
  }
  return evaluate(plan.buffers[static_cast<std::size_t>(plan.fetches[i])].shape, sizes);
}

const void* Executor::memory_of_fetch(std::size_t i) const {
  return state_->frame.memory_of(static_cast<std::size_t>(state_->frame.plan().fetches[i]));
}

const plan::Plan& Executor::plan() const { return state_->frame.plan(); }

std::int64_t Executor::arena_bytes() const {
  return state_->frame.placed() ? state_->frame.bound().placement.arena_bytes : 0;
}

std::int64_t Executor::workspace_bytes() const {
  return state_->frame.placed() ? state_->frame.bound().workspace_bytes : 0;
}

}  // namespace trireme::runtime
