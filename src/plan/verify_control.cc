#include "plan/verify_control.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace trireme::plan {
namespace {

using Kind = Control::Kind;

std::vector<int> feeds_of(const Plan& plan) {
  std::vector<int> feeds;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind == BufferKind::feed && buffer.alias_of < 0)
      feeds.push_back(static_cast<int>(i));
  }
  return feeds;
}

bool is_one(const Buffer& buffer, DType dtype) {
  return buffer.dtype == dtype && product(buffer.shape) == Dim(1);
}

class ControlVerifier {
 public:
  ControlVerifier(const Plan& plan, const Step& step)
      : plan_(plan), step_(step), control_(step.control) {}

  void run() {
    check_counts();
    for (const Nested& nested : control_.blocks) check_arguments(nested);
    const Plan& last = *control_.blocks.back().plan;
    for (std::size_t i = 0; i < last.fetches.size(); ++i) check_result(last, i);
    if (control_.kind == Kind::cond) {
      const Plan& first = *control_.blocks.front().plan;
      for (std::size_t i = 0; i < first.fetches.size(); ++i) check_result(first, i);
    }
    check_own_buffers();
    if (control_.kind == Kind::rnn) check_sizes();
  }

 private:
  void require(bool holds, const std::string& what) const {
    if (!holds) fail_internal(fmt::format("plan: step '{}': {}", step_.name, what));
  }
  const Buffer& outer(std::size_t position) const {
    const int index = step_.buffers[position];
    require(index >= 0, "a buffer of it is scratch");
    return plan_.buffers[static_cast<std::size_t>(index)];
  }
  const Buffer& argument(std::size_t i) const { return outer(extra_ + i); }
  const Buffer& result(std::size_t i) const { return outer(extra_ + arguments_ + i); }

  void check_counts() {
    const bool two = control_.kind == Kind::cond || control_.kind == Kind::while_loop;
    require(control_.blocks.size() == (two ? 2U : 1U), "it has another number of blocks");
    for (const Nested& nested : control_.blocks) {
      require(nested.plan != nullptr, "a block has no plan");
    }
    const bool has_extra = control_.kind == Kind::cond || control_.kind == Kind::rnn;
    require(control_.extra == (has_extra ? 1 : 0), "another number of buffers is for itself");
    require(control_.carried >= 0 && control_.sequences >= 0, "it carries fewer values than none");
    extra_ = static_cast<std::size_t>(control_.extra);
    const std::size_t fetches = control_.blocks.back().plan->fetches.size();
    const auto carried = static_cast<std::size_t>(control_.carried);
    const std::size_t results = fetches + (control_.kind == Kind::while_loop ? 1 : 0);
    require(step_.buffers.size() >= extra_ + results, "it has fewer buffers than results");
    arguments_ = step_.buffers.size() - extra_ - results;
    require(
        arguments_ >= carried + static_cast<std::size_t>(control_.sequences) && fetches >= carried,
        "it carries more values than it has");
    if (control_.kind == Kind::cond) {
      require(control_.blocks[0].plan->fetches.size() == fetches,
              "its blocks have different numbers of results");
    }
    if (control_.kind == Kind::while_loop) {
      const Plan& condition = *control_.blocks[0].plan;
      require(fetches == carried && condition.fetches.size() == 1 &&
                  is_one(fetched(condition, 0), DType::boolean),
              "it has no condition, or another number of results than of carried values");
    }
    if (control_.kind == Kind::rnn) {
      require(control_.argument_rows.size() == arguments_ && control_.result_rows.size() == fetches,
              "it does not say what the rows of its buffers are");
    }
  }

  void check_own_buffers() const {
    if (control_.kind == Kind::cond) {
      require(is_one(outer(0), DType::boolean), "its condition is no boolean");
    }
    if (control_.kind == Kind::while_loop) {
      require(is_one(outer(step_.buffers.size() - 1), DType::i64),
              "its count of runs is no number");
    }
    if (control_.kind == Kind::rnn) require(is_list(outer(0)), "its counts are no list of numbers");
  }

