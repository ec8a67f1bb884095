#pragma once

#include <cstdint>

// Options of the augmentations of data.h. The random numbers for an example depend only on the
// seed, the epoch, the example's index in its source and the augmentation's position in the chain.
// They do not depend on the order, the batches or the number of threads.
namespace trireme::data {

struct CropOptions {
  std::int64_t padding = 0;  // black pixels added around the image before cropping
  std::uint64_t seed = 1;
};

struct FlipOptions {
  double probability = 0.5;
  std::uint64_t seed = 1;
};

// Each factor is drawn from [1 - value, 1 + value], but not below 0.
struct JitterOptions {
  double brightness = 0.4;  // multiplies every value
  double contrast = 0.4;    // scales the distance from the image's mean gray
  double saturation = 0.4;  // scales the distance from the pixel's gray; no effect on gray images
  std::uint64_t seed = 1;
};

struct CutoutOptions {
  std::uint64_t seed = 1;
};

struct ResizedCropOptions {
  double min_area = 0.08, max_area = 1;             // of the window, relative to the picture
  double min_ratio = 3.0 / 4, max_ratio = 4.0 / 3;  // width / height of the window
  std::uint64_t seed = 1;
};

struct RotateOptions {
  std::uint64_t seed = 1;
};

struct GrayscaleOptions {
  double probability = 0.1;
  std::uint64_t seed = 1;
};

struct BlurOptions {
  double min_sigma = 0.1, max_sigma = 2;  // standard deviations of the Gaussian, in pixels
  std::uint64_t seed = 1;
};

struct MixupOptions {
  double alpha = 0.2;        // mixing weights are drawn from Beta(alpha, alpha)
  std::int64_t classes = 0;  // of "label"; 0: the number of class names
  std::uint64_t seed = 1;
};

}  // namespace trireme::data
