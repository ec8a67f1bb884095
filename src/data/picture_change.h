#pragma once

// Random changes of the pictures of a data set, one example at a time. The functions of Dataset in
// augment.cc and augment_geometry.cc are made of these.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/random.h"
#include "trireme/data.h"

namespace trireme::data {

struct Picture {  // sizes of a picture [channels, height, width]
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::int64_t pixels() const { return height * width; }
  std::int64_t elements() const { return channels * pixels(); }
};

// Makes `out` of `in`; both are the same memory where the sizes stay as they are and `in_place` is
// true.
struct Change {
  std::function<void(const float* in, float* out, ExampleRandom& random)> apply;
  Picture result;
  bool in_place = true;
  std::uint64_t seed = 0;
};

// The name of the one column that holds pictures. Error(usage) with `who` if there is none or two.
std::string picture_column(const char* who, const Dataset& dataset);
Picture picture_of(const Dataset& dataset, const std::string& column);

// The brightness of a pixel, with the weights of ITU-R BT.601; the value itself where there is no
// color.
float gray_at(const float* picture, const Picture& size, std::int64_t pixel);

// `source` with the change of its pictures. `stage` is the place in a chain of changes.
std::shared_ptr<const Source> changed_pictures(std::shared_ptr<const Source> source,
                                               std::string column, Change change,
                                               std::uint64_t stage);

}  // namespace trireme::data
