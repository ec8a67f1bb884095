#pragma once

// Tables as they are served: ids and weights alone, in files that can be read without servers. An
// export is a base, with all rows, or a delta, with those that changed since the export before.
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
  bool whole =
      false;  // all rows that the slots have; otherwise the changed ones, and the ids removed
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

// What lies in a folder: a base and all deltas since.
struct ExportIndex {
  std::string table;
  int width = 0;
  bool float16 = false;
  RowInitializer initializer;  // of rows that are not there
  std::uint64_t seed = 0;
  std::vector<Export> exports;  // none before the first one is published
};
// Of a table that looks its rows up.
TableOptions options_of(const ExportIndex& index);
// Whether its rows, also those that are not there, mean the same as those of a table with these
// options.
bool same_rows(const ExportIndex& index, const TableOptions& options);
std::string index_text(const ExportIndex& index);
// Errors: Damaged.
ExportIndex parse_index(std::string_view text, const std::string& name);
// Of a folder. Errors: not_found, if nothing was published there; Damaged; io.
ExportIndex read_index(const std::string& folder);

struct ExporterOptions {
  std::string server;                     // as WriterOptions::server
  std::array<int, 2> marks = {2, 3};      // of the tables, which nobody else uses
  std::uint64_t rows_per_part = 1 << 18;  // about; the rows of a slot stay together
};

// One server's share of exports; it counts when it is published. Not safe for several threads at
// once; the table may be used meanwhile.
class Exporter {
 public:
  // Errors: usage.
  explicit Exporter(ExporterOptions options);
  ~Exporter();

  // Writes the slots' rows for export `number` into the folder, which is there; memory for one
  // part. Of a delta, slots whose changes since the export before, number - 1, are not known here
  // are written whole. Errors: io, usage.
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

// What may be published next in a folder: a delta, if the exports there are this table's and fewer
// than `deltas` of them follow their base; else a base. So is what would stand on an index that is
// damaged, or on a table of other rows, as after a job whose model was another one. Errors: usage,
// if it is the folder of another name; io.
struct NextExport {
  std::int64_t number = 1;
  bool delta = false;
};
NextExport next_export(const std::string& folder, const TableOptions& options, std::int64_t deltas);

// Makes an export of the parts of all servers: from now on readers see it. A base takes the place
// of what was there; files before the base that it replaces are removed. One process publishes at a
// time. Errors: usage, for slots that are missing, a table that is another, or a number that is not
// the next, where the index there is whole; io.
void publish(const std::string& folder, const TableOptions& options, const Export& what);

// An export as a table to look rows up in, while newer deltas are put in. Rows that are not there
// have the initial values that they had in training.
class ExportedTable {
 public:
  // Errors: not_found, Damaged, io.
  explicit ExportedTable(std::string folder);
  // Any number of threads, also during refresh().
  void lookup(std::span<const Id> ids, float* rows) { table_->lookup(ids, rows, Create::no); }
  // Puts in what was published since; whether there was anything. Other errors than Damaged and io:
  // usage, if the folder has another table by now. All files are checked before any row changes.
  // One thread at a time.
  bool refresh();
  // Of the last export that is in it; not during refresh().
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
