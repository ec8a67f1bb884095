#include "runtime/control.h"

#include <fmt/core.h>

#include <cstring>

#include "base/error.h"
#include "base/philox.h"
#include "runtime/block.h"
#include "runtime/recurrence.h"

namespace trireme::runtime {

namespace {

using Kind = plan::Control::Kind;

class Cond : public runtime::Control {
 public:
  Cond(const plan::Plan& plan, const plan::Step& step, device::Device& device,
       const ExecutorOptions& options)
      : buffers_(plan, step),
        yes_(plan, step.control.blocks[0], device, options),
        no_(plan, step.control.blocks[1], device, options) {}

  void run(const BoundPlan& outer, void* const* arguments, std::uint64_t seed) override {
    Block& block = *static_cast<const bool*>(arguments[0]) ? yes_ : no_;
    for (std::size_t i = 0; i < buffers_.arguments; ++i) {
      block.set_argument(i, arguments[buffers_.extra + i]);
    }
    for (std::size_t i = 0; i < buffers_.results; ++i) {
      block.set_result(i, arguments[buffers_.extra + buffers_.arguments + i]);
    }
    block.frame().place(block.sizes_from(outer));
    block.frame().run(seed);
  }

 private:
  StepBuffers buffers_;
  Block yes_, no_;
};

// Values that one run of a block hands to the next: two states each, which change places.
class Carried {
 public:
  Carried(const StepBuffers& buffers, device::Device& device) : buffers_(buffers) {
    for (int i = 0; i < buffers.step.control.carried; ++i) {
      now_.emplace_back(device);
      next_.emplace_back(device);
    }
  }

  void begin(const BoundPlan& outer, void* const* arguments) {
    at_.assign(now_.size(), nullptr);
    to_.assign(now_.size(), nullptr);
    for (std::size_t i = 0; i < now_.size(); ++i) {
      const std::int64_t bytes = bytes_of(outer, i);
      now_[i].ensure(bytes);
      next_[i].ensure(bytes);
      at_[i] = static_cast<const char*>(arguments[buffers_.extra + i]);
      to_[i] = now_[i].get();
    }
  }
  const char* at(std::size_t i) const { return at_[i]; }
  char* to(std::size_t i) const { return to_[i]; }
  std::size_t count() const { return now_.size(); }

  void advance() {
    for (std::size_t i = 0; i < now_.size(); ++i) {
      at_[i] = to_[i];
      to_[i] = to_[i] == now_[i].get() ? next_[i].get() : now_[i].get();
    }
  }

  void end(const BoundPlan& outer, void* const* arguments) const {
    for (std::size_t i = 0; i < now_.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(bytes_of(outer, i));
      void* result = arguments[buffers_.extra + buffers_.arguments + i];
      if (bytes > 0) std::memcpy(result, at_[i], bytes);
    }
  }

 private:
  std::int64_t bytes_of(const BoundPlan& outer, std::size_t i) const {
    return outer.bytes[static_cast<std::size_t>(buffers_.argument(i))];
  }

  const StepBuffers& buffers_;
  std::vector<Memory> now_, next_;
  std::vector<const char*> at_;
  std::vector<char*> to_;
};

class WhileLoop : public runtime::Control {
 public:
  WhileLoop(const plan::Plan& plan, const plan::Step& step, device::Device& device,
            const ExecutorOptions& options)
      : buffers_(plan, step),
        condition_(plan, step.control.blocks[0], device, options),
        body_(plan, step.control.blocks[1], device, options),
        carried_(buffers_, device) {}

