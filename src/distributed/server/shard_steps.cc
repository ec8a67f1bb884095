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
  const std::tuple key(header.table, header.count, header.sender);
  const auto known = held_.find(header.sequence);
  if (known != held_.end() && known->second.arrived_blocks.contains(key)) {
    return answer_to(request, Code::duplicate);
  }
  const Turn turn = turn_of(header, gradient.size_bytes());
  if (turn == Turn::none) return answer_to(request, Code::busy);
  Held& held = held_[header.sequence];
  sum_up([&] {
    if (turn == Turn::now) {
      held.add_block(header.table, header.count, numbers, gradient);
    } else {
      held.early_blocks.emplace(std::tuple(header.sender, header.table, header.count),
                                Held::Block{numbers, {gradient.begin(), gradient.end()}});
      held.early_bytes += gradient.size_bytes();
    }
    held.arrived_blocks.insert(key);
  });
  return answer_to(request);
}

// --- Sums of a step

// Whether gradients of a member are added now or later. Those of the first member that has not
// finished the step never wait for space: so some member always gets on, whatever the limit.
Shard::Turn Shard::turn_of(const Header& header, std::uint64_t bytes) const {
  const std::uint32_t next = steps_.first_unfinished(header.sequence);
  if (header.sender < next) {
    fail_usage(fmt::format("rank {} has finished step {} and sends more for it", header.sender,
                           header.sequence));
  }
  if (header.sender == next) return Turn::now;
  std::uint64_t early = 0;
  for (const auto& [step, held] : held_) early += held.early_bytes;
  return early + bytes > options_.held_bytes ? Turn::none : Turn::early;
}

// Without memory a sum may have a part of a gradient, which would be added again.
void Shard::sum_up(const std::function<void()>& add) try { add(); } catch (const std::bad_alloc&) {
  failure_.emplace(ErrorKind::io, "there is no memory left for the gradients of a step");
  broken_ = true;
  throw;
}

void Shard::Held::add_rows(std::uint32_t table, const StepNumbers& numbers, std::span<const Id> ids,
                           std::span<const float> values) {
  const std::size_t width = values.size() / ids.size();
  const auto [found, first] = rows.try_emplace(table);
  Rows& sum = found->second;
  if (first) sum.numbers = numbers;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const float* const row = values.data() + i * width;
    const auto [place, is_new] = sum.places.try_emplace(ids[i], sum.ids.size());
    if (is_new) {
      sum.ids.push_back(ids[i]);
      sum.values.insert(sum.values.end(), row, row + width);
      bytes += sizeof(Id) + width * sizeof(float);
    } else {
      add_to(row, sum.values.data() + place->second * width, width);
    }
  }
}

void Shard::Held::add_block(std::uint32_t parameter, std::uint32_t block,
                            const StepNumbers& numbers, std::span<const float> gradient) {
  const auto [found, first] = blocks.try_emplace({parameter, block});
  Block& sum = found->second;
  if (first) {
    sum = {numbers, {gradient.begin(), gradient.end()}};
    bytes += gradient.size_bytes();
  } else {
    add_to(gradient.data(), sum.gradient.data(), gradient.size());
  }
}

void Shard::Held::add_early(std::uint32_t rank) {
  const auto up_to = [rank](auto& early) {
    return early.upper_bound({rank, UINT32_MAX, UINT32_MAX});
  };
  for (auto each = early_rows.begin(); each != up_to(early_rows); each = early_rows.erase(each)) {
    const Rows& part = each->second;
    add_rows(std::get<1>(each->first), part.numbers, part.ids, part.values);
    early_bytes -= part.ids.size() * sizeof(Id) + part.values.size() * sizeof(float);
  }
  for (auto each = early_blocks.begin(); each != up_to(early_blocks);
       each = early_blocks.erase(each)) {
    const auto& [of_rank, parameter, block] = each->first;
    add_block(parameter, block, each->second.numbers, each->second.gradient);
    early_bytes -= each->second.gradient.size() * sizeof(float);
  }
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
      sum_up([&] {
        for (auto& [step, held] : held_) held.add_early(steps_.first_unfinished(step));
      });
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

// All steps up to this one are applied.
void Shard::advance_to(std::uint64_t last) {
  for (std::uint64_t step = std::max(applied_ + 1, last > 8 ? last - 7 : 1); step <= last; ++step) {
    if (steps_.examples(step) > 0) ++updates_;
  }
  applied_ = std::max(applied_, last);
}

// A step counts as applied when it is: without space for it, members of another generation must
// repeat it.
void Shard::apply_steps() {
  const std::uint64_t all = steps_.finished_by_all();
  if (all == 0) return;
  while (!held_.empty() && held_.begin()->first <= all) {
    const std::uint64_t step = held_.begin()->first;
    advance_to(step - 1);
    apply_held(step);
    held_.erase(held_.begin());
    advance_to(step);
  }
  advance_to(all);
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (owned_[slot]) slot_steps_[slot] = std::max(slot_steps_[slot], all);
  }
}

// All rows of a table as one update: either all are applied or none.
void Shard::apply_held_rows(Held& held, std::uint32_t number, float scale) {
  Held::Rows& sum = held.rows.at(number);
  if (sum.applied) return;
  if (!sum.scaled) scale_all(sum.values, scale);
  sum.scaled = true;
  tables_.at(number)->rows.update(sum.ids, sum.values.data(), {sum.numbers.rate, sum.numbers.step});
  half_applied_ = true;
  sum = {.numbers = sum.numbers, .applied = true};
}

// If members report their numbers of examples, gradients are sums over these, and the mean over all
// is applied.
void Shard::apply_held(std::uint64_t step) {
  Held& held = held_.at(step);
  const std::uint64_t examples = steps_.examples(step);
  const float scale = examples == 0 ? 1 : 1 / static_cast<float>(examples);
  for (auto& [number, rows] : held.rows) apply_held_rows(held, number, scale);
  for (auto& [key, sum] : held.blocks) {
    scale_all(sum.gradient, scale);
    const auto& blocks = dense_.at(key.first)->blocks;
    if (const auto block = blocks.find(key.second); block != blocks.end()) {
      block->second->apply_step(step, sum.gradient, {sum.numbers.rate, sum.numbers.step});
    }
  }
  half_applied_ = false;
  ++counters_->steps;
}

}  // namespace trireme::distributed
