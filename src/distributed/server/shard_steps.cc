// Dense parameters, and steps that wait for all members.

#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "base/error.h"
#include "distributed/server/shard_parts.h"
#include "distributed/table/no_space.h"
#include "distributed/table/rules.h"

namespace trireme::distributed {
namespace {

void scale_all(std::vector<float>& values, float scale) {
  if (scale == 1) return;
  for (float& value : values) value *= scale;
}

}  // namespace

std::shared_ptr<DenseBlock> Shard::block_of(const Header& header) const {
  const auto dense = dense_.find(header.table);
  if (dense == dense_.end()) return nullptr;
  const auto block = dense->second->blocks.find(header.count);
  return block == dense->second->blocks.end() ? nullptr : block->second;
}

Frame Shard::dense_pull(const Frame& request) {
  const auto block = block_of(request.header);
  if (block == nullptr) return answer_to(request, Code::wrong_map);
  Frame answer = answer_to(request);
  block->pull(answer.payload.extend<float>(block->size()));
  ++counters_->lookups;
  return answer;
}

Frame Shard::dense_push(const Frame& request) {
  const Header& header = request.header;
  const auto block = block_of(header);
  if (block == nullptr) return answer_to(request, Code::wrong_map);
  thread_local std::vector<float> scratch;
  PayloadReader reader(request.payload);
  const auto numbers = reader.value<StepNumbers>();
  const std::span<const float> gradient = reader.values(block->size(), scratch);
  reader.end();
  const bool delta = (header.flags & kDelta) != 0;
  if (!delta) check_numbers(numbers);
  if (delta != (block->mode() == Mode::geo)) {
    fail_usage(fmt::format("dense parameter {} is {}", header.table, name_of(block->mode())));
  }
  ++counters_->pushes;
  if (block->mode() == Mode::synchronous) return hold_dense(request, gradient, numbers);
  if (outdated(header)) return answer_to(request, Code::stale);
  const Source source{(header.flags & kOfTask) != 0 ? Source::Kind::task : Source::Kind::sender,
                      header.sender};
  const bool applied = block->push(
      source, header.sequence, [&] { return is_over(source, header.sequence); }, gradient,
      {numbers.rate, numbers.step}, delta);
  return answer_to(request, applied ? Code::ok : Code::duplicate);
}

// For requests that are applied at once: a given generation must be the current one. It ends when
// servers return to a checkpoint, so that requests in flight are not applied to the wrong state.
bool Shard::outdated(const Header& header) const {
  const std::lock_guard lock(steps_mutex_);
  return header.generation != 0 && header.generation != steps_.generation();
}

bool Shard::stale(const Header& header) const {
  if (header.generation != steps_.generation() || steps_.members() == 0) return true;
  if (header.sender >= static_cast<std::uint32_t>(steps_.members())) {
    fail_usage(
        fmt::format("rank {} of a generation with {} members", header.sender, steps_.members()));
  }
  if (header.sequence == 0) fail_usage("steps count from 1");
  return false;
}

Frame Shard::hold_dense(const Frame& request, std::span<const float> gradient,
                        const StepNumbers& numbers) {
  const Header& header = request.header;
  const std::lock_guard lock(steps_mutex_);
  if (stale(header)) return answer_to(request, Code::stale);
  if (block_of(header)->step() >= header.sequence) return answer_to(request, Code::duplicate);
  if (held_bytes_ + gradient.size_bytes() > options_.held_bytes)
    return answer_to(request, Code::busy);
  Held& held = held_[header.sequence];
  const std::tuple key(header.table, header.count, header.sender);
  if (held.blocks.contains(key)) return answer_to(request, Code::duplicate);
  held.blocks.emplace(key, Held::Block{numbers, {gradient.begin(), gradient.end()}});
  held.bytes += gradient.size_bytes();
  held_bytes_ += gradient.size_bytes();
  return answer_to(request);
}

void Shard::finish_step(const Frame& request, Answer& answer) {
  PayloadReader reader(request.payload);
  const auto examples = reader.value<std::uint64_t>();
  reader.end();
  std::vector<Answer> ready;
  Frame told;
  bool late = false;
  {
    const auto lock = shared();
    const std::lock_guard steps_lock(steps_mutex_);
    late = stale(request.header);
    if (!late) steps_.check(request.header.sequence, applied_);
    told = answer_to(request, late ? Code::stale : Code::ok);
    if (!late) {
      answer.put_aside();
      steps_.finish(request.header.sender, request.header.sequence,
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(examples, UINT32_MAX)),
                    std::move(answer));
      told.header.code = try_to_apply_steps();
      ready = steps_.take_ready();
      told.header.sequence = steps_.finished_by_all();
      told.header.count = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(steps_.examples(told.header.sequence), UINT32_MAX));
    }
  }
  for (Answer& each : ready) give(each, told);
  if (late) give(answer, std::move(told));
}

