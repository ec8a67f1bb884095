#pragma once

// A folder whose file checksums.txt shows that the other files are complete:
//
//   <words> <version>
//   <digest>  <file>            one line for each file; XXH128, as `xxhsum -H2` prints it
//   <digest>                    of the lines before
//
// It finds files that were changed by accident, not files that were changed on purpose.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.h"

namespace trireme {

inline constexpr const char* kChecksumsFile = "checksums.txt";

// The name of a kind of folder, and the advice of messages about a damaged one.
struct FolderFormat {
  const char* name;  // "checkpoint": the words are "trireme checkpoint"
  int version;
  const char* hint;
};

// Returns the text of checksums.txt for files with these contents.
std::string checksums_text(const FolderFormat& format,
                           const std::map<std::string, std::string_view>& files);

// Reads files of an open folder and checks them. Keeps a reference to the folder.
class CheckedFolder {
 public:
  // Reads checksums.txt. Errors: data with the name of the file if it is missing, damaged, of
  // another kind or of another version; io.
  CheckedFolder(const Folder& folder, const FolderFormat& format);

  // Returns the content of a file whose checksum is right. Errors: data with its name; io.
  std::string read(const std::string& file, FileLimit limit = FileLimit::content) const;

 private:
  std::string content_of(const std::string& file, FileLimit limit) const;
  [[noreturn]] void fail_damaged(const std::string& file) const;
  std::string check_whole(const std::string& text) const;
  void check_version(const std::string& first_line) const;

  const Folder& folder_;
  FolderFormat format_;
  std::map<std::string, std::string> digests_;
};

}  // namespace trireme
