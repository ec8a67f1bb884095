#include "base/checked_folder.h"

#include <fmt/core.h>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme {
namespace {

std::string first_words(const FolderFormat& format) {
  return fmt::format("trireme {} ", format.name);
}

}  // namespace

std::string checksums_text(const FolderFormat& format,
                           const std::map<std::string, std::string_view>& files) {
  std::string text = fmt::format("{}{}\n", first_words(format), format.version);
  for (const auto& [name, content] : files) {
    text += fmt::format("{}  {}\n", checksum(content), name);
  }
  return text + checksum(text) + "\n";
}

CheckedFolder::CheckedFolder(const Folder& folder, const FolderFormat& format)
    : folder_(folder), format_(format) {
  const std::string lines = check_whole(content_of(kChecksumsFile, FileLimit::text));
  const std::string first = lines.substr(0, lines.find('\n'));
  check_version(first);
  for (std::size_t at = first.size() + 1; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    const std::size_t gap = lines.find("  ", at);
    if (gap < end) digests_[lines.substr(gap + 2, end - gap - 2)] = lines.substr(at, gap - at);
    at = end + 1;
  }
}

std::string CheckedFolder::read(const std::string& file, FileLimit limit) const {
  std::string content = content_of(file, limit);
  const auto expected = digests_.find(file);
  if (expected == digests_.end() || expected->second != checksum(content)) fail_damaged(file);
  return content;
}

std::string CheckedFolder::content_of(const std::string& file, FileLimit limit) const {
  try {
    return folder_.read(file, limit);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
    fail_data(fmt::format("{} {}: {} is missing\n  hint   {}", format_.name, folder_.path(), file,
                          format_.hint));
  }
}

void CheckedFolder::fail_damaged(const std::string& file) const {
  fail_data(fmt::format("{} is damaged: its checksum is another\n  hint   {}", folder_.path(file),
                        format_.hint));
}

// The lines that the last one is the checksum of.
std::string CheckedFolder::check_whole(const std::string& text) const {
  if (text.size() < 2 || text.back() != '\n') fail_damaged(kChecksumsFile);
  const std::size_t last = text.rfind('\n', text.size() - 2);
  if (last == std::string::npos ||
      text.substr(last + 1) != checksum(std::string_view(text).substr(0, last + 1)) + "\n") {
    fail_damaged(kChecksumsFile);
  }
  return text.substr(0, last + 1);
}

void CheckedFolder::check_version(const std::string& first_line) const {
  const std::string words = first_words(format_);
  if (first_line == words + std::to_string(format_.version)) return;
  if (!first_line.starts_with(words)) {
    fail_data(fmt::format("{} is no {} of Trireme", folder_.path(), format_.name));
  }
  fail_data(
      fmt::format("{} {} has format {}, and this version of Trireme reads {}\n"
                  "  hint   use the version of Trireme that wrote it, or a newer one",
                  format_.name, folder_.path(), first_line.substr(words.size()), format_.version));
}

}  // namespace trireme
