#include "data/image_folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "data/pixels.h"
#include "trireme/data.h"
#include "trireme/image.h"

namespace trireme::data {
namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end == ".png" || end == ".jpg" || end == ".jpeg";
}

// Returns the entries of a folder by name, without hidden ones.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(".")) result.push_back(entry->path());
  }
  if (error) {
    const bool none = error == std::errc::no_such_file_or_directory;
    fail(none ? ErrorKind::not_found : ErrorKind::io,
         "cannot list " + folder.string() + ": " + error.message());
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string size_text(std::int64_t height, std::int64_t width) {
  return std::to_string(width) + " x " + std::to_string(height);
}

class FolderSource : public Source {
 public:
  FolderSource(const std::string& path, const FolderOptions& options) : options_(options) {
    PictureFolder pictures = list_pictures(path);
    class_names_ = std::move(pictures.class_names);
    files_ = std::move(pictures.files);
    labels_ = std::move(pictures.labels);
    height_ = options.height;
    width_ = options.width;
    if (height_ == 0) {
      const Tensor first =
          image::load(files_[0], {.channels = options.channels, .upright = options.upright});
      height_ = first.dim(0);
      width_ = first.dim(1);
    }
    columns_ = {{"image", DType::f32, {options.channels, height_, width_}},
                {"label", DType::i64, {}}};
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }

  Batch gather(std::span<const std::int64_t> rows) const override {
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::int64_t channels = options_.channels;
    Tensor image = Tensor::uninitialized(DType::f32, {count, channels, height_, width_});
    Tensor label = Tensor::uninitialized(DType::i64, {count});
    float* out = image.data<float>();
    for (std::size_t i = 0; i < rows.size(); ++i, out += channels * height_ * width_) {
      const auto row = static_cast<std::size_t>(rows[i]);
      bytes_to_planes(load(files_[row]).data<std::uint8_t>(), static_cast<std::size_t>(channels),
                      static_cast<std::size_t>(height_ * width_), out);
      label.data<std::int64_t>()[i] = labels_[row];
    }
    return {{"image", std::move(image)}, {"label", std::move(label)}};
  }

 private:
  Tensor load(const std::string& path) const {
    Tensor picture =
        image::load(path, {.channels = options_.channels, .upright = options_.upright});
    if (picture.dim(0) == height_ && picture.dim(1) == width_) return picture;
    if (options_.height > 0) return image::resize(picture, height_, width_);
    fail_data(path + ": the picture has " + size_text(picture.dim(0), picture.dim(1)) +
              " pixels, but " + files_[0] + " has " + size_text(height_, width_) +
              "; give a height and width to resize all to");
  }

  FolderOptions options_;
  std::vector<std::string> files_;
  std::vector<std::int64_t> labels_;
  std::vector<std::string> class_names_;
  std::vector<Column> columns_;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
};

}  // namespace

PictureFolder list_pictures(const std::string& path) {
  PictureFolder pictures;
  for (const fs::path& folder : sorted_entries(path)) {
    if (!fs::is_directory(folder)) continue;
    for (const fs::path& file : sorted_entries(folder)) {
      if (!is_picture(file) || !fs::is_regular_file(file)) continue;
      pictures.files.push_back(file.string());
      pictures.labels.push_back(static_cast<std::int64_t>(pictures.class_names.size()));
    }
    pictures.class_names.push_back(folder.filename().string());
  }
  if (pictures.files.empty()) {
    fail_data(path +
              ": no pictures; they must lie in one subfolder for each class and end in .png, .jpg "
              "or .jpeg");
  }
  return pictures;
}

Dataset image_folder(const std::string& path, const FolderOptions& options) {
  constexpr std::int64_t kLargest = 1 << 14;
  const bool resize = options.height != 0 || options.width != 0;
  if (resize && (options.height < 1 || options.width < 1 || options.height > kLargest ||
                 options.width > kLargest)) {
    fail_usage("image_folder: cannot resize to " + size_text(options.height, options.width) +
               " pixels; both must be 1 to " + std::to_string(kLargest));
  }
  if (options.channels != 1 && options.channels != 3) {
    fail_usage("image_folder: channels must be 1 or 3");
  }
  return Dataset(std::make_shared<FolderSource>(path, options));
}

}  // namespace trireme::data
