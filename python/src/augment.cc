// Augmentations of pictures: methods of Dataset.

#include "augment.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "trireme/data.h"

namespace trireme::python {

namespace {

using data::Dataset;

constexpr int kSeed = 1;

void add_crops(nb::class_<Dataset>& dataset) {
  dataset
      .def(
          "random_crop",
          [](const Dataset& d, std::int64_t size, std::int64_t padding, std::uint64_t seed) {
            return d.random_crop(size, {.padding = padding, .seed = seed});
          },
          nb::arg("size"), nb::kw_only(), nb::arg("padding") = 0, nb::arg("seed") = kSeed,
          "Cuts out a random square; `padding` black pixels are added around the picture before.")
      .def(
          "random_resized_crop",
          [](const Dataset& d, std::int64_t size, double min_area, double max_area,
             double min_ratio, double max_ratio, std::uint64_t seed) {
            return d.random_resized_crop(size, {.min_area = min_area,
                                                .max_area = max_area,
                                                .min_ratio = min_ratio,
                                                .max_ratio = max_ratio,
                                                .seed = seed});
          },
          nb::arg("size"), nb::kw_only(), nb::arg("min_area") = 0.08, nb::arg("max_area") = 1.0,
          nb::arg("min_ratio") = 3.0 / 4, nb::arg("max_ratio") = 4.0 / 3, nb::arg("seed") = kSeed,
          "Cuts out a window of random size, shape and place, and resizes it to size x size.")
      .def("center_crop", &Dataset::center_crop, nb::arg("size"), "The square in the middle.")
      .def("resize", &Dataset::resize, nb::arg("height"), nb::arg("width"),
           "Resizes by bilinear interpolation.")
      .def(
          "cutout",
          [](const Dataset& d, std::int64_t size, std::uint64_t seed) {
            return d.cutout(size, {.seed = seed});
          },
          nb::arg("size"), nb::kw_only(), nb::arg("seed") = kSeed,
          "Draws a black square around a random pixel.");
}

void add_turns(nb::class_<Dataset>& dataset) {
  dataset
      .def(
          "flip",
          [](const Dataset& d, double probability, std::uint64_t seed) {
            return d.flip({.probability = probability, .seed = seed});
          },
          nb::kw_only(), nb::arg("probability") = 0.5, nb::arg("seed") = kSeed,
          "Mirrors left and right.")
      .def(
          "vertical_flip",
          [](const Dataset& d, double probability, std::uint64_t seed) {
            return d.vertical_flip({.probability = probability, .seed = seed});
          },
          nb::kw_only(), nb::arg("probability") = 0.5, nb::arg("seed") = kSeed,
          "Mirrors top and bottom.")
      .def(
          "rotate",
          [](const Dataset& d, double degrees, std::uint64_t seed) {
            return d.rotate(degrees, {.seed = seed});
          },
          nb::arg("degrees"), nb::kw_only(), nb::arg("seed") = kSeed,
          "Turns by a random angle in [-degrees, degrees], counter-clockwise; black outside.");
}

void add_colors(nb::class_<Dataset>& dataset) {
  dataset
      .def(
          "color_jitter",
          [](const Dataset& d, double brightness, double contrast, double saturation,
             std::uint64_t seed) {
            return d.color_jitter({.brightness = brightness,
                                   .contrast = contrast,
                                   .saturation = saturation,
                                   .seed = seed});
          },
          nb::kw_only(), nb::arg("brightness") = 0.4, nb::arg("contrast") = 0.4,
          nb::arg("saturation") = 0.4, nb::arg("seed") = kSeed,
          "Multiplies brightness, contrast and saturation by random factors.")
      .def(
          "grayscale",
          [](const Dataset& d, double probability, std::uint64_t seed) {
            return d.grayscale({.probability = probability, .seed = seed});
          },
          nb::kw_only(), nb::arg("probability") = 0.1, nb::arg("seed") = kSeed,
          "Takes the color away, and keeps the channels.")
      .def(
          "blur",
          [](const Dataset& d, double min_sigma, double max_sigma, std::uint64_t seed) {
            return d.blur({.min_sigma = min_sigma, .max_sigma = max_sigma, .seed = seed});
          },
          nb::kw_only(), nb::arg("min_sigma") = 0.1, nb::arg("max_sigma") = 2.0,
          nb::arg("seed") = kSeed, "Applies a Gaussian filter of random standard deviation.")
      .def("normalize", &Dataset::normalize, nb::arg("mean"), nb::arg("stddev"),
           "(x - mean) / stddev, with one number for each channel or one for all.")
      .def(
          "mixup",
          [](const Dataset& d, double alpha, std::int64_t classes, std::uint64_t seed) {
            return d.mixup({.alpha = alpha, .classes = classes, .seed = seed});
          },
          nb::kw_only(), nb::arg("alpha") = 0.2, nb::arg("classes") = 0, nb::arg("seed") = kSeed,
          "Mixes every example with the next one of its batch; labels become shares of classes.");
}

}  // namespace

void add_augmentations(nb::class_<data::Dataset>& dataset) {
  add_crops(dataset);
  add_turns(dataset);
  add_colors(dataset);
}

}  // namespace trireme::python
