#include "distributed/server/steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {

std::vector<Answer> Steps::begin(std::uint32_t generation, int members) {
  generation_ = generation;
  finished_.assign(static_cast<std::size_t>(members), 0);
  first_ = 0;
  examples_.clear();
  std::vector<Answer> answers;
  for (Waiting& waiting : std::exchange(waiting_, {})) answers.push_back(std::move(waiting.answer));
  return answers;
}

void Steps::check(std::uint64_t step, std::uint64_t applied) const {
  constexpr std::uint64_t kBehind = 1024, kLast = std::uint64_t{1} << 48;
  std::uint64_t max = applied == 0 ? kLast : applied + kBehind;
  if (first_ != 0) max = std::max(finished_by_all(), first_ - 1) + 1;
  if (step > max) {
    fail_usage(fmt::format("a member has finished step {}, but no member can be beyond step {}",
                           step, max));
  }
}

void Steps::finish(std::uint32_t rank, std::uint64_t step, std::uint32_t examples, Answer answer) {
  constexpr std::uint64_t kKept = 8;
  if (first_ == 0) first_ = step;
  examples_[step][rank] = examples;
  const std::uint64_t all = finished_by_all();
  std::erase_if(examples_, [&](const auto& each) { return each.first + kKept <= all; });
  std::uint64_t& finished = finished_.at(rank);
  finished = std::max(finished, step);
  // A member that asks again no longer waits for the first answer.
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.rank == rank; });
  waiting_.push_back({rank, step, std::move(answer)});
}

std::uint64_t Steps::finished_by_all() const {
  return finished_.empty() ? 0 : *std::min_element(finished_.begin(), finished_.end());
}

std::uint32_t Steps::first_unfinished(std::uint64_t step) const {
  const auto found = std::find_if(finished_.begin(), finished_.end(),
                                  [&](std::uint64_t finished) { return finished < step; });
  return static_cast<std::uint32_t>(found - finished_.begin());
}

std::uint64_t Steps::examples(std::uint64_t step) const {
  const auto found = examples_.find(step);
  std::uint64_t sum = 0;
  if (found != examples_.end()) {
    for (const auto& [rank, examples] : found->second) sum += examples;
  }
  return sum;
}

std::vector<Answer> Steps::take_ready() {
  const std::uint64_t all = finished_by_all();
  std::vector<Answer> ready;
  for (Waiting& waiting : waiting_) {
    if (waiting.step <= all) ready.push_back(std::move(waiting.answer));
  }
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.step <= all; });
  return ready;
}

}  // namespace trireme::distributed
