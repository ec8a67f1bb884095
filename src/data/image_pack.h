#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/blob.h"
#include "trireme/data.h"

namespace trireme::data {

// Concatenated records: the label as a byte, the size of the image as 32 bits, little-endian, and
// the image as a JPEG file.
struct ImagePack {
  struct Record {
    std::size_t offset = 0;  // of the JPEG in the bytes
    std::uint32_t size = 0;
    std::uint8_t label = 0;
  };
  std::string name;  // for messages
  Blob blob;
  std::vector<Record> records;
};

// Checks that the records fill the bytes exactly and that labels are below `classes`, but not the
// images. Errors: data with record and byte.
ImagePack parse_image_pack(Blob blob, const std::string& name, std::int64_t classes);

// "image" f32[3, side, side] in [0, 1] and "label" i64[]. Images are decoded when they are read: a
// damaged one, or one of another size, is an error (data) of that batch.
Dataset image_pack_dataset(ImagePack pack, std::int64_t side, std::vector<std::string> class_names);

}  // namespace trireme::data
