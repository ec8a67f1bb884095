#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"

namespace trireme {

// A folder that is opened once. Its files are opened relative to it, so all of them come from the
// same folder, also while another process puts a new folder of that name in its place.
class Folder {
 public:
  // Errors: not_found, io.
  explicit Folder(std::string path);

  const std::string& path() const { return path_; }
  // The path of a file in it, for messages.
  std::string path(const std::string& file) const { return path_ + "/" + file; }

  // Returns the whole file. Never waits, so a pipe is refused. Errors: not_found; io; data if
  // `file` is not the plain name of a file, such as "../x".
  std::string read(const std::string& file, FileLimit limit) const;
  bool contains(const std::string& file) const;

  // Whether its path is now that of another folder, or of none.
  bool was_replaced() const;

 private:
  std::string path_;
  Descriptor descriptor_;
};

// Whether a name that data give is that of a file in a folder, and not of one elsewhere.
bool is_plain_name(std::string_view name);

// Returns the names in a folder, in no order, without "." and "..". Sets `error` to 0 or to the
// errno of the call that failed. std::filesystem ends the process if there is no memory; this
// throws.
std::vector<std::string> names_in(const std::string& path, int& error);

// Deletes a file, or a folder with everything in it. Follows no links, and needs no memory.
// Whatever cannot be deleted stays.
void delete_tree(const std::string& path) noexcept;

// Returns read(folder) for the opened folder. If that fails because another process has replaced
// the folder, and so has deleted the opened one, reads the new one. Errors: those of Folder and of
// `read`.
template <class Read>
auto read_folder(const std::string& directory, const Read& read) {
  constexpr int kAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    const Folder folder(directory);
    try {
      return read(folder);
    } catch (const Error&) {
      if (attempt == kAttempts || !folder.was_replaced()) throw;
    }
  }
}

}  // namespace trireme
