// What every Plan promises; a Plan that breaks it is a mistake of the compiler.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "plan/plan.h"
#include "plan/verify_control.h"

namespace trireme::plan {

namespace {

class Verifier {
 public:
  explicit Verifier(const Plan& plan)
      : plan_(plan), written_(plan.buffers.size(), false), lives_(plan.buffers.size()) {}

  void run() {
    check_buffers();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) check_step(static_cast<int>(i));
    check_fetches();
  }

 private:
  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<std::size_t>(index)]; }
  std::string label(int index) const {
    return fmt::format("buffer {} ({})", index, buffer(index).name);
  }
  std::string label(const Step& step) const { return fmt::format("step '{}'", step.name); }

  void require_buffer(int index, const std::string& where) const {
    if (index < 0 || index >= static_cast<int>(plan_.buffers.size())) {
      fail_internal(
          fmt::format("plan: {} names buffer {} of {}", where, index, plan_.buffers.size()));
    }
  }

  void check_buffers() {
    for (int i = 0; i < static_cast<int>(plan_.buffers.size()); ++i) {
      const Buffer& b = buffer(i);
      const int root = root_of(plan_, i);
      if ((b.kind == BufferKind::parameter || b.kind == BufferKind::feed) && root == i) {
        written_[static_cast<std::size_t>(i)] = true;
        if (b.name.empty()) fail_internal(fmt::format("plan: {} has no name", label(i)));
      }
      if ((b.first_step < 0) != (b.last_step < 0) || b.first_step > b.last_step ||
          b.last_step >= static_cast<int>(plan_.steps.size())) {
        fail_internal(fmt::format("plan: {} lives from step {} to {} of {}", label(i), b.first_step,
                                  b.last_step, plan_.steps.size()));
      }
      Life& life = lives_[static_cast<std::size_t>(root)];
      if (b.first_step >= 0) {
        life.first = life.first < 0 ? b.first_step : std::min(life.first, b.first_step);
        life.last = std::max(life.last, b.last_step);
      }
    }
  }

  void check_step(int index) {
    const Step& step = plan_.steps[static_cast<std::size_t>(index)];
    check_what_runs(step, index);
    for (const int i : step.reads) check_use(step, index, i);
    for (const int i : step.reads) {
      if (!written_[static_cast<std::size_t>(root_of(plan_, i))]) {
        fail_internal(fmt::format("plan: {} reads {} before it is written", label(step), label(i)));
      }
    }
    for (const int i : step.writes) {
      check_use(step, index, i);
      const int root = root_of(plan_, i);
      if (buffer(root).kind == BufferKind::feed) {
        fail_internal(fmt::format("plan: {} writes the feed {}", label(step), label(root)));
      }
      written_[static_cast<std::size_t>(root)] = true;
    }
  }

  void check_what_runs(const Step& step, int index) const {
    const bool is_control = step.control.kind != Control::Kind::none;
    const bool is_library = !step.library.kernel.empty() || is_control;
    if (is_library == (step.kernel >= 0) || (is_control && !step.library.kernel.empty())) {
      fail_internal(
          fmt::format("plan: {} must have a kernel or a library call, or blocks", label(step)));
    }
    if (step.kernel >= static_cast<int>(plan_.kernels.size())) {
      fail_internal(fmt::format("plan: {} names kernel {} of {}", label(step), step.kernel,
                                plan_.kernels.size()));
    }
    for (std::size_t i = 0; i < step.buffers.size(); ++i) {
      const int b = step.buffers[i];
      const bool is_scratch =
          std::any_of(step.scratch.begin(), step.scratch.end(),
                      [&](const Step::Scratch& s) { return s.buffer == static_cast<int>(i); });
      if (is_scratch != (b == -1) || (is_scratch && is_library)) {
        fail_internal(fmt::format("plan: buffer position {} of {} is {}", i, label(step),
                                  is_scratch ? "scratch and a buffer" : "neither"));
      }
      if (b == -1) continue;
      require_buffer(b, label(step));
      check_alive(step, index, b);
    }
    if (is_control) {
      for (const Nested& nested : step.control.blocks) {
        if (nested.plan != nullptr) verify(*nested.plan);
      }
      verify_control(plan_, step);
    }
    check_defines(step);
    for (const Step::Scratch& s : step.scratch) {
      if (s.buffer < 0 || s.buffer >= static_cast<int>(step.buffers.size())) {
        fail_internal(fmt::format("plan: {} has scratch at position {} of {}", label(step),
                                  s.buffer, step.buffers.size()));
      }
    }
  }

  void check_defines(const Step& step) const {
    if (step.defines.empty()) return;
    const int last = step.buffers.empty() ? -1 : step.buffers.back();
    if (last < 0 || buffer(last).dtype != DType::i64 || buffer(last).shape.size() != 1) {
      fail_internal(fmt::format("plan: {} defines {} by what is no list of numbers", label(step),
                                step.defines));
    }
  }

  void check_use(const Step& step, int index, int i) const {
    require_buffer(i, label(step));
    // A result may be written under the name of the storage that it shares.
    const auto is_same = [&](int b) { return b == i || b == root_of(plan_, i); };
    if (std::none_of(step.buffers.begin(), step.buffers.end(), is_same)) {
      fail_internal(fmt::format("plan: {} touches {}, which is not an argument of it", label(step),
                                label(i)));
    }
    check_alive(step, index, i);
  }

  void check_alive(const Step& step, int index, int i) const {
    const int root = root_of(plan_, i);
    if (buffer(root).kind != BufferKind::arena) return;
    const Life& life = lives_[static_cast<std::size_t>(root)];
    if (index < life.first || index > life.last) {
      fail_internal(fmt::format("plan: {}, number {}, touches {}, which lives from {} to {}",
                                label(step), index, label(i), life.first, life.last));
    }
  }

  void check_fetches() const {
    for (std::size_t i = 0; i < plan_.fetches.size(); ++i) {
      const int b = plan_.fetches[i];
      require_buffer(b, fmt::format("fetch {}", i));
      const int root = root_of(plan_, b);
      if (!written_[static_cast<std::size_t>(root)]) {
        fail_internal(fmt::format("plan: fetch {}, {}, is never written", i, label(b)));
      }
      if (buffer(root).kind == BufferKind::arena &&
          lives_[static_cast<std::size_t>(root)].last + 1 != static_cast<int>(plan_.steps.size())) {
        fail_internal(fmt::format("plan: fetch {}, {}, dies at step {}", i, label(b),
                                  lives_[static_cast<std::size_t>(root)].last));
      }
    }
  }

  struct Life {
    int first = -1, last = -1;
  };

  const Plan& plan_;
  std::vector<bool> written_;  // by root
  std::vector<Life> lives_;    // by root: of all that share its storage
};

}  // namespace

void verify(const Plan& plan) { Verifier(plan).run(); }

}  // namespace trireme::plan
