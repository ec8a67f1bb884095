#include "distributed/checkpoint/restore.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"

namespace trireme::distributed::checkpoint {
namespace {

using Kind = PartInfo::Kind;

// A checkpoint and those that it stands on, oldest first.
std::vector<Manifest> chain_of(const Catalog& catalog, const std::vector<Committed>& list,
                               std::int64_t id) {
  std::vector<Manifest> chain;
  for (std::int64_t next = id;;) {
    const auto committed = std::find_if(list.begin(), list.end(),
                                        [&](const Committed& one) { return one.id == next; });
    if (committed == list.end()) throw Damaged(fmt::format("checkpoint {} is not there", next));
    chain.push_back(catalog.manifest(*committed));
    const std::vector<Part>& parts = chain.back().parts;
    if (std::none_of(parts.begin(), parts.end(),
                     [](const Part& part) { return part.info.kind == Kind::delta; })) {
      break;
    }
    next = chain.back().previous;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// Which slots a table takes from a part.
struct TableStep {
  const Manifest* manifest;
  const Part* part;
  Slots slots;
};

// Returns parts in the order of insertion: for each slot the newest full part and all later deltas.
std::vector<TableStep> steps_of(const std::vector<Manifest>& chain, const TableOptions& options,
                                Slots wanted) {
  std::vector<TableStep> steps;
  bool found = wanted.none();
  for (auto manifest = chain.rbegin(); manifest != chain.rend() && wanted.any(); ++manifest) {
    Slots done;
    for (const Part& part : manifest->parts) {
      const PartInfo& info = part.info;
      if (info.kind == Kind::dense || info.table != options.name) continue;
      found = true;
      if (info.layout != layout_of(options)) {
        fail_usage(fmt::format("table '{}' is {}, but in checkpoint {} it is {}", options.name,
                               layout_of(options), manifest->id, info.layout));
      }
      const Slots slots = wanted & slots_of({info.slots}, options.name);
      if (slots.none()) continue;
      if (info.kind == Kind::full) done |= slots;
      steps.push_back({&*manifest, &part, slots});
    }
    wanted &= ~done;
  }
  if (!found) {
    fail_usage(fmt::format("checkpoint {} has no table '{}'", chain.back().id, options.name));
  }
  if (wanted.any()) {
    throw Damaged(fmt::format("checkpoint {} has no whole part of all slots of table '{}'",
                              chain.back().id, options.name));
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

// The parts of the last checkpoint with rows of any of the targets.
std::vector<const Part*> dense_parts(const Manifest& manifest,
                                     const std::vector<DenseTarget>& targets) {
  std::set<std::size_t> found;
  std::vector<const Part*> parts;
  for (const Part& part : manifest.parts) {
    bool used = false;
    for (const DenseRange& range : part.info.dense) {
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const DenseRange& target = targets[i].range;
        if (target.name != range.name) continue;
        found.insert(i);
        if (target.dtype != range.dtype || target.shape != range.shape) {
          fail_usage(fmt::format("parameter '{}' has another shape in checkpoint {}", range.name,
                                 manifest.id));
        }
        used |= range.first < target.last && target.first < range.last;
      }
    }
    if (used) parts.push_back(&part);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!found.contains(i)) {
      fail_usage(
          fmt::format("checkpoint {} has no parameter '{}'", manifest.id, targets[i].range.name));
    }
  }
  return parts;
}

// What to read for a share.
struct Reading {
  std::vector<Manifest> chain;
  std::vector<std::vector<TableStep>> tables;  // as in the share
  std::vector<const Part*> dense;
};

Reading plan(const Catalog& catalog, const std::vector<Committed>& list, std::int64_t id,
             const Share& share) {
  Reading reading;
  reading.chain = chain_of(catalog, list, id);
  for (const TableSlots& what : share.tables) {
    const TableOptions& options = what.table.options();
    reading.tables.push_back(steps_of(reading.chain, options, slots_of(what.slots, options.name)));
  }
  reading.dense = dense_parts(reading.chain.back(), share.dense);
  return reading;
}

// The slot's rows of a part and a table into it.
void put_in(const Catalog& catalog, const TableStep& step, SparseTable& table, Loaded& loaded) {
  const auto wanted = [&](int slot) { return step.slots[static_cast<std::size_t>(slot)]; };
  std::vector<Id> removed;
  PartUser user;
  user.removed = [&](std::span<const Id> ids) {
    removed.clear();
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(removed),
                 [&](Id id) { return wanted(slot_of(id)); });
    table.remove(removed);
  };
  user.rows = [&](const RowBlock& block) {
    if (!wanted(block.slot)) return;
    table.insert(block);
    loaded.rows += block.ids.size();
  };
  read_part(catalog.folder(step.manifest->id), *step.part, user);
  loaded.bytes += step.part->sum.bytes;
}

// Whole parts that no delta has changed since are in the table as they were written.
void check_digests(const std::vector<TableStep>& steps, SparseTable& table) {
  Slots changed;
  for (const TableStep& step : steps) {
    if (step.part->info.kind == Kind::delta) changed |= step.slots;
  }
  for (const TableStep& step : steps) {
    const SlotRange& slots = step.part->info.slots;
    const bool whole = step.slots.count() == static_cast<std::size_t>(slots.last - slots.first);
    if (step.part->info.kind != Kind::full || !whole || (changed & step.slots).any()) continue;
    if (table.digest(slots.first, slots.last) != step.part->counts.digest) {
      fail_internal(
          fmt::format("table '{}' is not what {} holds", table.options().name, step.part->file));
    }
  }
}

// The clock that is ahead of the others, though clocks go round.
std::uint16_t newest_clock(const std::vector<TableStep>& steps) {
  std::uint16_t clock = steps.back().part->info.clock;
  for (const TableStep& step : steps) {
    if (step.manifest != steps.back().manifest) continue;
    const std::uint16_t other = step.part->info.clock;
    if (static_cast<std::int16_t>(other - clock) > 0) clock = other;
  }
  return clock;
}

void load_table(const Catalog& catalog, const std::vector<TableStep>& steps, const TableSlots& what,
                Loaded& loaded) {
  for (const SlotRange& range : what.slots) what.table.drop(range.first, range.last);
  if (steps.empty()) return;
  what.table.set_clock(newest_clock(steps));
  for (const TableStep& step : steps) put_in(catalog, step, what.table, loaded);
  check_digests(steps, what.table);
}

// A piece of a range to all targets that have some of it.
void give(const std::vector<DenseTarget>& targets, const DenseRange& range, std::uint64_t offset,
          std::string_view bytes) {
  const std::uint64_t row = range.row_bytes();
  const std::uint64_t begin = static_cast<std::uint64_t>(range.first) * row + offset;
  const std::uint64_t end = begin + bytes.size();
  for (const DenseTarget& target : targets) {
    if (target.range.name != range.name) continue;
    const std::uint64_t from = static_cast<std::uint64_t>(target.range.first) * row;
    const std::uint64_t first = std::max(begin, from);
    const std::uint64_t last = std::min(end, static_cast<std::uint64_t>(target.range.last) * row);
    if (first < last) target.write(first - from, bytes.substr(first - begin, last - first));
  }
}

std::optional<std::string> damage(const Catalog& catalog, const std::vector<Committed>& list,
                                  std::int64_t id, const Share& share,
                                  std::set<std::string>& whole) try {
  const Reading reading = plan(catalog, list, id, share);
  const auto check = [&](std::int64_t checkpoint, const Part& part) {
    const std::string folder = catalog.folder(checkpoint);
    if (whole.contains(folder + "/" + part.file)) return;
    read_part(folder, part, {});
    whole.insert(folder + "/" + part.file);
  };
  for (const auto& steps : reading.tables) {
    for (const TableStep& step : steps) check(step.manifest->id, *step.part);
  }
  for (const Part* part : reading.dense) check(id, *part);
  return std::nullopt;
} catch (const Damaged& error) {
  return error.what();
}

}  // namespace

std::optional<std::string> damage(const Catalog& catalog, const std::vector<Committed>& list,
                                  std::int64_t id, const Share& share) {
  std::set<std::string> whole;
  return damage(catalog, list, id, share, whole);
}

Loaded load(const Catalog& catalog, const std::vector<Committed>& list, std::int64_t id,
            const Share& share) try {
  Reading reading = plan(catalog, list, id, share);
  Loaded loaded;
  for (std::size_t i = 0; i < share.tables.size(); ++i) {
    load_table(catalog, reading.tables[i], share.tables[i], loaded);
  }
  PartUser user;
  user.dense = [&](const DenseRange& range, std::uint64_t offset, std::string_view bytes) {
    give(share.dense, range, offset, bytes);
  };
  for (const Part* part : reading.dense) {
    read_part(catalog.folder(id), *part, user);
    loaded.bytes += part->sum.bytes;
  }
  loaded.manifest = std::move(reading.chain.back());
  return loaded;
} catch (const Damaged&) {
  for (const TableSlots& what : share.tables) {
    for (const SlotRange& range : what.slots) what.table.drop(range.first, range.last);
  }
  throw;
}

std::optional<Restored> restore(Catalog& catalog, const Share& share) {
  const std::vector<Committed> list = catalog.list();
  if (list.empty()) return std::nullopt;
  std::set<std::string> whole;  // parts that were read, as checkpoints share them
  std::vector<PassedOver> passed;
  for (const Committed& one : list) {
    std::optional<std::string> reason = damage(catalog, list, one.id, share, whole);
    if (!reason) {
      try {
        return Restored{load(catalog, list, one.id, share), std::move(passed)};
      } catch (const Damaged& error) {
        reason = error.what();
      }
    }
    passed.push_back({one.id, *reason});
  }
  std::string text = "no checkpoint can be restored";
  for (const PassedOver& one : passed) text += fmt::format("\n  {}: {}", one.id, one.reason);
  fail_data(text);
}

}  // namespace trireme::distributed::checkpoint