  void run(const BoundPlan& outer, void* const* arguments, std::uint64_t seed) override {
    bool more = false;
    condition_.set_result(0, &more);
    for (std::size_t i = carried_.count(); i < buffers_.arguments; ++i) {
      condition_.set_argument(i, arguments[i]);
      body_.set_argument(i, arguments[i]);
    }
    carried_.begin(outer, arguments);
    const Sizes of_condition = condition_.sizes_from(outer), of_body = body_.sizes_from(outer);
    std::int64_t steps = 0;
    for (;; ++steps) {
      const std::uint64_t own = seed_of_run(seed, static_cast<std::uint64_t>(steps));
      for (std::size_t i = 0; i < carried_.count(); ++i) {
        condition_.set_argument(i, carried_.at(i));
        body_.set_argument(i, carried_.at(i));
        body_.set_result(i, carried_.to(i));
      }
      condition_.frame().place(of_condition);
      condition_.frame().run(own);
      if (!more) break;
      if (steps == buffers_.step.control.limit) {
        fail_data(
            fmt::format("while_loop: its condition still holds after {} steps, its limit\n  hint   "
                        "a loop that is "
                        "meant to run longer needs a larger limit",
                        steps));
      }
      body_.frame().place(of_body);
      body_.frame().run(own);
      carried_.advance();
    }
    carried_.end(outer, arguments);
    *static_cast<std::int64_t*>(arguments[buffers_.arguments + carried_.count()]) = steps;
  }

 private:
  StepBuffers buffers_;
  Block condition_, body_;
  Carried carried_;
};

class Scan : public runtime::Control {
 public:
  Scan(const plan::Plan& plan, const plan::Step& step, device::Device& device,
       const ExecutorOptions& options)
      : buffers_(plan, step),
        length_(step.control.length, plan.symbols),
        body_(plan, step.control.blocks[0], device, options),
        carried_(buffers_, device) {}

  void run(const BoundPlan& outer, void* const* arguments, std::uint64_t seed) override {
    const std::int64_t length = length_.evaluate(outer.current);
    const std::size_t carried = carried_.count();
    const auto sequences = static_cast<std::size_t>(buffers_.step.control.sequences);
    for (std::size_t i = carried + sequences; i < buffers_.arguments; ++i) {
      body_.set_argument(i, arguments[i]);
    }
    carried_.begin(outer, arguments);
    const Sizes sizes = body_.sizes_from(outer);
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int64_t at = buffers_.step.control.reverse ? length - 1 - t : t;
      for (std::size_t i = 0; i < carried; ++i) {
        body_.set_argument(i, carried_.at(i));
        body_.set_result(i, carried_.to(i));
      }
      for (std::size_t i = carried; i < carried + sequences; ++i) {
        body_.set_argument(i, row(outer, arguments, i, at, length));
      }
      for (std::size_t i = carried; i < buffers_.results; ++i) {
        body_.set_result(i, row(outer, arguments, buffers_.arguments + i, at, length));
      }
      body_.frame().place(sizes);
      body_.frame().run(seed_of_run(seed, static_cast<std::uint64_t>(at)));
      carried_.advance();
    }
    carried_.end(outer, arguments);
  }

 private:
  char* row(const BoundPlan& outer, void* const* arguments, std::size_t i, std::int64_t at,
            std::int64_t length) const {
    const std::int64_t bytes = outer.bytes[static_cast<std::size_t>(buffers_.step.buffers[i])];
    return static_cast<char*>(arguments[i]) + at * (bytes / length);
  }

  StepBuffers buffers_;
  FlatDim length_;
  Block body_;
  Carried carried_;
};

}  // namespace

std::unique_ptr<runtime::Control> make_control(const plan::Plan& plan, const plan::Step& step,
                                               device::Device& device,
                                               const ExecutorOptions& options) {
  switch (step.control.kind) {
    case Kind::cond: return std::make_unique<Cond>(plan, step, device, options);
    case Kind::while_loop: return std::make_unique<WhileLoop>(plan, step, device, options);
    case Kind::scan: return std::make_unique<Scan>(plan, step, device, options);
    case Kind::rnn: return make_recurrence(plan, step, device, options);
    case Kind::none: break;
  }
  fail_internal("plan: a step without blocks is run as one with blocks");
}

}  // namespace trireme::runtime
