#pragma once

// Writes the share of one server of checkpoints. It becomes valid when the master commits it.

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
  // Part of file names: only letters, digits, - _ and . Unique, also among earlier processes, so
  // that a process that was considered dead cannot write to the files of its successor.
  std::string server;
  int slots_per_part = 1024;          // a restoring server reads whole parts
  std::array<int, 2> marks = {0, 1};  // of the tables; no other code uses them
};

struct TableSlots {
  SparseTable& table;
  std::vector<SlotRange> slots;  // that this server owns
};

// Not thread-safe. Tables may be used meanwhile: then each row is consistent, but the checkpoint is
// no snapshot. For a snapshot, updates must wait while it is written.
class Writer {
 public:
  // Errors: usage.
  explicit Writer(WriterOptions options);
  ~Writer();

  // Writes the parts of this server into the folder, in blocks of 1 MiB. In a delta, slots whose
  // last checkpoint is unknown here are written completely. Errors: io, such as a full disk; usage.
  // After an error its files are removed, and training can continue: the next checkpoint contains
  // everything.
  std::vector<Part> write(const Begun& checkpoint, const std::vector<TableSlots>& tables,
                          const std::vector<DenseRows>& dense);
  // Call it before the rows of these slots move to or from another server. The next delta then
  // contains them completely.
  void forget(const std::string& table, SlotRange slots);

 private:
  struct Files;
  void write_table(const Begun& checkpoint, const TableSlots& what, Files& files);
  void write_dense(const Begun& checkpoint, const std::vector<DenseRows>& dense, Files& files);

  const WriterOptions options_;
  std::map<std::string, std::unique_ptr<Changes>> changes_;  // by name of the table
};

}  // namespace trireme::distributed::checkpoint
