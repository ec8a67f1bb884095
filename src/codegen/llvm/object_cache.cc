#include "codegen/llvm/object_cache.h"

#include <fmt/core.h>
#include <llvm/Config/llvm-config.h>

#include <cstring>

#include "base/cache.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"

namespace trireme::codegen {
namespace {

constexpr std::uint32_t kFormatVersion = 2;
constexpr char kMagic[8] = {'T', 'R', 'K', 'E', 'R', 'N', 'E', 'L'};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t length_low;
  std::uint32_t length_high;
  char checksum[32];
};
static_assert(sizeof(Header) == 52);

Header header_of(const std::string& object) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.length_low = static_cast<std::uint32_t>(object.size());
  header.length_high = static_cast<std::uint32_t>(std::uint64_t{object.size()} >> 32);
  checksum(object).copy(header.checksum, sizeof header.checksum);
  return header;
}

}  // namespace

ObjectCache::ObjectCache(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty()) return;
  directory_ += "/kernels";
  if (!make_cache_folder(directory_)) directory_.clear();
}

std::string ObjectCache::path(const std::string& key) const {
  return directory_ + "/" + key + ".o";
}

std::optional<std::string> ObjectCache::find(const std::string& key) const {
  if (directory_.empty()) return std::nullopt;
  try {
    const std::string content = read_file(path(key));
    if (content.size() < sizeof(Header)) return std::nullopt;
    std::string object = content.substr(sizeof(Header));
    const Header expected = header_of(object);
    if (std::memcmp(content.data(), &expected, sizeof expected) != 0) return std::nullopt;
    return object;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ObjectCache::keep(const std::string& key, const std::string& object) const {
  if (directory_.empty()) return;
  const Header header = header_of(object);
  std::string content(reinterpret_cast<const char*>(&header), sizeof header);
  content += object;
  try {
    AtomicFile file(path(key));  // the folder may have many files, so it is not searched each time
    file.write(content);
    file.finish();
  } catch (const Error&) {  // the next process compiles again
  }
}

std::string object_key(const kernel_ir::Kernel& kernel, const Target& target) {
  kernel_ir::Kernel nameless = kernel;
  nameless.name.clear();
  for (std::string& name : nameless.sizes) name.clear();
  for (kernel_ir::Buffer& buffer : nameless.buffers) buffer.name.clear();
  return checksum(fmt::format("{}\nLLVM {}\n{}\n{}", codegen_digest(), LLVM_VERSION_STRING,
                              target.str(), print(nameless)));
}

}  // namespace trireme::codegen
