#pragma once

// For tests: JPEG images.

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <string>

#include "trireme/tensor.h"

namespace trireme::data {

// Returns an image u8[height, width, 1 or 3] as a JPEG file of high quality.
inline std::string jpeg(const Tensor& image) {
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT: libturbojpeg's type
  const bool color = image.dim(2) == 3;
  EXPECT_EQ(tjCompress2(encoder, image.data<std::uint8_t>(), static_cast<int>(image.dim(1)), 0,
                        static_cast<int>(image.dim(0)), color ? TJPF_RGB : TJPF_GRAY, &bytes, &size,
                        color ? TJSAMP_444 : TJSAMP_GRAY, 98, 0),
            0);
  std::string result(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return result;
}

}  // namespace trireme::data
