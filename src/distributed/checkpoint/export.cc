#include "distributed/checkpoint/export.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/checksum.h"
#include "base/error.h"
#include "base/safetensors.h"
#include "distributed/checkpoint/manifest.h"

namespace trireme::distributed::checkpoint {
namespace {

std::int64_t in_file(Id id) { return static_cast<std::int64_t>(id); }

// Ids as other programs see them: signed, rising.
Tensor ids_tensor(const std::vector<Id>& ids) {
  Tensor tensor = Tensor::uninitialized(DType::i64, {static_cast<std::int64_t>(ids.size())});
  std::transform(ids.begin(), ids.end(), tensor.data<std::int64_t>(), in_file);
  return tensor;
}

// Gathers the rows of some slots until they are a part.
class PartOfExport {
 public:
  PartOfExport(const TableOptions& options, std::size_t row_bytes, bool whole)
      : options_(options), row_bytes_(row_bytes), whole_(whole) {}

  void remove(const std::vector<Id>& ids) {
    removed_.insert(removed_.end(), ids.begin(), ids.end());
  }
  void take(const RowBlock& block) {
    const std::size_t weights = weight_bytes();
    ids_.insert(ids_.end(), block.ids.begin(), block.ids.end());
    for (std::size_t i = 0; i < block.ids.size(); ++i) {
      weights_.append(block.records, i * row_bytes_, weights);
    }
  }
  std::size_t rows() const { return ids_.size(); }

  // Writes what there is, and is empty again.
  ExportPart write(const std::string& folder, const std::string& file, SlotRange slots) {
    Safetensors content;
    content.metadata = {{"format", "trireme export"}, {"table", options_.name}};
    sort_removed();
    ExportPart part{file, slots, whole_, ids_.size(), removed_.size(), {}};
    add_rows(content);
    if (!whole_) content.tensors["removed"] = ids_tensor(removed_);
    const std::string bytes = safetensors_bytes(content);
    part.sum = {bytes.size(), crc32c(bytes)};
    write_file_atomically(folder + "/" + file, bytes);
    ids_.clear();
    weights_.clear();
    removed_.clear();
    return part;
  }

 private:
  std::size_t weight_bytes() const {
    return static_cast<std::size_t>(options_.width) * (options_.float16 ? 2 : 4);
  }
  void sort_removed() {
    std::sort(removed_.begin(), removed_.end(), [](Id a, Id b) { return in_file(a) < in_file(b); });
  }
  void add_rows(Safetensors& content) const {
    std::vector<std::size_t> order(ids_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return in_file(ids_[a]) < in_file(ids_[b]); });
    const auto rows = static_cast<std::int64_t>(ids_.size());
    Tensor ids = Tensor::uninitialized(DType::i64, {rows});
    Tensor weights =
        Tensor::uninitialized(options_.float16 ? DType::f16 : DType::f32, {rows, options_.width});
    const std::size_t bytes = weight_bytes();
    for (std::size_t i = 0; i < order.size(); ++i) {
      ids.data<std::int64_t>()[i] = in_file(ids_[order[i]]);
      std::memcpy(weights.bytes() + i * bytes, weights_.data() + order[i] * bytes, bytes);
    }
    content.tensors["ids"] = std::move(ids);
    content.tensors["weights"] = std::move(weights);
  }

  const TableOptions& options_;
  const std::size_t row_bytes_;
  const bool whole_;
  std::vector<Id> ids_, removed_;
  std::string weights_;
};

// A part as it was read.
struct Rows {
  std::vector<Id> ids, removed;  // ids sorted as numbers without sign
  Tensor weights;                // in the order of the file
  std::vector<Id> in_order;
};

std::vector<Id> ids_in(const Safetensors& content, const char* name, const std::string& path,
                       SlotRange slots) {
  const auto found = content.tensors.find(name);
  if (found == content.tensors.end() || found->second.dtype() != DType::i64 ||
      found->second.rank() != 1) {
    throw Damaged(fmt::format("{} is damaged: it has no {}", path, name));
  }
  const std::int64_t* const ids = found->second.data<std::int64_t>();
  std::vector<Id> result(static_cast<std::size_t>(found->second.elements()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i > 0 && ids[i] <= ids[i - 1]) {
      throw Damaged(fmt::format("{} is damaged: its ids do not rise", path));
    }
    result[i] = static_cast<Id>(ids[i]);
    const int slot = slot_of(result[i]);
    if (slot < slots.first || slot >= slots.last) {
      throw Damaged(fmt::format("{} is damaged: it has rows of slot {}", path, slot));
    }
  }
  return result;
}

std::string read_checked(const std::string& path, const FileSum& sum) {
  std::string bytes;
  try {
    bytes = read_file(path);
  } catch (const Error& error) {
    throw Damaged(error.what());
  }
  if (FileSum{bytes.size(), crc32c(bytes)} != sum) {
    throw Damaged(path + " is damaged: its checksum is another");
  }
  return bytes;
}

Rows read_rows(const std::string& path, const ExportPart& part, const ExportIndex& index) {
  const Safetensors content = parse_safetensors(read_checked(path, part.sum), path);
  Rows rows;
  rows.in_order = ids_in(content, "ids", path, part.slots);
  if (!part.whole) rows.removed = ids_in(content, "removed", path, part.slots);
  const auto weights = content.tensors.find("weights");
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(rows.in_order.size()),
                                           index.width};
  if (weights == content.tensors.end() || weights->second.shape() != shape ||
      weights->second.dtype() != (index.float16 ? DType::f16 : DType::f32)) {
    throw Damaged(path + " is damaged: its weights do not fit its ids");
  }
  rows.weights = index.float16 ? weights->second.cast(DType::f32) : weights->second;
  rows.ids = rows.in_order;
  std::sort(rows.ids.begin(), rows.ids.end());
  return rows;
}

