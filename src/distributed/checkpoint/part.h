#pragma once

// The parts of a checkpoint: what one server held of a table in a range of slots, or of dense
// parameters in ranges of their rows. docs/reference/formats/distributed-checkpoint.md has the
// format.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/checkpoint/part_file.h"
#include "distributed/table/table.h"
#include "trireme/dtype.h"

namespace trireme::distributed::checkpoint {

// Rows [first, last) of a dense parameter, or of the state that its optimizer keeps under a name of
// its own. Without axes it is one row.
struct DenseRange {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // of the whole parameter
  std::int64_t first = 0, last = 0;

  std::int64_t all_rows() const { return shape.empty() ? 1 : shape[0]; }
  std::uint64_t row_bytes() const;  // Errors: usage, for a shape that is negative or too large
  std::uint64_t bytes() const { return row_bytes() * static_cast<std::uint64_t>(last - first); }
  friend bool operator==(const DenseRange&, const DenseRange&) = default;
};

// What a part holds, as its first block says.
struct PartInfo {
  // full: all rows of the slots. delta: those changed, and the ids removed, since the checkpoint
  // before.
  enum class Kind : std::uint8_t { full, delta, dense };
  Kind kind = Kind::full;
  std::int64_t checkpoint = 0;
  std::string server;
  // Of a table:
  std::string table;
  std::string layout;   // layout_of() its options; tables of one layout have the same records
  std::string options;  // for people
  std::uint32_t row_bytes = 0;
  SlotRange slots = {};
  std::uint16_t clock = 0;  // the table's, before its rows were read
  // Of dense parameters:
  std::vector<DenseRange> dense;

  friend bool operator==(const PartInfo&, const PartInfo&) = default;
};

// Its last block.
struct PartCounts {
  std::uint64_t rows = 0, removed = 0;
  std::uint64_t bytes = 0;  // of dense parameters
  std::uint64_t digest =
      0;  // SparseTable::digest() of the rows; of dense ones, the sum of hash64 of the blocks
  friend bool operator==(const PartCounts&, const PartCounts&) = default;
};

// As a manifest lists it.
struct Part {
  PartInfo info;
  PartCounts counts;
  std::string file;  // in the checkpoint's folder
  FileSum sum;
  friend bool operator==(const Part&, const Part&) = default;
};

// "width 16 adagrad f32"
std::string layout_of(const TableOptions& options);
// Rows that a block of a file takes, to read so many at once.
std::size_t rows_of_block(std::size_t row_bytes);

// For processes that tell each other of parts. Errors: Damaged.
std::string part_text(const Part& part);
Part parse_part(std::string_view text, const std::string& name);
// What is wrong with it in itself, "" if nothing.
std::string problem_of(const PartInfo& info);

// Writes the part of a table; memory for one block. Errors of all calls: io.
class TablePartWriter {
 public:
  TablePartWriter(const std::string& folder, const std::string& file, const PartInfo& info);
  void removed(std::span<const Id> ids);  // before all rows
  void rows(const RowBlock& block);       // in the order of SparseTable::read
  Part finish();

 private:
  void flush();

  Part part_;
  BlockWriter writer_;
  std::string block_;
};

// What a server holds of a parameter.
struct DenseRows {
  DenseRange range;
  // Copies bytes from `offset` of the range on; called for one piece after the other.
  std::function<void(std::uint64_t offset, char* to, std::size_t bytes)> read;
};
// Parts of at most this many entries.
inline constexpr std::size_t kMostDense = 1000;
Part write_dense_part(const std::string& folder, const std::string& file, PartInfo info,
                      std::span<const DenseRows> rows);

// What becomes of a part that is read. What is empty is not told.
struct PartUser {
  std::function<void(std::span<const Id>)> removed = {};
  std::function<void(const RowBlock&)> rows = {};
  std::function<void(const DenseRange&, std::uint64_t offset, std::string_view bytes)> dense = {};
};
// Reads a part to its end and checks every byte; the user may have been told of some of it when
// damage is found. `name` is for messages. Errors: Damaged, and what the user throws.
Part read_part(Source source, const std::string& name, const PartUser& user);
// The same of a file that must be the part that a manifest lists.
void read_part(const std::string& folder, const Part& part, const PartUser& user);

}  // namespace trireme::distributed::checkpoint
