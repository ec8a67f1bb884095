// All that a shard holds, at once.

#include "base/error.h"
#include "distributed/server/shard_parts.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {
namespace {

// A parser of a declaration on its bytes.
template <class Parse>
auto parsed(const std::string& bytes, const Parse& parse) {
  const Payload payload{bytes};
  PayloadReader reader(payload);
  auto declaration = parse(reader);
  reader.end();
  return declaration;
}

// How many floats a block has, as clients cut it.
std::size_t floats_of(const DenseDeclaration& declaration, std::uint32_t number,
                      std::uint32_t block) {
  const std::vector<DenseBlockPlace> places =
      cut_into_blocks(number, declaration.rows, declaration.columns);
  if (block >= places.size()) fail_data("a block that its dense parameter does not have");
  const DenseBlockPlace& place = places[block];
  return static_cast<std::size_t>((place.last - place.first) * declaration.columns);
}

}  // namespace

ShardContent Shard::content() const {
  const auto lock = shared();
  ShardContent content;
  for (const auto& [number, table] : tables_) content.tables[number] = table->bytes;
  for (const auto& [number, dense] : dense_) {
    content.dense[number] = dense->bytes;
    for (const auto& [block, values] : dense->blocks) {
      content.blocks[number][block] = values->content();
    }
  }
  return content;
}

void Shard::replace(const ShardContent& content) {
  std::map<std::uint32_t, std::unique_ptr<Dense>> dense;
  for (const auto& [number, bytes] : content.dense) {
    check_number(number);
    dense[number] = std::make_unique<Dense>(Dense{parsed(bytes, dense_declaration), bytes, {}});
  }
  const auto lock = alone();
  tables_.clear();
  for (const auto& [number, bytes] : content.tables) {
    check_number(number);
    declare(number, parsed(bytes, table_declaration), bytes);
  }
  dense_ = std::move(dense);
  const std::lock_guard steps_lock(steps_mutex_);
  std::fill(slot_steps_.begin(), slot_steps_.end(), 0);
  applied_ = updates_ = 0;
  drop_held();
}

void Shard::put_block(std::uint32_t number, std::uint32_t block, std::string_view content) {
  const auto lock = alone();
  const auto found = dense_.find(number);
  if (found == dense_.end()) fail_data("a block of a dense parameter that is not declared");
  const DenseDeclaration& declaration = found->second->declaration;
  const std::size_t floats = floats_of(declaration, number, block);
  const auto made =
      std::make_shared<DenseBlock>(declaration, std::vector<float>(floats), options_.sources);
  made->set_content(content);
  found->second->blocks[block] = made;
}

bool Shard::obeys(std::uint64_t epoch) {
  const auto lock = alone();
  return obey(epoch);
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
