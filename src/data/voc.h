#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// The objects in an image, in the form of Pascal VOC (Everingham et al. 2010).
struct VocObject {
  std::string name;
  float x_min = 0, y_min = 0, x_max = 0, y_max = 0;  // in pixels
};
struct VocPicture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<VocObject> objects;
};

// Errors: data if it is no such XML, or a box is not inside of the image.
VocPicture parse_voc(std::string_view xml, const std::string& name);

}  // namespace trireme::data
