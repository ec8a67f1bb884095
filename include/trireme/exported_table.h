#pragma once

// Looks up rows in the exports of a job, without its servers, while the job still trains.
//
//   tr::ExportedTable table("clicks-exports/embedding_0.weight");
//   tr::Tensor rows = table.lookup({17, 4711});       // f32[2, table.width()]
//   while (serving) {                                 // in its own thread
//     table.refresh();                                // loads newer exports
//     std::this_thread::sleep_for(std::chrono::seconds(10));
//   }
//
// Link Trireme::distributed. docs/how-to/distributed-training.md, "Export for serving", shows how a
// job exports. docs/reference/formats/export.md describes the files for readers in other languages.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/tensor.h"

namespace trireme {

// A sparse table in memory, with all rows of the exports in a folder. Any number of threads may
// call all functions at the same time, even during refresh(). Only one thread at a time may call
// refresh().
class TRIREME_API ExportedTable {
 public:
  // Reads all rows of one table from its folder, OUTPUT-exports/NAME.
  // Errors: not_found, if nothing has been exported there; data, if a file is damaged; io.
  explicit ExportedTable(const std::string& folder);
  ExportedTable(ExportedTable&&) noexcept;
  ExportedTable& operator=(ExportedTable&&) noexcept;
  ~ExportedTable();

  const std::string& name() const;  // of the parameter in the Program that this table is
  std::int64_t width() const;       // numbers in a row
  std::int64_t rows() const;        // rows in memory

  // Returns the rows of ids, f32[ids, width()], with the same values as lookups in the job: an id
  // without a row gets its initial values, a negative id zeros. Each row is from one export. During
  // refresh() different rows may be from two exports. Rows that are stored in 16 bits are f32 here.
  Tensor lookup(std::span<const std::int64_t> ids) const;
  Tensor lookup(std::initializer_list<std::int64_t> ids) const;
  // The same, into rows[ids.size()][width()].
  void lookup(std::span<const std::int64_t> ids, float* rows) const;
  // Returns which of the ids have a row.
  std::vector<bool> contains(std::span<const std::int64_t> ids) const;

  // Loads all newer exports; returns whether there were any. Checks all files before it changes a
  // row. Costs one small file read if there is nothing new.
  // Errors: as the constructor; refresh() may then be called again (a reader that missed two bases
  // may find files just deleted); usage, if the folder now has a table with other rows, such as
  // from a job with another model: open it again.
  bool refresh();

  std::int64_t number() const;  // number of the last export loaded
  // The job's note for that export, "checkpoint 12". Exports of the same checkpoint, including
  // other tables and dense parameters (dense.safetensors), are from the same moment.
  std::string note() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme
