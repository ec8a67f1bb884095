// The whole content of a shard.

#include <algorithm>

#include "base/error.h"
#include "distributed/server/shard_parts.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {
Declarations Shard::declarations() const {
  const auto lock = shared();
  Declarations declared;
  for (const auto& [number, table] : tables_) declared.tables[number] = table->bytes;
  for (const auto& [number, dense] : dense_) {
    declared.dense[number] = dense->bytes;
    for (const auto& [block, values] : dense->blocks) declared.blocks[number].push_back(block);
  }
  return declared;
}

void Shard::replace(const Declarations& declared, std::uint16_t clock) {
  std::map<std::uint32_t, std::unique_ptr<Dense>> dense;
  for (const auto& [number, bytes] : declared.dense) {
    check_number(number);
    dense[number] = std::make_unique<Dense>(Dense{dense_declaration(bytes), bytes, {}});
  }
  const auto lock = alone();
  tables_.clear();
  clock_ = clock;
  for (const auto& [number, bytes] : declared.tables) {
    check_number(number);
    declare(number, table_declaration(bytes), bytes);
  }
  dense_ = std::move(dense);
  {
    const std::lock_guard over_lock(over_mutex_);
    over_ = std::make_shared<const TasksOver>();
  }
  const std::lock_guard steps_lock(steps_mutex_);
  std::fill(slot_steps_.begin(), slot_steps_.end(), 0);
  applied_ = updates_ = 0;
  half_applied_ = false;
  drop_held();
}

void Shard::set_clock(std::uint16_t clock) {
  const auto lock = alone();
  clock_ = clock;
  for (const auto& [number, table] : tables_) {
    const auto ahead = static_cast<std::int16_t>(clock - table->rows.clock());
    if (ahead > 0) table->rows.set_clock(clock);
  }
}

std::string Shard::block(std::uint32_t number, std::uint32_t block) const {
  const auto lock = shared();
  const auto found = dense_.find(number);
  if (found == dense_.end() || !found->second->blocks.contains(block)) return "";
  return found->second->blocks.at(block)->content();
}

void Shard::put_block(std::uint32_t number, std::uint32_t block, std::string_view content) {
  const auto lock = alone();
  const auto found = dense_.find(number);
  if (found == dense_.end()) fail_data("a block of a dense parameter that is not declared");
  const DenseDeclaration& declaration = found->second->declaration;
  const std::size_t floats = floats_of_block(declaration.rows, declaration.columns, block);
  const auto made =
      std::make_shared<DenseBlock>(declaration, std::vector<float>(floats), options_.sources);
  made->set_content(content);
  found->second->blocks[block] = made;
}

bool Shard::obeys(std::uint64_t epoch) {
  const auto lock = alone();
  return obey(epoch);
}

void Shard::begin_at(std::uint64_t step, std::uint64_t updates) {
  const std::lock_guard steps_lock(steps_mutex_);
  applied_ = std::max(applied_, step);
  updates_ = std::max(updates_, updates);
}

void Shard::set_updates(std::uint64_t updates) {
  const std::lock_guard steps_lock(steps_mutex_);
  updates_ = updates;
}

std::vector<std::pair<int, int>> Shard::slots() const {
  const auto lock = shared();
  std::vector<std::pair<int, int>> ranges;
  for (int slot = 0; slot < kSlots; ++slot) {
    if (!owned_[static_cast<std::size_t>(slot)]) continue;
    if (!ranges.empty() && ranges.back().second == slot) ++ranges.back().second;
    else ranges.emplace_back(slot, slot + 1);
  }
  return ranges;
}

}  // namespace trireme::distributed
