#pragma once

#include <cstdint>

// Options of the augmentations of data.h. What is drawn for an example depends on the seed, the
// epoch, the example's place in its source and the augmentation's place in the chain alone: not on
// the order, the batches or the number of threads.
namespace trireme::data {

struct CropOptions {
  std::int64_t padding = 0;  // black pixels put around the picture before
  std::uint64_t seed = 1;
};

struct FlipOptions {
  double probability = 0.5;
  std::uint64_t seed = 1;
};

// Each factor is drawn from [1 - value, 1 + value], but not below 0.
struct JitterOptions {
  double brightness = 0.4;  // times every value
  double contrast = 0.4;    // away from the picture's mean gray
  double saturation = 0.4;  // away from the pixel's gray; nothing for pictures without colour
  std::uint64_t seed = 1;
};

struct CutoutOptions {
  std::uint64_t seed = 1;
};

struct MixupOptions {
  double alpha = 0.2;        // shares are drawn from Beta(alpha, alpha)
  std::int64_t classes = 0;  // of "label"; 0: as many as there are class names
  std::uint64_t seed = 1;
};

}  // namespace trireme::data
