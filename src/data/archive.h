#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

struct ArchivedFile {
  std::string name;  // with its folders, "BCCD/Annotations/BloodImage_00000.xml"
  std::string bytes;
};

// The plain files of a tar or zip archive whose names `wanted` accepts, in its order. `name` is for
// messages. Errors: data, if it is damaged, cut short or holds more than `limit` bytes of them.
std::vector<ArchivedFile> read_archive(std::string_view bytes, const std::string& name,
                                       const std::function<bool(const std::string&)>& wanted,
                                       std::size_t limit = std::size_t{1} << 30);

}  // namespace trireme::data
