#include "distributed/strategy/local_rows.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"

namespace trireme::distributed {
namespace {

// All rows are exact here, from the first lookup on.
TableOptions local(TableOptions options) {
  options.admission = 1;
  options.memory_limit = 0;
  options.float16 = false;
  return options;
}

}  // namespace

LocalRows::LocalRows(TableOptions options) : table_(local(std::move(options))) {}

std::vector<Id> LocalRows::missing(std::span<const Id> ids) const {
  std::vector<Id> result;
  std::unordered_set<Id> seen;
  for (const Id id : ids) {
    if (!places_.contains(id) && seen.insert(id).second) result.push_back(id);
  }
  return result;
}

// Adds, so that the state of the optimizer stays; the base becomes the result.
void LocalRows::put(std::span<const Id> ids, const float* rows) {
  std::vector<float> difference(ids.size() * width());
  table_.lookup(ids, difference.data(), Create::yes);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = rows[i] - difference[i];
  table_.add_deltas(ids, difference.data());
  const std::size_t before = base_.size();
  base_.resize(before + difference.size());
  table_.lookup(ids, base_.data() + before, Create::no);
  for (const Id id : ids) {
    places_[id] = ids_.size();
    ids_.push_back(id);
  }
}

void LocalRows::lookup(std::span<const Id> ids, float* rows) {
  table_.lookup(ids, rows, Create::no);
}

void LocalRows::update(std::span<const Id> ids, const float* gradients, const UpdateStep& step) {
  for (const Id id : ids) {
    if (!places_.contains(id)) fail_internal("a gradient of a row that was not looked up");
  }
  table_.update(ids, gradients, step);
}

LocalRows::Deltas LocalRows::deltas() {
  std::vector<float> now(base_.size());
  if (!ids_.empty()) table_.lookup(ids_, now.data(), Create::no);
  Deltas result;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::size_t at = i * width();
    if (std::equal(now.begin() + static_cast<std::ptrdiff_t>(at),
                   now.begin() + static_cast<std::ptrdiff_t>(at + width()),
                   base_.begin() + static_cast<std::ptrdiff_t>(at))) {
      continue;
    }
    result.ids.push_back(ids_[i]);
    for (std::size_t j = at; j < at + width(); ++j) result.values.push_back(now[j] - base_[j]);
  }
  return result;
}

void LocalRows::reset() {
  places_.clear();
  ids_.clear();
  base_.clear();
}

}  // namespace trireme::distributed