void Shard::check() const {
  const std::lock_guard lock(steps_mutex_);
  if (failure_) throw Error(*failure_);
}

// Without space on disk they are tried again when the members repeat the request.
Code Shard::try_to_apply_steps() {
  try {
    apply_steps();
    return Code::ok;
  } catch (const NoSpace& error) {
    const std::lock_guard full_lock(full_mutex_);
    full_ = error.what();
    return Code::no_space;
  } catch (const Error& error) {
    failure_.emplace(error);
  } catch (const std::bad_alloc&) {
    failure_.emplace(ErrorKind::io, "there is no memory left to apply a step");
  }
  broken_ = true;
  return Code::busy;
}

void Shard::apply_steps() {
  const std::uint64_t all = steps_.finished_by_all();
  for (std::uint64_t step = std::max(applied_ + 1, all > 8 ? all - 7 : 1); step <= all; ++step) {
    if (steps_.examples(step) > 0) ++updates_;
  }
  applied_ = std::max(applied_, all);
  if (all == 0) return;
  while (!held_.empty() && held_.begin()->first <= all) {
    apply_held(held_.begin()->first);
    held_bytes_ -= held_.begin()->second.bytes;
    held_.erase(held_.begin());
  }
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (owned_[slot]) slot_steps_[slot] = std::max(slot_steps_[slot], all);
  }
}

// All waiting rows of a table as one update: either all are applied or none.
void Shard::apply_held_rows(Held& held, std::uint32_t number, float scale) {
  const auto first = held.rows.lower_bound({number, 0, 0});
  const auto last = held.rows.lower_bound({number + 1, 0, 0});
  if (first->second.applied) return;
  std::vector<Id> ids;
  std::vector<float> values;
  for (auto at = first; at != last; ++at) {
    ids.insert(ids.end(), at->second.ids.begin(), at->second.ids.end());
    values.insert(values.end(), at->second.values.begin(), at->second.values.end());
  }
  scale_all(values, scale);
  const StepNumbers numbers = first->second.numbers;
  tables_.at(number)->rows.update(ids, values.data(), {numbers.rate, numbers.step});
  half_applied_ = true;
  for (auto at = first; at != last; ++at) at->second = {.numbers = numbers, .applied = true};
}

// Sums in the order of ranks, so that the bits do not depend on the order of arrival. If members
// report their numbers of examples, gradients are sums over these, and the mean over all is
// applied.
void Shard::apply_held(std::uint64_t step) {
  Held& held = held_.at(step);
  const std::uint64_t examples = steps_.examples(step);
  const float scale = examples == 0 ? 1 : 1 / static_cast<float>(examples);
  for (auto at = held.rows.begin(); at != held.rows.end();) {
    const std::uint32_t number = std::get<0>(at->first);
    apply_held_rows(held, number, scale);
    at = held.rows.lower_bound({number + 1, 0, 0});
  }
  for (auto at = held.blocks.begin(); at != held.blocks.end();) {
    const auto [parameter, number, rank] = at->first;
    const StepNumbers numbers = at->second.numbers;
    std::vector<float> sum = at->second.gradient;
    for (++at; at != held.blocks.end() && std::get<0>(at->first) == parameter &&
               std::get<1>(at->first) == number;
         ++at) {
      add_to(at->second.gradient.data(), sum.data(), sum.size());
    }
    scale_all(sum, scale);
    const auto& blocks = dense_.at(parameter)->blocks;
    if (const auto block = blocks.find(number); block != blocks.end()) {
      block->second->apply_step(step, sum, {numbers.rate, numbers.step});
    }
  }
  half_applied_ = false;
  ++counters_->steps;
}

}  // namespace trireme::distributed
