#pragma once

// A folder whose files are told to be whole by checksums.txt:
//
//   <words> <version>
//   <digest>  <file>            one line for each file; XXH128, as `xxhsum -H2` prints it
//   <digest>                    of the lines before
//
// A file that was changed by accident is found; one that was changed on purpose is not.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

inline constexpr const char* kChecksumsFile = "checksums.txt";

// What a kind of folder is called, and what messages about a damaged one advise.
struct FolderFormat {
  const char* name;  // "checkpoint": the words are "trireme checkpoint"
  int version;
  const char* hint;
};

// The text of checksums.txt for files of those contents.
std::string checksums_text(const FolderFormat& format,
                           const std::map<std::string, std::string_view>& files);

class CheckedFolder {
 public:
  // Reads checksums.txt. Errors: not_found, if there is no such folder; data, naming the file, if it
  // is missing or damaged, of another kind or of another version; io.
  CheckedFolder(std::string directory, const FolderFormat& format);

  // The content of a file that is as it was written. Errors: data, naming it; io.
  std::string read(const std::string& file) const;
  std::string path(const std::string& file) const { return directory_ + "/" + file; }

 private:
  std::string content_of(const std::string& file) const;
  [[noreturn]] void fail_damaged(const std::string& file) const;
  std::string check_whole(const std::string& text) const;
  void check_version(const std::string& first_line) const;

  std::string directory_;
  FolderFormat format_;
  std::map<std::string, std::string> digests_;
};

}  // namespace trireme