// Readers of the table see each row as it was or as it is in the part, never without it in between.
void put_in(const Rows& rows, const ExportPart& part, SparseTable& table) {
  table.assign(rows.in_order, rows.weights.data<float>());
  std::vector<Id> gone = rows.removed;
  if (part.whole) {
    table.read(part.slots.first, part.slots.last, {}, [&](const RowBlock& block) {
      std::copy_if(block.ids.begin(), block.ids.end(), std::back_inserter(gone), [&](Id id) {
        return !std::binary_search(rows.ids.begin(), rows.ids.end(), id);
      });
    });
  } else {
    std::erase_if(gone,
                  [&](Id id) { return std::binary_search(rows.ids.begin(), rows.ids.end(), id); });
  }
  table.remove(gone);
}

}  // namespace

Exporter::Exporter(ExporterOptions options) : options_(std::move(options)) {
  if (!is_file_name(options_.server) || options_.server.size() > 100) {
    fail_usage(fmt::format("\"{}\" is no name of a server that exports", options_.server));
  }
  if (options_.rows_per_part < 1 || options_.marks[0] == options_.marks[1]) {
    fail_usage("exports need parts of at least 1 row, and two marks");
  }
}

Exporter::~Exporter() = default;

std::vector<ExportPart> Exporter::write(const std::string& folder, SparseTable& table,
                                        const std::vector<SlotRange>& slots, std::int64_t number,
                                        bool delta) {
  const std::string& name = table.options().name;
  const Slots owned = slots_of(slots, name);
  std::unique_ptr<Changes>& changes = changes_[name];
  if (changes == nullptr) changes = std::make_unique<Changes>(options_.marks);
  changes->begin(table, number, number - 1);
  Slots whole, changed;
  for (int slot = 0; slot < kSlots; ++slot) {
    const auto at = static_cast<std::size_t>(slot);
    if (owned[at]) (delta && changes->known(slot) ? changed : whole).set(at);
  }
  std::vector<ExportPart> parts;
  try {
    write_slots(folder, table, *changes, whole, {number, true}, parts);
    write_slots(folder, table, *changes, changed, {number, false}, parts);
  } catch (const Error&) {
    std::error_code ignored;
    for (const ExportPart& part : parts) std::filesystem::remove(folder + "/" + part.file, ignored);
    throw;
  }
  return parts;
}

void Exporter::write_slots(const std::string& folder, SparseTable& table, Changes& changes,
                           const Slots& slots, Kind kind, std::vector<ExportPart>& parts) const {
  PartOfExport part(table.options(), table.row_bytes(), kind.whole);
  for (const SlotRange& range : ranges_of(slots, kSlots)) {
    int first = range.first;
    for (int slot = range.first; slot < range.last; ++slot) {
      if (!kind.whole) part.remove(changes.removed(table, {slot, slot + 1}));
      changes.read(table, {slot, slot + 1}, kind.whole,
                   [&](const RowBlock& block) { part.take(block); });
      if (part.rows() < options_.rows_per_part && slot + 1 != range.last) continue;
      const std::string file =
          fmt::format("{:08}.{}.{:05}.safetensors", kind.number, options_.server, parts.size());
      parts.push_back(part.write(folder, file, {first, slot + 1}));
      first = slot + 1;
    }
  }
}

void Exporter::forget(const std::string& table, SlotRange slots) {
  const auto changes = changes_.find(table);
  if (changes != changes_.end()) changes->second->forget(slots);
}

ExportedTable::ExportedTable(std::string folder) : folder_(std::move(folder)) {
  table_ = std::make_unique<SparseTable>(options_of(read_index(folder_)));
  refresh();
}

bool ExportedTable::refresh() {
  const ExportIndex index = read_index(folder_);
  if (index.table != table_->options().name || !same_rows(index, table_->options())) {
    fail_usage(fmt::format("{} has another table now, '{}' of width {}\n  hint   open it again",
                           folder_, index.table, index.width));
  }
  if (index.exports.empty() || index.exports.back().number <= number_) return false;
  // With the next one of those that are in it, the rest follows; otherwise all is put in from the
  // base on.
  const bool follows = index.exports[0].number <= number_;
  std::vector<const Export*> news;
  for (const Export& one : index.exports) {
    if (!follows || one.number > number_) news.push_back(&one);
  }
  for (const Export* one : news) {
    for (const ExportPart& part : one->parts) read_rows(folder_ + "/" + part.file, part, index);
  }
  for (const Export* one : news) {
    for (const ExportPart& part : one->parts) {
      put_in(read_rows(folder_ + "/" + part.file, part, index), part, *table_);
    }
    number_ = one->number;
    note_ = one->note;
  }
  return true;
}

}  // namespace trireme::distributed::checkpoint
