#include "data/blob.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/cache.h"
#include "base/error.h"
#include "base/file.h"

namespace trireme::data {
namespace {

constexpr std::size_t kLimit = std::size_t{4} << 30;

// A cached file ends with this trailer after the unpacked content. It shows that the file is
// complete.
struct Trailer {
  char magic[8] = {'t', 'r', 'i', 'r', 'e', 'm', 'e', '1'};
  std::uint64_t size = 0;  // of what was unpacked
};

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Where the unpacked content of `path` is kept; empty if nowhere.
std::string kept_path(const std::string& path) {
  const std::string directory = cache_directory();
  struct stat status{};
  if (directory.empty() || ::stat(path.c_str(), &status) != 0) return "";
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  const std::string key = absolute + '\0' + std::to_string(status.st_size) + '\0' +
                          std::to_string(status.st_mtim.tv_sec) + '.' +
                          std::to_string(status.st_mtim.tv_nsec);
  char name[32];
  std::snprintf(name, sizeof name, "%016" PRIx64, fnv1a(key));
  if (!make_cache_folder(directory + "/data")) return "";
  return directory + "/data/" + name;
}

// The kept file mapped into memory; empty owner if there is none or it is not whole.
Blob map_kept(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  struct stat status{};
  void* memory = MAP_FAILED;
  std::size_t size = 0;
  if (::fstat(fd, &status) == 0 && status.st_size > static_cast<off_t>(sizeof(Trailer))) {
    size = static_cast<std::size_t>(status.st_size);
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  ::close(fd);
  if (memory == MAP_FAILED) return {};
  Blob blob;
  blob.owner = std::shared_ptr<const void>(
      memory, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  const Trailer expected{.size = size - sizeof(Trailer)};
  blob.bytes = {static_cast<const char*>(memory), size - sizeof(Trailer)};
  if (std::memcmp(blob.bytes.end(), &expected, sizeof expected) != 0) return {};
  return blob;
}

void keep(const std::string& path, const std::string& content) {
  try {
    const Trailer trailer{.size = content.size()};
    std::string whole = content;
    whole.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
    write_file_atomically(path, whole);
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
  return Blob::own(decompress(read_file(path), path, kLimit));
}

Blob map_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  struct stat status{};
  if (fd < 0 || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    if (fd >= 0) ::close(fd);
    const bool none = fd < 0 && error == ENOENT;
    fail(none ? ErrorKind::not_found : ErrorKind::io,
         "cannot read " + path + ": " +
             (fd < 0 ? std::generic_category().message(error) : "it is empty or no plain file"));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) fail_io("cannot map " + path + " into memory");
  return {std::shared_ptr<const void>(
              memory, [size](const void* p) { ::munmap(const_cast<void*>(p), size); }),
          {static_cast<const char*>(memory), size}};
}

Blob read_blob_cached(const std::string& path) {
  const std::string kept = kept_path(path);
  if (!kept.empty()) {
    if (Blob blob = map_kept(kept); blob.owner) return blob;
  }
  std::string packed = read_file(path);
  std::string content = decompress(packed, path, kLimit);
  if (!kept.empty() && content.size() != packed.size()) keep(kept, content);
  return Blob::own(std::move(content));
}

}  // namespace trireme::data
