#pragma once

// One server's share of checkpoints. What it writes counts only when the master has committed it.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/checkpoint/changes.h"
#include "distributed/checkpoint/part.h"

namespace trireme::distributed::checkpoint {

struct WriterOptions {
  // Part of the files' names: letters, digits, - _ and . alone. No other process has it, not even
  // one that this one replaces, so that one left for dead cannot write to its successor's files.
  std::string server;
  int slots_per_part = 1024;          // a restoring server reads whole parts
  std::array<int, 2> marks = {0, 1};  // of the tables, which nobody else uses
};

struct TableSlots {
  SparseTable& table;
  std::vector<SlotRange> slots;  // that this server owns
};

// Not safe for several threads at once. Tables may be used meanwhile: then each row is as of one
// moment, and the rows of a checkpoint are of several. For one moment's, updates wait while it is
// written.
class Writer {
 public:
  // Errors: usage.
  explicit Writer(WriterOptions options);
  ~Writer();

  // Writes this server's parts into the folder, a block of 1 MiB at a time. Of a delta, slots whose
  // last checkpoint is not known here are written whole. Errors: io, such as a full disk; usage.
  // After an error its files are removed, and training can go on: the next checkpoint has all that
  // this one had.
  std::vector<Part> write(const Begun& checkpoint, const std::vector<TableSlots>& tables,
                          const std::vector<DenseRows>& dense);
  // The slots' rows of a table have come from another server, or have gone there: the next delta
  // has them whole. To be called before the rows change.
  void forget(const std::string& table, SlotRange slots);

 private:
  struct Files;
  void write_table(const Begun& checkpoint, const TableSlots& what, Files& files);
  void write_dense(const Begun& checkpoint, const std::vector<DenseRows>& dense, Files& files);

  const WriterOptions options_;
  std::map<std::string, std::unique_ptr<Changes>> changes_;  // by name of the table
};

}  // namespace trireme::distributed::checkpoint
