#include "data/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "base/error.h"

namespace trireme::data {
namespace {

struct CloseArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, CloseArchive>;

[[noreturn]] void fail_archive(const std::string& name, archive* reader) {
  const char* reason = archive_error_string(reader);
  fail_data(name + ": no archive, or a damaged one: " + (reason != nullptr ? reason : "unknown"));
}

std::string entry_name(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  return name == nullptr ? "" : name;
}

std::string read_entry(archive* reader, const std::string& name, std::size_t limit) {
  std::string bytes;
  char block[1 << 14];
  while (true) {
    const la_ssize_t count = archive_read_data(reader, block, sizeof block);
    if (count < 0) fail_archive(name, reader);
    if (count == 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(count));
    if (bytes.size() > limit) {
      fail_data(name + ": unpacks to more than " + std::to_string(limit) +
                " bytes\n  hint   set TRIREME_MAX_FILE_BYTES to raise the limit");
    }
  }
}

}  // namespace

std::vector<ArchivedFile> read_archive(std::string_view bytes, const std::string& name,
                                       const std::function<bool(const std::string&)>& wanted,
                                       std::size_t limit) {
  const Reader reader(archive_read_new());
  if (!reader) fail(ErrorKind::io, name + ": no memory to read it");
  // No filters: what packs the whole archive is taken off by decompress(), within its limits, where
  // libarchive might call a program.
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_zip(reader.get());
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    fail_archive(name, reader.get());
  }
  std::vector<ArchivedFile> files;
  archive_entry* entry = nullptr;
  while (true) {
    const int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) return files;
    if (status < ARCHIVE_WARN) fail_archive(name, reader.get());
    const std::string file = entry_name(entry);
    if (archive_entry_filetype(entry) != AE_IFREG || !wanted(file)) continue;
    files.push_back({file, read_entry(reader.get(), name + ": " + file, limit)});
    limit -= files.back().bytes.size();
  }
}

}  // namespace trireme::data
