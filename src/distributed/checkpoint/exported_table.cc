// The public interface of exports: trireme/exported_table.h.

#include "trireme/exported_table.h"

#include <algorithm>
#include <mutex>

#include "distributed/checkpoint/export.h"

namespace trireme {

using distributed::Id;

struct ExportedTable::State {
  explicit State(const std::string& folder) : exported(folder), table(exported.table()) { tell(); }
  // Publishes the changes of refresh() for concurrent readers.
  void tell() {
    const std::lock_guard lock(mutex);
    number = exported.number();
    note = exported.note();
  }

  distributed::checkpoint::ExportedTable exported;
  distributed::SparseTable& table;
  std::mutex mutex;  // of what follows
  std::int64_t number = 0;
  std::string note;
};

ExportedTable::ExportedTable(const std::string& folder) : state_(std::make_unique<State>(folder)) {}
ExportedTable::ExportedTable(ExportedTable&&) noexcept = default;
ExportedTable& ExportedTable::operator=(ExportedTable&&) noexcept = default;
ExportedTable::~ExportedTable() = default;

const std::string& ExportedTable::name() const { return state_->table.options().name; }
std::int64_t ExportedTable::width() const { return state_->table.options().width; }
std::int64_t ExportedTable::rows() const {
  return static_cast<std::int64_t>(state_->table.statistics().rows);
}

// A negative id names no row, in training neither.
void ExportedTable::lookup(std::span<const std::int64_t> ids, float* rows) const {
  std::vector<Id> named;
  named.reserve(ids.size());
  for (const std::int64_t id : ids) {
    if (id >= 0) named.push_back(static_cast<Id>(id));
  }
  if (named.size() == ids.size()) return state_->exported.lookup(named, rows);
  const auto width = static_cast<std::size_t>(this->width());
  std::vector<float> found(named.size() * width);
  state_->exported.lookup(named, found.data());
  const float* from = found.data();
  for (const std::int64_t id : ids) {
    if (id < 0) {
      std::fill_n(rows, width, 0.0f);
    } else {
      std::copy_n(from, width, rows);
      from += width;
    }
    rows += width;
  }
}

Tensor ExportedTable::lookup(std::span<const std::int64_t> ids) const {
  Tensor rows = Tensor::uninitialized(DType::f32, {static_cast<std::int64_t>(ids.size()), width()});
  lookup(ids, rows.data<float>());
  return rows;
}

Tensor ExportedTable::lookup(std::initializer_list<std::int64_t> ids) const {
  return lookup(std::span<const std::int64_t>(ids.begin(), ids.size()));
}

std::vector<bool> ExportedTable::contains(std::span<const std::int64_t> ids) const {
  std::vector<Id> asked;
  for (const std::int64_t id : ids) asked.push_back(static_cast<Id>(std::max<std::int64_t>(id, 0)));
  std::vector<bool> there = state_->table.contains(asked);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) there[i] = false;
  }
  return there;
}

bool ExportedTable::refresh() try {
  const bool news = state_->exported.refresh();
  state_->tell();
  return news;
} catch (...) {
  state_->tell();  // some exports may be in it
  throw;
}

std::int64_t ExportedTable::number() const {
  const std::lock_guard lock(state_->mutex);
  return state_->number;
}

std::string ExportedTable::note() const {
  const std::lock_guard lock(state_->mutex);
  return state_->note;
}

}  // namespace trireme
