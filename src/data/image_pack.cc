#include "data/image_pack.h"

#include "base/error.h"
#include "data/find.h"
#include "data/pixels.h"

namespace trireme::data {
namespace {

constexpr std::size_t kRecordHeader = 5;

std::uint32_t little_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string at_record(const std::string& name, std::size_t record, std::size_t byte) {
  return name + ": record " + std::to_string(record) + " at byte " + std::to_string(byte);
}

class ImagePackSource : public Source {
 public:
  ImagePackSource(ImagePack pack, std::int64_t side, std::vector<std::string> class_names)
      : pack_(std::move(pack)), side_(side), class_names_(std::move(class_names)) {
    columns_ = {{"image", DType::f32, {3, side, side}}, {"label", DType::i64, {}}};
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(pack_.records.size()); }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }

  Batch gather(std::span<const std::int64_t> rows) const override {
    const auto count = static_cast<std::int64_t>(rows.size());
    Tensor image = Tensor::uninitialized(DType::f32, {count, 3, side_, side_});
    Tensor label = Tensor::uninitialized(DType::i64, {count});
    const auto pixels = static_cast<std::size_t>(side_ * side_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      const ImagePack::Record& record = pack_.records[row];
      decode_planes(pack_.blob.bytes.substr(record.offset, record.size),
                    at_record(pack_.name, row, record.offset - kRecordHeader), side_, side_,
                    image.data<float>() + i * 3 * pixels);
      label.data<std::int64_t>()[i] = record.label;
    }
    return {{"image", std::move(image)}, {"label", std::move(label)}};
  }

 private:
  ImagePack pack_;
  std::int64_t side_;
  std::vector<std::string> class_names_;
  std::vector<Column> columns_;
};

}  // namespace

ImagePack parse_image_pack(Blob blob, const std::string& name, std::int64_t classes) {
  ImagePack pack{name, std::move(blob), {}};
  const std::string_view bytes = pack.blob.bytes;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string where = at_record(name, pack.records.size(), at);
    if (bytes.size() - at < kRecordHeader) {
      fail_data(where + ": cut short: " + std::to_string(bytes.size() - at) +
                " bytes are left, a record starts with " + std::to_string(kRecordHeader));
    }
    const ImagePack::Record record{at + kRecordHeader, little_endian(bytes.data() + at + 1),
                                   static_cast<std::uint8_t>(bytes[at])};
    if (record.label >= classes) {
      fail_data(where + ": label " + std::to_string(record.label) + ", labels are 0 to " +
                std::to_string(classes - 1));
    }
    if (record.size > bytes.size() - record.offset) {
      fail_data(where + ": cut short: the picture takes " + std::to_string(record.size) +
                " bytes, but " + std::to_string(bytes.size() - record.offset) + " are left");
    }
    pack.records.push_back(record);
    at = record.offset + record.size;
  }
  if (pack.records.empty()) fail_data(name + ": the file has no records");
  return pack;
}

Dataset image_pack_dataset(ImagePack pack, std::int64_t side,
                           std::vector<std::string> class_names) {
  return Dataset(std::make_shared<ImagePackSource>(std::move(pack), side, std::move(class_names)));
}

Dataset cifar10(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("cifar10"), split, options.directory)[0];
  return image_pack_dataset(
      parse_image_pack(read_blob_cached(path), path, 10), 32,
      {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"});
}

}  // namespace trireme::data
