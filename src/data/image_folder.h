#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::data {

// The PNG and JPEG files of a folder with one subfolder for each class, sorted by class and name.
struct PictureFolder {
  std::vector<std::string> class_names;
  std::vector<std::string> files;
  std::vector<std::int64_t> labels;  // of the files
};

// Errors: not_found; io; data if there are no pictures.
PictureFolder list_pictures(const std::string& path);

}  // namespace trireme::data
