#include "distributed/server/dedup_table.h"

#include <algorithm>
#include <bit>

namespace trireme::distributed {
namespace {

// A list of more slots would be larger than bits of all slots.
constexpr std::size_t kLongestList = kSlots / 16;
// Approximate size of a source without its slots.
constexpr std::uint64_t kSourceBytes = 256, kPushBytes = 96;

// `high`: the last applied number.
void add_if_begun(const TasksOver& over, const Source& source, std::uint64_t high,
                  std::set<TaskOf>& to) {
  if (source.is_task() && high != 0 && !over.has(source, high)) {
    to.insert({epoch_of(high), source.number});
  }
}

std::size_t word_of(int slot) { return static_cast<std::size_t>(slot) / 64; }
std::uint64_t bit_of(int slot) { return std::uint64_t{1} << (slot % 64); }

}  // namespace

bool TasksOver::has(const Source& source, std::uint64_t number) const {
  if (!source.is_task() || number == 0) return false;
  if (epoch_of(number) != epoch) return epoch_of(number) < epoch;
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), source.number,
                       [](std::uint32_t task, const auto& range) { return task < range.first; });
  return after != ranges.begin() && source.number < std::prev(after)->second;
}

std::uint64_t TasksOver::tasks() const {
  std::uint64_t sum = 0;
  for (const auto& [first, last] : ranges) sum += last - first;
  return sum;
}

void DedupWindow::add(std::uint64_t number) {
  if (number > high_) {
    const std::uint64_t by = number - high_;
    seen_ = (by < kWindow ? seen_ << by : 0) | 1;
    high_ = number;
  } else if (high_ - number < kWindow) {
    seen_ |= std::uint64_t{1} << (high_ - number);
  }
}

// --- Slots

bool SlotSet::has(int slot) const {
  if (!bits_.empty()) return (bits_[word_of(slot)] & bit_of(slot)) != 0;
  return std::binary_search(list_.begin(), list_.end(), static_cast<std::uint16_t>(slot));
}

// The slots of a request are in order.
void SlotSet::add(int slot) {
  if (!bits_.empty()) {
    bits_[word_of(slot)] |= bit_of(slot);
    return;
  }
  const auto value = static_cast<std::uint16_t>(slot);
  if (!list_.empty() && list_.back() == value) return;
  if (list_.empty() || list_.back() < value) {
    list_.push_back(value);
  } else {
    const auto place = std::lower_bound(list_.begin(), list_.end(), value);
    if (*place == value) return;
    list_.insert(place, value);
  }
  if (list_.size() <= kLongestList) return;
  bits_.resize(kSlots / 64);
  for (const std::uint16_t one : list_) bits_[word_of(one)] |= bit_of(one);
  std::vector<std::uint16_t>().swap(list_);
}

void SlotSet::drop(int first, int last) {
  std::erase_if(list_, [&](std::uint16_t slot) { return slot >= first && slot < last; });
  if (bits_.empty()) return;
  for (int slot = first; slot < last; ++slot) bits_[word_of(slot)] &= ~bit_of(slot);
  if (std::all_of(bits_.begin(), bits_.end(), [](std::uint64_t word) { return word == 0; })) {
    std::vector<std::uint64_t>().swap(bits_);
  }
}

// --- One source

bool DedupTable::PerSource::has(int slot, std::uint64_t number) const {
  if (passed(number)) return true;
  const auto found = slots_.find(number);
  return found != slots_.end() && found->second.has(slot);
}

bool DedupTable::PerSource::is_new(std::uint64_t number) const {
  return !passed(number) && !slots_.contains(number);
}

void DedupTable::PerSource::raise(std::uint64_t high) {
  if (high <= high_) return;
  high_ = high;
  while (!slots_.empty() && passed(slots_.begin()->first)) slots_.erase(slots_.begin());
}

SlotSet* DedupTable::PerSource::begin(std::uint64_t number) {
  raise(number);
  return passed(number) ? nullptr : &slots_[number];
}

void DedupTable::PerSource::settle() {
  std::uint64_t now = kSourceBytes;
  for (const auto& [number, slots] : slots_) now += kPushBytes + slots.bytes();
  *total_ += now - bytes_;
  bytes_ = now;
}

void DedupTable::PerSource::read(const Source& source, int first, int last,
                                 std::vector<DedupEntry>& to) const {
  DedupEntry entry{
      source.number, DedupEntry::kNoSlot, static_cast<std::uint8_t>(source.kind), 0, high_, 0};
  to.push_back(entry);
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(last - first));
  for (const auto& [number, slots] : slots_) {
    const std::uint64_t bit = std::uint64_t{1} << (high_ - number);
    for (int slot = first; slot < last; ++slot) {
      if (slots.has(slot)) seen[static_cast<std::size_t>(slot - first)] |= bit;
    }
  }
  for (int slot = first; slot < last; ++slot) {
    entry.slot = static_cast<std::uint16_t>(slot);
    entry.seen = seen[static_cast<std::size_t>(slot - first)];
    if (entry.seen != 0) to.push_back(entry);
  }
}

void DedupTable::PerSource::insert(const DedupEntry& entry) {
  raise(entry.high);
  if (entry.slot == DedupEntry::kNoSlot) return;
  for (std::uint64_t seen = entry.seen; seen != 0; seen &= seen - 1) {
    const auto behind = static_cast<std::uint64_t>(std::countr_zero(seen));
    if (behind >= entry.high) continue;  // numbers count from 1
    if (SlotSet* const slots = begin(entry.high - behind)) slots->add(entry.slot);
  }
}

