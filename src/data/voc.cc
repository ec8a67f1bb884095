#include "data/voc.h"

#include <cmath>
#include <pugixml.hpp>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme::data {
namespace {

pugi::xml_node child(const pugi::xml_node& node, const char* key, const std::string& name) {
  const pugi::xml_node found = node.child(key);
  if (!found) fail_data(name + ": <" + node.name() + "> has no <" + key + ">");
  return found;
}

float number(const pugi::xml_node& node, const char* key, const std::string& name) {
  const std::string text = child(node, key, name).child_value();
  const std::optional<double> value = parse_float(text);
  if (!value || !std::isfinite(static_cast<float>(*value))) {
    fail_data(name + ": <" + key + "> is \"" + text.substr(0, 40) + "\", no number");
  }
  return static_cast<float>(*value);
}

std::int64_t pixels(const pugi::xml_node& node, const char* key, const std::string& name) {
  constexpr float kLargest = 1 << 14;
  const float value = number(node, key, name);
  if (value < 1 || value > kLargest || value != std::floor(value)) {
    fail_data(name + ": <" + key + "> must be a whole number of pixels, 1 to 16384");
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

VocPicture parse_voc(std::string_view xml, const std::string& name) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(xml.data(), xml.size());
  if (!result) {
    fail_data(name + ": byte " + std::to_string(result.offset) + ": " + result.description());
  }
  const pugi::xml_node root = document.child("annotation");
  if (!root) fail_data(name + ": no <annotation>, so no file of Pascal VOC");
  const pugi::xml_node size = child(root, "size", name);
  VocPicture picture{pixels(size, "width", name), pixels(size, "height", name), {}};
  for (const pugi::xml_node& node : root.children("object")) {
    const pugi::xml_node box = child(node, "bndbox", name);
    const VocObject object{child(node, "name", name).child_value(), number(box, "xmin", name),
                           number(box, "ymin", name), number(box, "xmax", name),
                           number(box, "ymax", name)};
    // Boxes of one pixel or of none are in published files, so equal corners are not refused.
    if (object.x_min < 0 || object.y_min < 0 || object.x_max < object.x_min ||
        object.y_max < object.y_min || object.x_max > static_cast<float>(picture.width) ||
        object.y_max > static_cast<float>(picture.height)) {
      fail_data(name + ": a box of " + object.name + " does not lie in the picture of " +
                std::to_string(picture.width) + " x " + std::to_string(picture.height));
    }
    picture.objects.push_back(object);
  }
  return picture;
}

}  // namespace trireme::data
