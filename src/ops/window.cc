#include "ops/window.h"

#include <algorithm>

namespace trireme::ops {
namespace {

// Reads the list into `out`, whose size is the expected number of elements.
void read(const Attributes& attributes, const char* name, std::int64_t min_value,
          std::vector<std::int64_t>* out) {
  if (!has_attribute(attributes, name)) return;
  const auto& list = get_attribute<std::vector<std::int64_t>>(attributes, name);
  const std::string what = std::string(name) + " " + print_attribute(list);
  const std::size_t count = out->size();
  const char* meaning = count == 2   ? "height, width"
                        : count == 3 ? "depth, height, width"
                        : count == 4 ? "top, bottom, left, right"
                                     : "front, back, top, bottom, left, right";
  require(list.size() == count, what + " must have " + std::to_string(count) + " numbers", meaning);
  require(std::all_of(list.begin(), list.end(), [&](std::int64_t n) { return n >= min_value; }),
          what + " must have numbers of at least " + std::to_string(min_value));
  require(std::all_of(list.begin(), list.end(),
                      [](std::int64_t n) { return n <= kLargestWindowNumber; }),
          what + " must have numbers of at most " + std::to_string(kLargestWindowNumber));
  *out = list;
}

}  // namespace

std::int64_t Window::count(std::size_t axis, std::int64_t size) const {
  const std::int64_t room = size + before(axis) + after(axis) - span(axis);
  return room < 0 ? 0 : room / stride[axis] + 1;
}

Window window_of(const Attributes& attributes, std::size_t axes) {
  Window window(axes);
  read(attributes, "kernel", 1, &window.kernel);
  read(attributes, "stride", 1, &window.stride);
  read(attributes, "dilation", 1, &window.dilation);
  read(attributes, "padding", 0, &window.padding);
  return window;
}

void require_image(const Type& type, const std::string& text, std::size_t axes) {
  require(is_arithmetic_float(type.dtype), text + " is not of a float dtype", "cast it to f32");
  require_image_shape(type, text, axes);
}

void require_image_shape(const Type& type, const std::string& text, std::size_t axes) {
  const bool volume = axes == 3;
  require(type.rank() == static_cast<int>(2 + axes),
          text + (volume ? " is not [N, C, D, H, W]" : " is not [N, C, H, W]"),
          volume ? "reshape it to [batch, channels, depth, height, width]"
                 : "reshape it; one gray image per row is [batch, 1, height, width]");
  require(
      std::all_of(type.shape.begin() + 2, type.shape.end(),
                  [](const Dim& size) { return size.is_constant(); }),
      (volume ? "depth, height and width of " : "height and width of ") + text + " must be numbers",
      "only the number of images may be a symbol");
}

std::array<std::int64_t, 2> image_size(const Type& type) {
  return {type.shape[2].constant(), type.shape[3].constant()};
}

Shape windows_shape(const Shape& image, const Dim& channels, const Window& window,
                    const std::string& text) {
  Shape result{image[0], channels};
  const std::array<const char*, 3> names = {"depth ", "height ", "width "};
  for (std::size_t axis = 0; axis < window.axes(); ++axis) {
    const std::int64_t size = image[2 + axis].constant();
    const std::int64_t count = window.count(axis, size);
    require(count > 0,
            "a window of " + std::to_string(window.span(axis)) + " does not fit into the " +
                names[3 - window.axes() + axis] + std::to_string(size) + " of " + text +
                " with padding " + std::to_string(window.before(axis)) + " and " +
                std::to_string(window.after(axis)),
            "use a smaller kernel or more padding");
    result.emplace_back(count);
  }
  return result;
}

}  // namespace trireme::ops