  static const Buffer& fetched(const Plan& plan, std::size_t i) {
    return plan.buffers[static_cast<std::size_t>(plan.fetches[i])];
  }
  static bool is_list(const Buffer& buffer) {
    return buffer.dtype == DType::i64 && buffer.shape.size() == 1;
  }

  void check_arguments(const Nested& nested) const {
    const std::vector<int> feeds = feeds_of(*nested.plan);
    require(feeds.size() == nested.arguments.size(), "a block is fed another number of values");
    for (const Buffer& buffer : nested.plan->buffers) {
      require(buffer.kind != BufferKind::parameter, "a block reads a parameter");
    }
    for (std::size_t k = 0; k < feeds.size(); ++k) {
      const int i = nested.arguments[k];
      require(i >= 0 && i < static_cast<int>(arguments_), "a block is fed what is no argument");
      const auto at = static_cast<std::size_t>(i);
      check_form(argument(at), nested.plan->buffers[static_cast<std::size_t>(feeds[k])],
                 is_sequence(at), control_.kind == Kind::rnn ? control_.argument_rows[at] : -1);
    }
  }

  void check_result(const Plan& block, std::size_t i) const {
    const bool stacked = i >= static_cast<std::size_t>(control_.carried);
    const int rows = control_.kind == Kind::rnn ? control_.result_rows[i] : -1;
    if (control_.kind == Kind::rnn && stacked) require(rows >= 0, "a result of it has no rows");
    check_form(result(i), fetched(block, i), control_.kind == Kind::scan && stacked, rows);
    if (i >= static_cast<std::size_t>(control_.carried) || control_.kind == Kind::cond) return;
    require(argument(i).dtype == result(i).dtype && argument(i).shape == result(i).shape,
            "what it carries ends in another form than it began with");
  }

  bool is_sequence(std::size_t i) const {
    const auto first = static_cast<std::size_t>(control_.carried);
    return i >= first && i < first + static_cast<std::size_t>(control_.sequences);
  }

  // Checks the part of a buffer that one run of a block gets: the whole buffer, one element of the
  // sequence of a scan, or some rows.
  void check_form(const Buffer& whole, const Buffer& part, bool sequence, int rows) const {
    Shape wanted = whole.shape, has = part.shape;
    if (control_.kind == Kind::scan && sequence) {
      require(!wanted.empty() && wanted[0] == control_.length, "a sequence has another length");
      wanted.erase(wanted.begin());
    } else if (rows >= 0) {
      require(!wanted.empty() && !has.empty(), "what should have rows has none");
      wanted.erase(wanted.begin());
      has.erase(has.begin());
    }
    require(whole.dtype == part.dtype && wanted == has,
            fmt::format("{} is {}{} for a block, and {}{}", whole.name, name_of(part.dtype),
                        str(part.shape), name_of(whole.dtype), str(whole.shape)));
  }

  void check_sizes() const {
    const int count = static_cast<int>(control_.sizes.size());
    const auto in_range = [&](int rows) { return rows >= -1 && rows < count; };
    require(std::all_of(control_.argument_rows.begin(), control_.argument_rows.end(), in_range) &&
                std::all_of(control_.result_rows.begin(), control_.result_rows.end(), in_range),
            "rows have a size that does not exist");
    for (int i = 0; i < count; ++i) {
      const Control::Size& size = control_.sizes[static_cast<std::size_t>(i)];
      if (size.splits == -1) continue;
      require(size.of >= 0 && size.of < i, "a size splits none of those before it");
      require(size.splits >= 0 && size.splits < static_cast<int>(arguments_),
              "a size is that of no argument");
      require(is_list(argument(static_cast<std::size_t>(size.splits))), "splits are no numbers");
    }
  }

  const Plan& plan_;
  const Step& step_;
  const Control& control_;
  std::size_t extra_ = 0, arguments_ = 0;
};

}  // namespace

void verify_control(const Plan& plan, const Step& step) { ControlVerifier(plan, step).run(); }

}  // namespace trireme::plan
