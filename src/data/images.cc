// Labelled images from IDX files: (Fashion-)MNIST and files of one's own.
#include <array>

#include "base/error.h"
#include "data/find.h"
#include "data/idx.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

// Keeps the bytes and makes floats of them only when a batch is gathered: a quarter of the memory,
// and a mapped file is read page by page as needed.
class ImageSource : public Source {
 public:
  ImageSource(Idx images, std::vector<std::int64_t> labels, std::vector<std::string> class_names)
      : images_(std::move(images)),
        labels_(std::move(labels)),
        class_names_(std::move(class_names)) {
    const std::vector<std::int64_t>& shape = images_.shape;
    const std::int64_t channels = shape.size() == 4 ? shape[3] : 1;
    columns_ = {{"image", DType::f32, {channels, shape[1], shape[2]}}, {"label", DType::i64, {}}};
    for (std::size_t i = 0; i < floats_.size(); ++i) floats_[i] = static_cast<float>(i) / 255.0f;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }

  Batch gather(std::span<const std::int64_t> rows) const override {
    const std::vector<std::int64_t>& shape = columns_[0].shape;
    const auto count = static_cast<std::int64_t>(rows.size());
    Tensor image = Tensor::uninitialized(DType::f32, {count, shape[0], shape[1], shape[2]});
    Tensor label = Tensor::uninitialized(DType::i64, {count});
    const auto channels = static_cast<std::size_t>(shape[0]);
    const auto pixels = static_cast<std::size_t>(shape[1] * shape[2]);
    const auto* stored = reinterpret_cast<const unsigned char*>(images_.payload.data());
    float* out = image.data<float>();
    for (std::size_t i = 0; i < rows.size(); ++i, out += channels * pixels) {
      const auto row = static_cast<std::size_t>(rows[i]);
      const unsigned char* in = stored + row * channels * pixels;
      for (std::size_t c = 0; c < channels; ++c) {
        const unsigned char* from = in + c;
        float* to = out + c * pixels;
        for (std::size_t p = 0; p < pixels; ++p, from += channels) to[p] = floats_[*from];
      }
      label.data<std::int64_t>()[i] = labels_[row];
    }
    return {{"image", std::move(image)}, {"label", std::move(label)}};
  }

 private:
  Idx images_;
  std::vector<std::int64_t> labels_;
  std::vector<std::string> class_names_;
  std::vector<Column> columns_;
  std::array<float, 256> floats_{};
};

std::vector<std::int64_t> read_labels(const std::string& path, std::int64_t classes) {
  const Idx idx = parse_idx(read_blob_cached(path), path);
  if (idx.shape.size() != 1 || idx.type == IdxType::f32 || idx.type == IdxType::f64) {
    fail_data(path + ": labels must be one row of integers");
  }
  std::vector<std::int64_t> labels = idx_tensor(idx).cast(DType::i64).to_vector<std::int64_t>();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] < 0 || (classes > 0 && labels[row] >= classes)) {
      fail_data(path + ": row " + std::to_string(row) + " has label " +
                std::to_string(labels[row]) + ", labels are 0 to " + std::to_string(classes - 1));
    }
  }
  return labels;
}

Dataset mnist_like(const char* name, std::string_view split, const LoadOptions& options,
                   std::vector<std::string> class_names) {
  const std::vector<std::string> paths = find_part(known_place(name), split, options.directory);
  return idx_images(paths[0], paths[1], {.class_names = std::move(class_names)});
}

}  // namespace

Dataset idx_images(const std::string& images_path, const std::string& labels_path,
                   const IdxOptions& options) {
  Idx images = parse_idx(read_blob_cached(images_path), images_path);
  const std::size_t rank = images.shape.size();
  if (images.type != IdxType::u8 || rank < 3 || rank > 4) {
    fail_data(images_path + ": images must be bytes of shape [n, height, width(, channels)]");
  }
  const std::int64_t classes =
      options.classes > 0 ? options.classes : static_cast<std::int64_t>(options.class_names.size());
  std::vector<std::int64_t> labels = read_labels(labels_path, classes);
  if (images.shape[0] != static_cast<std::int64_t>(labels.size())) {
    fail_data(images_path + " has " + std::to_string(images.shape[0]) + " images, but " +
              labels_path + " has " + std::to_string(labels.size()) + " labels");
  }
  return Dataset(
      std::make_shared<ImageSource>(std::move(images), std::move(labels), options.class_names));
}

Dataset fashion_mnist(std::string_view split, const LoadOptions& options) {
  return mnist_like("fashion_mnist", split, options,
                    {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                     "Sneaker", "Bag", "Ankle boot"});
}

Dataset mnist(std::string_view split, const LoadOptions& options) {
  return mnist_like("mnist", split, options, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

}  // namespace trireme::data
