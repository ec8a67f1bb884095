#pragma once

// The operations of parameter servers as frames: docs/reference/distributed-jobs.md has them in a
// table.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "distributed/server/marks.h"
#include "distributed/table/options.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed {

// FrameServerOptions::service
inline constexpr char kParameterService[] = "ParameterServer";

enum class Op : std::uint8_t {
  // Of whoever leads, with an epoch in `sequence`
  set_map = 1,
  set_members,
  // Declarations
  declare_table,
  declare_dense,
  // Of trainers, on rows
  lookup,
  push,
  count,
  // Of trainers, on blocks of dense parameters
  dense_pull,
  dense_push,
  finish_step,
  // On slots and blocks, for checkpoints and moves
  read_slots,
  insert_slots,
  drop_slots,
  dense_read,
  dense_insert,
  dense_drop,
  // Of anybody
  digest,
  statistics,
  get_map,
  // Of whoever leads, on everything that a server holds: control/server_keeper.h answers these
  save,
  load,
  describe,
  tick,
  export_rows,
  // Of whoever leads, with an epoch in `sequence` and the generation: TasksOver as to_bytes()
  tasks_over,
};
inline constexpr std::size_t kOps = 26;  // with 0, which is none
const char* name_of(Op op);              // "push"; "unknown" of what is none

// Header::flags
inline constexpr std::uint8_t kCreate = 1;  // lookup: ids without a row are seen once more
inline constexpr std::uint8_t kOfTask =
    2;  // push, dense_push: `sender` is a task, `sequence` counts its batches
inline constexpr std::uint8_t kDelta =
    4;  // push, dense_push: values to add, whatever the optimizer (geo)

// When gradients change a table or a dense parameter.
enum class Mode : std::uint8_t {
  asynchronous,  // when they arrive
  synchronous,   // when all members have finished the step, summed up by rank
  geo,           // trainers train on their own and push what has changed
};
const char* name_of(Mode mode);

struct TableDeclaration {
  TableOptions options;  // without `disk`: its folder is the server's
  bool spill = false;    // rows beyond the memory limit go to the server's disk
  Mode mode = Mode::asynchronous;
};
struct DenseDeclaration {
  std::string name;
  std::int64_t rows = 0, columns = 0;
  RowRule rule;
  Mode mode = Mode::asynchronous;
};

inline constexpr std::uint32_t kMostTables = 4096;  // numbers of tables and dense parameters, each
inline constexpr std::uint32_t kMostBlocks = 1u << 20;  // of a dense parameter
inline constexpr std::size_t kLargestBlock = 15u
                                             << 20;  // bytes of its weights and of its state, each

// Equal declarations are equal bytes. Errors of the parsers: data, for what is none; usage, for
// options that make no sense.
std::string to_bytes(const TableDeclaration& declaration);
std::string to_bytes(const DenseDeclaration& declaration);
TableDeclaration table_declaration(PayloadReader& reader);
DenseDeclaration dense_declaration(PayloadReader& reader);
TableDeclaration table_declaration(const std::string& bytes);
DenseDeclaration dense_declaration(const std::string& bytes);

std::string to_bytes(const TasksOver& over);
TasksOver tasks_over_of(PayloadReader& reader);

using Blocks =
    std::map<std::uint32_t, std::vector<std::uint32_t>>;  // of dense parameters, by number

// What a server has been told of, by number, as these bytes; and which blocks of dense parameters
// it has.
struct Declarations {
  std::map<std::uint32_t, std::string> tables, dense;
  Blocks blocks;
  bool operator==(const Declarations&) const = default;
};

// Appends a value as it lies in memory.
template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What read_slots is asked for, and the beginning of its answer, which insert_slots takes as it is.
// Behind it are marks of pushes, the slots' steps, and blocks of rows, each of a slot.
struct SlotsAsked {
  SlotRange slots;
  std::uint64_t bytes = 0;  // about so many in the answer, at most kLargestPage; 0: 1 MiB
  // With 1 the first slot's rows that come after that id, and then other slots.
  std::uint64_t after = 0, inside = 0;
};
inline constexpr std::uint64_t kLargestPage = 8u << 20;
struct SlotsHead {
  SlotRange slots;
  std::uint32_t marks = 0, blocks = 0;
  std::uint32_t parts = 0;  // kInside, kUnfinished
  std::uint32_t zero = 0;
  std::uint64_t until = 0;  // the last id of an unfinished slot
};
// Other rows of the first slot came before, with its marks and step; the last slot has more rows.
inline constexpr std::uint32_t kInside = 1, kUnfinished = 2;

// The least that a push says besides ids and values.
struct StepNumbers {
  double rate = 0;
  std::int64_t step = 1;
};

}  // namespace trireme::distributed
