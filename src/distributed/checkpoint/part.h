#pragma once

// The parts of a checkpoint: the rows of one server in a range of slots of a table, or in ranges of
// rows of dense parameters. docs/reference/formats/distributed-checkpoint.md has the format.

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

// Rows [first, last) of a dense parameter, or of a state of its optimizer, which has its own name.
// A scalar is one row.
struct DenseRange {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // of the whole parameter
  std::int64_t first = 0, last = 0;

  std::int64_t all_rows() const { return shape.empty() ? 1 : shape[0]; }
  std::uint64_t row_bytes() const;  // Errors: usage for a shape that is negative or too large
  std::uint64_t bytes() const { return row_bytes() * static_cast<std::uint64_t>(last - first); }
  friend bool operator==(const DenseRange&, const DenseRange&) = default;
};

// The description of a part, from its first block.
struct PartInfo {
  // full: all rows of the slots. delta: the rows changed and the ids removed since the previous
  // checkpoint.
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
  std::uint16_t clock = 0;  // of the table, before its rows were read
  // Of dense parameters:
  std::vector<DenseRange> dense;

  friend bool operator==(const PartInfo&, const PartInfo&) = default;
};

// The last block of a part.
struct PartCounts {
  std::uint64_t rows = 0, removed = 0;
  std::uint64_t bytes = 0;  // of dense parameters
  // SparseTable::digest() of the rows; for dense parameters, the sum of hash64 of the blocks.
  std::uint64_t digest = 0;
  friend bool operator==(const PartCounts&, const PartCounts&) = default;
};

// A part as a manifest lists it.
struct Part {
  PartInfo info;
  PartCounts counts;
  std::string file;  // in the folder of the checkpoint
  FileSum sum;
  friend bool operator==(const Part&, const Part&) = default;
};

// "width 16 adagrad f32"
std::string layout_of(const TableOptions& options);
// Returns the rows of one block of a file, for reading that many at once.
std::size_t rows_of_block(std::size_t row_bytes);

// For messages about parts between processes. Errors: Damaged.
std::string part_text(const Part& part);
Part parse_part(std::string_view text, const std::string& name);
// Returns what is inconsistent within the part; "" if nothing.
std::string problem_of(const PartInfo& info);

// Writes the part of a table. Needs memory for one block. Errors of all calls: io.
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

// The rows of a parameter on a server.
struct DenseRows {
  DenseRange range;
  // Copies bytes from `offset` of the range on; called for successive pieces.
  std::function<void(std::uint64_t offset, char* to, std::size_t bytes)> read;
};
// The most entries of a part.
inline constexpr std::size_t kMaxDense = 1000;
Part write_dense_part(const std::string& folder, const std::string& file, PartInfo info,
                      std::span<const DenseRows> rows);

// Callbacks for the content of a part. Empty ones are skipped.
struct PartUser {
  std::function<void(std::span<const Id>)> removed = {};
  std::function<void(const RowBlock&)> rows = {};
  std::function<void(const DenseRange&, std::uint64_t offset, std::string_view bytes)> dense = {};
};
// Reads a part to its end and checks every byte. It may call `user` before it finds damage. `name`
// is for messages. Errors: Damaged, and errors of `user`.
Part read_part(Source source, const std::string& name, const PartUser& user);
// The same for a file that must be the part that a manifest lists.
void read_part(const std::string& folder, const Part& part, const PartUser& user);

}  // namespace trireme::distributed::checkpoint
