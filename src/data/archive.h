#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace trireme::data {

struct ArchivedFile {
  std::string name;  // with folders: "BCCD/Annotations/BloodImage_00000.xml"
  std::string bytes;
};

// Returns the plain files of a tar or zip archive whose names `wanted` accepts, in the order of the
// archive. `name` is for messages. Errors: data if the archive is damaged or truncated, or these
// files have more than `limit` bytes.
std::vector<ArchivedFile> read_archive(std::string_view bytes, const std::string& name,
                                       const std::function<bool(const std::string&)>& wanted,
                                       std::size_t limit = max_bytes(FileLimit::unpacked));

}  // namespace trireme::data
