#include "data/blob.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/cache.h"
#include "base/checksum.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"

namespace trireme::data {
namespace {

constexpr std::size_t kEdge = 4096;  // bytes of the head and of the tail

// A cached file ends with this trailer after the unpacked content. It shows that the file is
// complete, and of which packed file it is the content.
struct Trailer {
  char magic[8] = {'t', 'r', 'i', 'r', 'e', 'm', 'e', '2'};
  std::uint64_t size = 0;  // of the content
  char identity[32];       // of the packed file
};

// The bytes of the open file at the end of [0, end).
std::string edge_of(int fd, off_t end) {
  char bytes[kEdge];
  const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(kEdge));
  const ssize_t n = ::pread(fd, bytes, static_cast<std::size_t>(end - begin), begin);
  return {bytes, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

// Returns a digest that differs if the content of the file may differ, or "". Times can be set, so
// that they say nothing, but that sets the time of the inode. A packed file ends in the checksum of
// its content, or in content.
std::string identity_of(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return "";
  return checksum(fmt::format(
      "{}\n{} {} {}.{} {}.{}\n{}\n{}", path, status.st_size, status.st_ino, status.st_mtim.tv_sec,
      status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
      edge_of(fd, std::min<off_t>(status.st_size, kEdge)), edge_of(fd, status.st_size)));
}

// Where the unpacked content of `path` is kept; empty if nowhere. One file for each path, so a
// packed file that changes often leaves nothing behind.
std::string kept_path(const std::string& absolute) {
  const std::string directory = cache_directory();
  if (directory.empty() || !make_cache_folder(directory + "/data")) return "";
  return fmt::format("{}/data/{:016x}", directory, hash64(absolute));
}

Trailer trailer_of(std::size_t size, const std::string& identity) {
  Trailer trailer{.size = size, .identity = {}};
  identity.copy(trailer.identity, sizeof trailer.identity);
  return trailer;
}

// The kept file mapped into memory; empty owner if there is none, it is not whole, or it is of
// another packed file.
Blob map_kept(const std::string& path, const std::string& identity) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      status.st_size <= static_cast<off_t>(sizeof(Trailer))) {
    return {};
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return {};
  Blob blob;
  blob.owner = std::shared_ptr<const void>(
      memory, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  const Trailer expected = trailer_of(size - sizeof(Trailer), identity);
  blob.bytes = {static_cast<const char*>(memory), size - sizeof(Trailer)};
  if (std::memcmp(blob.bytes.end(), &expected, sizeof expected) != 0) return {};
  return blob;
}

void keep(const std::string& path, const std::string& identity, const std::string& content) {
  try {
    const Trailer trailer = trailer_of(content.size(), identity);
    Temporary::remove_stale(path);
    AtomicFile file(path);
    file.write(content);
    file.write({reinterpret_cast<const char*>(&trailer), sizeof trailer});
    file.finish();
  } catch (const Error&) {
    // The next start unpacks again.
  }
}

}  // namespace

Blob Blob::own(std::string content) {
  auto owner = std::make_shared<const std::string>(std::move(content));
  const std::string_view bytes = *owner;
  return {std::move(owner), bytes};
}

bool ends_in(std::string name, std::string_view end) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.erase(name.size() - packed.size());
  }
  return name.ends_with(end);
}

Blob read_blob(const std::string& path) {
  std::string content = read_file(path);
  if (!is_packed(content)) return Blob::own(std::move(content));
  return Blob::own(decompress(content, path, max_bytes(FileLimit::unpacked)));
}

Blob read_blob_cached(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  const std::string identity = file.valid() ? identity_of(file.get(), absolute) : "";
  const std::string kept = identity.empty() ? "" : kept_path(absolute);
  if (kept.empty()) return read_blob(path);
  if (Blob blob = map_kept(kept, identity); blob.owner) return blob;
  std::string content = read_descriptor(file.get(), path, max_bytes(FileLimit::content));
  if (!is_packed(content)) return Blob::own(std::move(content));
  content = decompress(content, path, max_bytes(FileLimit::unpacked));
  // Not if another process has written to the packed file meanwhile.
  if (identity == identity_of(file.get(), absolute)) keep(kept, identity, content);
  return Blob::own(std::move(content));
}

}  // namespace trireme::data
