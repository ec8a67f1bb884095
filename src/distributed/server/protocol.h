#pragma once

// The operations of parameter servers as frames: docs/reference/distributed-jobs.md has a table.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "distributed/server/dedup_table.h"
#include "distributed/table/options.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed {

// FrameServerOptions::service
inline constexpr char kParameterService[] = "ParameterServer";

enum class Op : std::uint8_t {
  // By the leader, with an epoch in `sequence`
  set_map = 1,
  set_members,
  // Declarations
  declare_table,
  declare_dense,
  // By trainers, for rows
  lookup,
  push,
  count,
  // By trainers, for blocks of dense parameters
  dense_pull,
  dense_push,
  finish_step,
  // For slots and blocks, by checkpoints and moves
  read_slots,
  insert_slots,
  drop_slots,
  dense_read,
  dense_insert,
  dense_drop,
  // By any process
  digest,
  statistics,
  get_map,
  // By the leader, for the whole state of a server: control/server_keeper.h answers these
  save,
  load,
  describe,
  tick,
  export_rows,
  // By the leader, with an epoch in `sequence` and the generation: TasksOver as to_bytes()
  tasks_over,
};
inline constexpr std::size_t kOps = 26;  // with 0, which is none
const char* name_of(Op op);              // "push"; "unknown" for an invalid one
// Checks that a process of this role may request the operation. An empty role may request all.
// Errors: usage.
void check_role(const std::string& role, Op op);

// Header::flags
inline constexpr std::uint8_t kCreate = 1;  // lookup: counts ids without a row once more
inline constexpr std::uint8_t kOfTask =
    2;  // push, dense_push: `sender` is a task, `sequence` the number of its batch
inline constexpr std::uint8_t kDelta =
    4;  // push, dense_push: values to add, without the optimizer (geo)

// When gradients change a table or a dense parameter.
enum class Mode : std::uint8_t {
  asynchronous,  // at their arrival
  synchronous,   // when all members have finished the step; summed in the order of ranks
  geo,           // trainers train locally and push their changes
};
const char* name_of(Mode mode);

struct TableDeclaration {
  TableOptions options;  // without `disk`: the server chooses its folder
  bool spill = false;    // rows beyond the memory limit go to the disk of the server
  Mode mode = Mode::asynchronous;
};
struct DenseDeclaration {
  std::string name;
  std::int64_t rows = 0, columns = 0;
  RowRule rule;
  Mode mode = Mode::asynchronous;
};

inline constexpr std::uint32_t kMaxTables =
    4096;  // limit of the numbers of tables, and of dense parameters
inline constexpr std::uint32_t kMaxBlocks = 1u << 20;    // in a dense parameter
inline constexpr std::size_t kLargestBlock = 15u << 20;  // bytes of its weights, and of its state

// Equal declarations are equal bytes. Errors of the parsers: data for other bytes; usage for
// invalid options.
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

// All declarations of a server, by number, as bytes; and the blocks of dense parameters that it
// has.
struct Declarations {
  std::map<std::uint32_t, std::string> tables, dense;
  Blocks blocks;
  bool operator==(const Declarations&) const = default;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("tables", tables);
    visit("dense", dense);
    visit("blocks", blocks);
  }
};

// Appends the bytes of a value in memory.
template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The request of read_slots, and the header of its answer, which insert_slots accepts unchanged.
// Marks of pushes, the steps of the slots, and blocks of rows, one slot each, follow.
struct SlotsAsked {
  SlotRange slots;
  std::uint64_t bytes = 0;  // approximate size of the answer, at most kLargestPage; 0: 1 MiB
  // With inside = 1: the rows of the first slot after the id `after`, then other slots.
  std::uint64_t after = 0, inside = 0;
};
inline constexpr std::uint64_t kLargestPage = 8u << 20;
struct SlotsHead {
  SlotRange slots;
  std::uint32_t dedup_entries = 0, blocks = 0;
  std::uint32_t parts = 0;  // kInside, kUnfinished
  std::uint32_t zero = 0;
  std::uint64_t until = 0;  // the last id of an unfinished slot
};
// Earlier rows of the first slot came before, with its marks and step; the last slot has more rows.
inline constexpr std::uint32_t kInside = 1, kUnfinished = 2;

// The least content of a push besides ids and values.
struct StepNumbers {
  double rate = 0;
  std::int64_t step = 1;
};

}  // namespace trireme::distributed
