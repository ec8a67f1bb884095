#pragma once

// Files of numbered blocks with a checksum each, as
// docs/reference/formats/distributed-checkpoint.md specifies them: the common form of all parts of
// checkpoints.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "trireme/error.h"

namespace trireme::distributed::checkpoint {

// A file is damaged or missing, so another checkpoint must be used.
class Damaged : public Error {
 public:
  explicit Damaged(const std::string& message) : Error(ErrorKind::data, message) {}
};

inline constexpr std::size_t kLargestBlock = std::size_t{1} << 20;  // bytes of a payload

enum class BlockKind : std::uint32_t { header = 1, rows = 2, removed = 3, dense = 4, footer = 5 };

// The identity of a file.
struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC32C of all of them
  friend bool operator==(const FileSum&, const FileSum&) = default;
};

class BlockWriter {
 public:
  // The file has a temporary name until finish(). Errors of all calls: io.
  explicit BlockWriter(const std::string& path);
  void write(BlockKind kind, std::string_view payload);
  FileSum finish();

 private:
  void put(std::string_view bytes);

  AtomicFile file_;
  FileSum sum_;
  std::uint32_t next_ = 0;
};

// Writes up to this many bytes to `to` and returns their number; fewer only at the end.
using Source = std::function<std::size_t(char* to, std::size_t bytes)>;
// Errors: Damaged if the file is missing or cannot be read.
Source file_source(const std::string& path);
Source text_source(std::string_view text);  // the text must outlive it

class BlockReader {
 public:
  // `name` is for messages. Errors of all calls: Damaged.
  BlockReader(Source source, std::string name);
  // The payload is valid until the next call.
  struct Block {
    BlockKind kind;
    std::string_view payload;
  };
  Block next();
  // Checks that no bytes follow.
  FileSum end();
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void take(char* to, std::size_t bytes);

  Source source_;
  std::string name_, payload_;
  FileSum sum_;
  std::uint32_t next_ = 0;
};

}  // namespace trireme::distributed::checkpoint
