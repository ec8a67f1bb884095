#include "distributed/server/marks.h"

namespace trireme::distributed {

void Mark::add(std::uint64_t number) {
  if (number > high_) {
    const std::uint64_t by = number - high_;
    seen_ = (by < kWindow ? seen_ << by : 0) | 1;
    high_ = number;
  } else if (high_ - number < kWindow) {
    seen_ |= std::uint64_t{1} << (high_ - number);
  }
}

bool Marks::Of::has(int slot, std::uint64_t number) const {
  const auto& page = pages_[static_cast<std::size_t>(slot) / 64];
  return page != nullptr && (*page)[static_cast<std::size_t>(slot) % 64].has(number);
}

Mark& Marks::Of::at(int slot) {
  auto& page = pages_[static_cast<std::size_t>(slot) / 64];
  if (page == nullptr) page = std::make_unique<Page>();
  return (*page)[static_cast<std::size_t>(slot) % 64];
}

std::shared_ptr<Marks::Of> Marks::of(const Source& source) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(source);
  if (found != sources_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.place);
    return found->second.of;
  }
  if (sources_.size() >= most_) {
    sources_.erase(recent_.back());
    recent_.pop_back();
    ++forgotten_;
  }
  recent_.push_front(source);
  return sources_.emplace(source, Kept{std::make_shared<Of>(), recent_.begin()}).first->second.of;
}

std::vector<std::pair<Source, std::shared_ptr<Marks::Of>>> Marks::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Source, std::shared_ptr<Of>>> result;
  for (const auto& [source, kept] : sources_) result.emplace_back(source, kept.of);
  return result;
}

std::vector<Marks::Entry> Marks::read(int first, int last) const {
  std::vector<Entry> entries;
  for (const auto& [source, of] : all()) {
    const std::lock_guard lock(of->mutex);
    for (int slot = first; slot < last; ++slot) {
      const auto& page = of->pages_[static_cast<std::size_t>(slot) / 64];
      if (page == nullptr) continue;
      const Mark& mark = (*page)[static_cast<std::size_t>(slot) % 64];
      if (mark == Mark()) continue;
      entries.push_back({source.number, static_cast<std::uint16_t>(slot),
                         static_cast<std::uint8_t>(source.kind), 0, mark.high(), mark.seen()});
    }
  }
  return entries;
}

void Marks::insert(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    const auto kept = of({static_cast<Source::Kind>(entry.kind), entry.number});
    const std::lock_guard lock(kept->mutex);
    kept->at(entry.slot) = Mark::of(entry.high, entry.seen);
  }
}

void Marks::drop(int first, int last) {
  for (const auto& [source, of] : all()) {
    const std::lock_guard lock(of->mutex);
    for (int slot = first; slot < last; ++slot) {
      const auto& page = of->pages_[static_cast<std::size_t>(slot) / 64];
      if (page != nullptr) (*page)[static_cast<std::size_t>(slot) % 64] = Mark();
    }
  }
}

std::size_t Marks::sources() const {
  const std::lock_guard lock(mutex_);
  return sources_.size();
}

std::uint64_t Marks::forgotten() const {
  const std::lock_guard lock(mutex_);
  return forgotten_;
}

}  // namespace trireme::distributed
