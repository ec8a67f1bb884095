#include "distributed/checkpoint/part_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme::distributed::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers in files are little-endian");

constexpr std::string_view kMagic = "\x89TPART\r\n";
constexpr std::uint32_t kPartVersion = 1;

// In front of every payload.
struct BlockHead {
  std::uint32_t crc;  // of what follows, payload included
  std::uint32_t kind, number, size;

  std::uint32_t crc_with(std::string_view payload) const {
    const char* const bytes = reinterpret_cast<const char*>(this);
    return crc32c(payload, crc32c({bytes + sizeof crc, sizeof *this - sizeof crc}));
  }
};
static_assert(sizeof(BlockHead) == 16);

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

BlockWriter::BlockWriter(const std::string& path) : file_(path) {
  put(kMagic);
  put(bytes_of(kPartVersion));
}

void BlockWriter::put(std::string_view bytes) {
  file_.write(bytes);
  sum_.bytes += bytes.size();
  sum_.crc = crc32c(bytes, sum_.crc);
}

void BlockWriter::write(BlockKind kind, std::string_view payload) {
  if (payload.size() > kLargestBlock) {
    fail_internal(fmt::format("a block of {} bytes in a part of a checkpoint", payload.size()));
  }
  BlockHead head{0, static_cast<std::uint32_t>(kind), next_++,
                 static_cast<std::uint32_t>(payload.size())};
  head.crc = head.crc_with(payload);
  put(bytes_of(head));
  put(payload);
}

FileSum BlockWriter::finish() {
  file_.finish();
  return sum_;
}

Source file_source(const std::string& path) {
  struct File {
    std::string path;
    int fd;
    ~File() {
      if (fd >= 0) ::close(fd);
    }
    [[noreturn]] void fail_here() const {
      const int error = errno;
      if (error == ENOENT) throw Damaged(path + " is missing");
      throw Damaged(
          fmt::format("cannot read {}: {}", path, std::generic_category().message(error)));
    }
  };
  auto file = std::make_shared<File>(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file->fd < 0) file->fail_here();
  ::posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return [file](char* to, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t n = ::read(file->fd, to + done, bytes - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) file->fail_here();
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  };
}

Source text_source(std::string_view text) {
  return [text](char* to, std::size_t bytes) mutable {
    const std::size_t n = std::min(bytes, text.size());
    if (n != 0) std::memcpy(to, text.data(), n);
    text.remove_prefix(n);
    return n;
  };
}

BlockReader::BlockReader(Source source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {
  char magic[kMagic.size()];
  take(magic, sizeof magic);
  if (std::string_view(magic, sizeof magic) != kMagic) fail("it is no part of a checkpoint");
  std::uint32_t version = 0;
  take(reinterpret_cast<char*>(&version), sizeof version);
  if (version != kPartVersion) {
    fail(fmt::format("it has format {}, and this version of Trireme reads {}", version,
                     kPartVersion));
  }
}

void BlockReader::fail(const std::string& what) const {
  throw Damaged(fmt::format("{} is damaged: {}", name_, what));
}

void BlockReader::take(char* to, std::size_t bytes) {
  const std::size_t n = source_(to, bytes);
  if (n != bytes) fail(fmt::format("it ends after {} bytes", sum_.bytes + n));
  sum_.bytes += n;
  sum_.crc = crc32c({to, n}, sum_.crc);
}

BlockReader::Block BlockReader::next() {
  const std::uint64_t at = sum_.bytes;
  BlockHead head{};
  take(reinterpret_cast<char*>(&head), sizeof head);
  if (head.size > kLargestBlock || head.number != next_) {
    fail(fmt::format("there is no block {} at byte {}", next_, at));
  }
  payload_.resize(head.size);
  take(payload_.data(), head.size);
  if (head.crc != head.crc_with(payload_)) {
    fail(fmt::format("the block at byte {} has another checksum", at));
  }
  if (head.kind < 1 || head.kind > 5) fail(fmt::format("the block at byte {} is of no kind", at));
  ++next_;
  return {static_cast<BlockKind>(head.kind), payload_};
}

FileSum BlockReader::end() {
  char more = 0;
  if (source_(&more, 1) != 0) fail(fmt::format("something follows its end, byte {}", sum_.bytes));
  return sum_;
}

}  // namespace trireme::distributed::checkpoint