void DedupTable::PerSource::drop(int first, int last) {
  for (auto& [number, slots] : slots_) slots.drop(first, last);
  std::erase_if(slots_, [](const auto& each) { return each.second.empty(); });
}

// --- All sources

std::shared_ptr<DedupTable::PerSource> DedupTable::of(const Source& source) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(source);
  if (found != sources_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.place);
    return found->second.of;
  }
  while (!recent_.empty() && (sources_.size() >= max_sources_ || memory() > max_bytes_)) {
    sources_.erase(recent_.back());
    recent_.pop_back();
    ++forgotten_;
  }
  recent_.push_front(source);
  return sources_.emplace(source, Kept{std::make_shared<PerSource>(bytes_), recent_.begin()})
      .first->second.of;
}

void DedupTable::forget(const TasksOver& over) {
  const std::lock_guard lock(mutex_);
  for (auto at = sources_.begin(); at != sources_.end();) {
    const bool goes = over.has(at->first, at->second.of->high_);
    if (goes) recent_.erase(at->second.place);
    at = goes ? sources_.erase(at) : std::next(at);
  }
}

void DedupTable::add_begun(const TasksOver& over, std::set<TaskOf>& to) const {
  for (const auto& [source, of] : all()) {
    const std::lock_guard lock(of->mutex);
    add_if_begun(over, source, of->high_, to);
  }
}

std::vector<std::pair<Source, std::shared_ptr<DedupTable::PerSource>>> DedupTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Source, std::shared_ptr<PerSource>>> result;
  for (const auto& [source, kept] : sources_) result.emplace_back(source, kept.of);
  return result;
}

std::vector<DedupEntry> DedupTable::read(int first, int last) const {
  std::vector<DedupEntry> entries;
  for (const auto& [source, of] : all()) {
    const std::lock_guard lock(of->mutex);
    if (of->high_ != 0) of->read(source, first, last, entries);
  }
  return entries;
}

void DedupTable::insert(std::span<const DedupEntry> entries) {
  std::shared_ptr<PerSource> kept;
  Source last;
  for (const DedupEntry& entry : entries) {
    const Source source{static_cast<Source::Kind>(entry.kind), entry.number};
    if (kept == nullptr || source != last) kept = of(source);
    last = source;
    const std::lock_guard lock(kept->mutex);
    kept->insert(entry);
    kept->settle();
  }
}

void DedupTable::drop(int first, int last) {
  for (const auto& [source, of] : all()) {
    const std::lock_guard lock(of->mutex);
    of->drop(first, last);
    of->settle();
  }
}

std::size_t DedupTable::sources() const {
  const std::lock_guard lock(mutex_);
  return sources_.size();
}

std::uint64_t DedupTable::forgotten() const {
  const std::lock_guard lock(mutex_);
  return forgotten_;
}

// --- Of a whole object

bool WholeDedupTable::has(const Source& source, std::uint64_t number) const {
  const auto place =
      std::lower_bound(kept_.begin(), kept_.end(), source,
                       [](const Kept& kept, const Source& wanted) { return kept.source < wanted; });
  return place != kept_.end() && place->source == source && place->mark.has(number);
}

void WholeDedupTable::add(const Source& source, std::uint64_t number) {
  const auto place_of = [&] {
    return std::lower_bound(
        kept_.begin(), kept_.end(), source,
        [](const Kept& kept, const Source& wanted) { return kept.source < wanted; });
  };
  auto place = place_of();
  if (place == kept_.end() || place->source != source) {
    if (kept_.size() >= max_sources_) {
      kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                   [](const Kept& a, const Kept& b) { return a.used < b.used; }));
      place = place_of();
    }
    place = kept_.insert(place, Kept{source, {}, 0});
  }
  place->mark.add(number);
  place->used = ++uses_;
}

void WholeDedupTable::forget(const TasksOver& over) {
  std::erase_if(kept_, [&](const Kept& kept) { return over.has(kept.source, kept.mark.high()); });
  if (kept_.capacity() > 4 * kept_.size() + 16) kept_.shrink_to_fit();
}

void WholeDedupTable::add_begun(const TasksOver& over, std::set<TaskOf>& to) const {
  for (const Kept& kept : kept_) add_if_begun(over, kept.source, kept.mark.high(), to);
}

std::vector<DedupEntry> WholeDedupTable::read() const {
  std::vector<DedupEntry> entries;
  for (const Kept& kept : kept_) {
    entries.push_back({kept.source.number, 0, static_cast<std::uint8_t>(kept.source.kind), 0,
                       kept.mark.high(), kept.mark.seen()});
  }
  return entries;
}

void WholeDedupTable::assign(std::span<const DedupEntry> entries) {
  kept_.clear();
  for (const DedupEntry& entry : entries) {
    const Source source{static_cast<Source::Kind>(entry.kind), entry.number};
    add(source, entry.high);
    std::lower_bound(kept_.begin(), kept_.end(), source,
                     [](const Kept& kept, const Source& wanted) { return kept.source < wanted; })
        ->mark = DedupWindow::of(entry.high, entry.seen);
  }
}

}  // namespace trireme::distributed
