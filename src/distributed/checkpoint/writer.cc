#include "distributed/checkpoint/writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/error.h"

namespace trireme::distributed::checkpoint {
namespace {

// For people who look into a part.
std::string table_options_text(const TableOptions& options) {
  const RowRule& rule = options.rule;
  const RowInitializer& initial = options.initializer;
  return fmt::format(
      "seed {} initial {} {} {} epsilon {} v {} beta1 {} beta2 {} beta {} l1 {} l2 {} admission {} "
      "decay {}",
      options.seed, static_cast<int>(initial.kind), initial.low, initial.high, rule.epsilon,
      rule.initial, rule.beta1, rule.beta2, rule.beta, rule.l1, rule.l2, options.admission,
      options.decay);
}

PartInfo part_info(const Begun& checkpoint, const std::string& server, SparseTable& table) {
  PartInfo info;
  info.checkpoint = checkpoint.id;
  info.server = server;
  info.table = table.options().name;
  info.layout = layout_of(table.options());
  info.options = table_options_text(table.options());
  info.row_bytes = static_cast<std::uint32_t>(table.row_bytes());
  info.clock = table.clock();
  return info;
}

}  // namespace

// The files of one call; without keep() they go again.
struct Writer::Files {
  std::string folder, server;
  std::vector<Part> parts = {};
  std::vector<std::string> names = {};
  bool keep = false;

  ~Files() {
    std::error_code ignored;
    if (!keep) {
      for (const std::string& name : names) std::filesystem::remove(folder + "/" + name, ignored);
    }
  }
  std::string next() {
    names.push_back(fmt::format("{}.{:05}.part", server, names.size()));
    return names.back();
  }
};

Writer::Writer(WriterOptions options) : options_(std::move(options)) {
  if (!is_file_name(options_.server) || options_.server.size() > 100) {
    fail_usage(
        fmt::format("\"{}\" is no name of a server that writes checkpoints", options_.server));
  }
  if (options_.slots_per_part < 1 || options_.marks[0] == options_.marks[1]) {
    fail_usage("a writer of checkpoints needs parts of at least 1 slot, and two marks");
  }
}

Writer::~Writer() = default;

std::vector<Part> Writer::write(const Begun& checkpoint, const std::vector<TableSlots>& tables,
                                const std::vector<DenseRows>& dense) try {
  Files files{checkpoint.folder, options_.server};
  for (const TableSlots& table : tables) write_table(checkpoint, table, files);
  write_dense(checkpoint, dense, files);
  files.keep = true;
  return files.parts;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::io) throw;
  fail_io(
      fmt::format("checkpoint {} was not written: {}\n"
                  "  hint   what was written of it is removed, and training can go on: make "
                  "room, or keep fewer checkpoints",
                  checkpoint.id, error.what()));
}

void Writer::write_table(const Begun& checkpoint, const TableSlots& what, Files& files) {
  SparseTable& table = what.table;
  const std::string& name = table.options().name;
  const Slots slots = slots_of(what.slots, name);
  std::unique_ptr<Changes>& changes = changes_[name];
  if (changes == nullptr) changes = std::make_unique<Changes>(options_.marks);
  PartInfo info = part_info(checkpoint, options_.server, table);
  changes->begin(table, checkpoint.id, checkpoint.previous);
  Slots whole, changed;
  for (int slot = 0; slot < kSlots; ++slot) {
    const auto at = static_cast<std::size_t>(slot);
    if (slots[at]) (checkpoint.delta && changes->known(slot) ? changed : whole).set(at);
  }
  for (const Slots* some : {&whole, &changed}) {
    const bool all = some == &whole;
    info.kind = all ? PartInfo::Kind::full : PartInfo::Kind::delta;
    for (const SlotRange& range : ranges_of(*some, options_.slots_per_part)) {
      info.slots = range;
      TablePartWriter part(files.folder, files.next(), info);
      if (!all) part.removed(changes->removed(table, range));
      changes->read(table, range, all, [&](const RowBlock& block) { part.rows(block); });
      files.parts.push_back(part.finish());
    }
  }
}

void Writer::write_dense(const Begun& checkpoint, const std::vector<DenseRows>& dense,
                         Files& files) {
  PartInfo info;
  info.checkpoint = checkpoint.id;
  info.server = options_.server;
  for (std::size_t i = 0; i < dense.size(); i += kMaxDense) {
    const std::span rows(dense.data() + i, std::min(kMaxDense, dense.size() - i));
    files.parts.push_back(write_dense_part(files.folder, files.next(), info, rows));
  }
}

void Writer::forget(const std::string& table, SlotRange slots) {
  const auto changes = changes_.find(table);
  if (changes != changes_.end()) changes->second->forget(slots);
}

}  // namespace trireme::distributed::checkpoint
