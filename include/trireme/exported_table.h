#pragma once

// Looking rows up in what a job exports for serving, without its servers, while it trains on.
//
//   tr::ExportedTable table("clicks-exports/embedding_0.weight");
//   tr::Tensor rows = table.lookup({17, 4711});       // f32[2, table.width()]
//   while (serving) {                                 // in a thread of its own
//     table.refresh();                                // what has been exported since
//     std::this_thread::sleep_for(std::chrono::seconds(10));
//   }
//
// Link Trireme::distributed. docs/how-to/distributed-training.md, "Export for serving", tells how a job is made to export; docs/reference/formats/export.md what
// the files are, for readers in other languages.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/tensor.h"

namespace trireme {

// A sparse table in memory, with all rows that the exports in a folder have. All functions but refresh() may be called by
// any number of threads at once, also during refresh(), which one thread at a time calls.
class TRIREME_API ExportedTable {
 public:
  // The folder of one table: OUTPUT-exports/NAME. Reads all rows. Errors: not_found, if nothing has been exported there;
  // data, if a file is damaged; io.
  explicit ExportedTable(const std::string& folder);
  ExportedTable(ExportedTable&&) noexcept;
  ExportedTable& operator=(ExportedTable&&) noexcept;
  ~ExportedTable();

  const std::string& name() const;  // of the parameter that the table is in the Program
  std::int64_t width() const;       // numbers in a row
  std::int64_t rows() const;        // that are there

  // The rows of ids, f32[ids, width()], as lookups of the job have them: an id without a row gets the values that training
  // would begin with, a negative one zeros. Each row is of one export; during refresh() rows may be of two. Rows that are kept
  // in 16 bits are f32 here, too.
  Tensor lookup(std::span<const std::int64_t> ids) const;
  Tensor lookup(std::initializer_list<std::int64_t> ids) const;
  // The same, to rows[ids.size()][width()].
  void lookup(std::span<const std::int64_t> ids, float* rows) const;
  // Which of the ids have a row.
  std::vector<bool> contains(std::span<const std::int64_t> ids) const;

  // Puts in what was exported since; whether there was anything. All files are checked before a row changes. Costs one small
  // file read if there is nothing. Errors: as of the constructor, and then it may be called again: whoever has missed two bases
  // may find that files have just gone; usage, if the folder has a table of other rows by now, such as of a job whose model
  // is another one: open it anew.
  bool refresh();

  std::int64_t number() const;  // of the last export that is in it
  // What the job says of it, "checkpoint 12": exports of the same checkpoint, also of other tables and of dense parameters
  // (dense.safetensors), are of one moment.
  std::string note() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme
