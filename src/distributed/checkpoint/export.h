#pragma once

// Tables for serving: only ids and weights, in files that are read without servers. An export is a
// base, with all rows, or a delta, with the rows that changed since the previous export.
// docs/reference/formats/export.md has the format.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/checkpoint/changes.h"
#include "distributed/checkpoint/part_file.h"
#include "distributed/table/table.h"

namespace trireme::distributed::checkpoint {

// A file with rows of some slots.
struct ExportPart {
  std::string file;
  SlotRange slots = {};
  bool whole = false;  // all rows of the slots; otherwise the changed rows and the removed ids
  std::uint64_t rows = 0, removed = 0;
  FileSum sum;
  friend bool operator==(const ExportPart&, const ExportPart&) = default;
};

struct Export {
  std::int64_t number = 0;  // from 1
  bool delta = false;
  std::string note;  // any bytes, such as the step
  std::vector<ExportPart> parts;
  friend bool operator==(const Export&, const Export&) = default;
};

// The content of a folder: a base and all later deltas.
struct ExportIndex {
  std::string table;
  int width = 0;
  bool float16 = false;
  RowInitializer initializer;  // of missing rows
  std::uint64_t seed = 0;
  std::vector<Export> exports;  // empty before the first publication
};
// Describes the table of an index.
TableOptions options_of(const ExportIndex& index);
// Returns whether its rows, including missing ones, have the same meaning as in a table with these
// options.
bool same_rows(const ExportIndex& index, const TableOptions& options);
std::string index_text(const ExportIndex& index);
// Errors: Damaged.
ExportIndex parse_index(std::string_view text, const std::string& name);
// Reads the index of a folder. Errors: not_found if it has no publication; Damaged; io.
ExportIndex read_index(const std::string& folder);

struct ExporterOptions {
  std::string server;                     // as WriterOptions::server
  std::array<int, 2> marks = {2, 3};      // of the tables; no other code uses them
  std::uint64_t rows_per_part = 1 << 18;  // approximate; the rows of a slot stay together
};

// Writes the exports of one server, which become valid when they are published. Not thread-safe;
// the table may be used meanwhile.
class Exporter {
 public:
  // Errors: usage.
  explicit Exporter(ExporterOptions options);
  ~Exporter();

  // Writes the rows of the slots for export `number` into the folder, which must exist. Needs
  // memory for one part. In a delta, slots whose changes since export number - 1 are unknown here
  // are written completely. Errors: io, usage.
  std::vector<ExportPart> write(const std::string& folder, SparseTable& table,
                                const std::vector<SlotRange>& slots, std::int64_t number,
                                bool delta);
  void forget(const std::string& table, SlotRange slots);  // as Writer::forget

 private:
  struct Kind {
    std::int64_t number;
    bool whole;
  };
  void write_slots(const std::string& folder, SparseTable& table, Changes& changes,
                   const Slots& slots, Kind kind, std::vector<ExportPart>& parts) const;

  const ExporterOptions options_;
  std::map<std::string, std::unique_ptr<Changes>> changes_;
};

// Returns what to publish next in a folder: a delta if the exports there are of this table and
// fewer than `deltas` follow their base; otherwise a base. Also a base if the index is damaged or
// is of a table with other rows, for instance of a job with another model. Errors: usage if the
// folder belongs to another name; io.
struct NextExport {
  std::int64_t number = 1;
  bool delta = false;
};
NextExport next_export(const std::string& folder, const TableOptions& options, std::int64_t deltas);

// Publishes an export from the parts of all servers, so that readers see it. A base replaces the
// earlier exports; files before the replaced base are removed. One process publishes at a time.
// Errors: usage for missing slots, another table, or a wrong number, if the index is intact; io.
void publish(const std::string& folder, const TableOptions& options, const Export& what);

// An export as a table for lookups, while newer deltas are applied. Missing rows have the same
// initial values as in training.
class ExportedTable {
 public:
  // Errors: not_found, Damaged, io.
  explicit ExportedTable(std::string folder);
  // Thread-safe, also during refresh().
  void lookup(std::span<const Id> ids, float* rows) { table_->lookup(ids, rows, Create::no); }
  // Applies newer exports; returns whether there were any. Errors: Damaged; io; usage if the folder
  // now has another table. Checks all files before any row changes. One thread at a time.
  bool refresh();
  // The number of the last applied export. Not during refresh().
  std::int64_t number() const { return number_; }
  const std::string& note() const { return note_; }
  SparseTable& table() { return *table_; }

 private:
  std::string folder_;
  std::unique_ptr<SparseTable> table_;
  std::int64_t number_ = 0;
  std::string note_;
};

}  // namespace trireme::distributed::checkpoint
