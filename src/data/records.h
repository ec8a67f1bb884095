#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/random_access.h"
#include "trireme/data.h"

namespace trireme::data {

// Parts of a record file; docs/reference/formats/records.md describes it.
inline constexpr std::string_view kRecordsMagic = "\x89TREC\r\n\x1a";
inline constexpr std::string_view kRecordsEnd = "TRECEND\n";
inline constexpr std::uint32_t kRecordsVersion = 2;  // the newest; 1 has no ragged columns
inline constexpr std::size_t kRecordsPrefix = 24;    // bytes before the header's text
inline constexpr std::size_t kRecordsFooter = 32;
// The most values of one example. No example needs more, and products then fit 64 bits.
inline constexpr std::int64_t kLargestExample = std::int64_t{1} << 31;

struct StoredColumn {
  Column column;
  bool as_bytes = false;  // f32 stored as u8, which is value * 255

  // Of one example, or of one packed row if the column is ragged.
  std::size_t elements() const;
  std::size_t size_bytes() const;  // as stored
};

struct RecordsHeader {
  std::vector<StoredColumn> columns;
  std::vector<std::string> class_names;

  bool ragged() const;          // whether a column is; then examples differ in size
  std::size_t payload() const;  // bytes of one example; if ragged, of one whose sequences are empty
};

std::string print_header(const RecordsHeader& header);
// Errors: data.
RecordsHeader parse_header(std::string_view text, const std::string& name);

// Checks everything but the records, which are checked when they are read. `name` is for messages.
// Errors: data with the byte.
Dataset parse_records(RandomAccess file, const std::string& name);

}  // namespace trireme::data
