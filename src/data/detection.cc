// Images with bounding boxes around objects: BCCD.
#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "data/archive.h"
#include "data/blob.h"
#include "data/find.h"
#include "data/lines.h"
#include "data/pixels.h"
#include "data/voc.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

constexpr std::array<std::string_view, 3> kCells = {"RBC", "WBC", "Platelets"};

// The files of an archive in the layout of Pascal VOC, by name.
using Files = std::map<std::string, std::string>;

const std::string& file_of(const Files& files, const std::string& name, const std::string& path) {
  const auto found = files.find(name);
  if (found == files.end()) fail_data(path + ": there is no " + name + " in it");
  return found->second;
}

// Pictures that stay packed until a batch is made, all of one size.
class DetectionSource : public Source {
 public:
  struct Example {
    std::string name;  // for messages
    std::string jpeg;
    VocPicture annotation;
  };

  DetectionSource(std::vector<Example> examples, std::int64_t largest)
      : examples_(std::move(examples)), max_objects_(largest) {
    const VocPicture& first = examples_.front().annotation;
    columns_ = {{"image", DType::f32, {3, first.height, first.width}},
                {"boxes", DType::f32, {max_objects_, 4}},
                {"classes",
                 DType::i64,
                 {max_objects_},
                 static_cast<std::int64_t>(kCells.size()),
                 {kCells.begin(), kCells.end()}},
                {"count", DType::i64, {}}};
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(examples_.size()); }
  const std::vector<Column>& columns() const override { return columns_; }

  Batch gather(std::span<const std::int64_t> rows) const override {
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::vector<std::int64_t>& shape = columns_[0].shape;
    Tensor image = Tensor::uninitialized(DType::f32, {count, 3, shape[1], shape[2]});
    Tensor boxes(DType::f32, {count, max_objects_, 4});
    Tensor classes(DType::i64, {count, max_objects_});
    Tensor counts = Tensor::uninitialized(DType::i64, {count});
    const std::int64_t pixels = shape[1] * shape[2];
    for (std::int64_t i = 0; i < count; ++i) {
      const Example& example =
          examples_[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
      decode_planes(example.jpeg, example.name, shape[1], shape[2],
                    image.data<float>() + i * 3 * pixels);
      write_objects(example.annotation.objects, boxes.data<float>() + i * max_objects_ * 4,
                    classes.data<std::int64_t>() + i * max_objects_);
      counts.data<std::int64_t>()[i] = static_cast<std::int64_t>(example.annotation.objects.size());
    }
    return {{"image", std::move(image)},
            {"boxes", std::move(boxes)},
            {"classes", std::move(classes)},
            {"count", std::move(counts)}};
  }

 private:
  static void write_objects(const std::vector<VocObject>& objects, float* boxes,
                            std::int64_t* classes) {
    for (const VocObject& object : objects) {
      for (const float corner : {object.x_min, object.y_min, object.x_max, object.y_max}) {
        *boxes++ = corner;
      }
      *classes++ = std::find(kCells.begin(), kCells.end(), object.name) - kCells.begin();
    }
  }

  std::vector<Example> examples_;
  std::int64_t max_objects_;  // boxes of a picture
  std::vector<Column> columns_;
};

VocPicture read_annotation(const std::string& xml, const std::string& name) {
  VocPicture annotation = parse_voc(xml, name);
  for (const VocObject& object : annotation.objects) {
    if (std::find(kCells.begin(), kCells.end(), object.name) == kCells.end()) {
      fail_data(name + ": an object is called \"" + object.name.substr(0, 40) +
                "\"; there are RBC, WBC and Platelets");
    }
  }
  return annotation;
}

Files read_files(const std::string& path) {
  Files files;
  for (ArchivedFile& file : read_archive(read_blob(path).bytes, path, [](const std::string& name) {
         return name.starts_with("BCCD/");
       })) {
    files[file.name] = std::move(file.bytes);
  }
  return files;
}

using Annotations = std::map<std::string, VocPicture>;

Annotations read_annotations(const Files& files, const std::string& path) {
  Annotations annotations;
  for (const auto& [name, bytes] : files) {
    if (!name.starts_with("BCCD/Annotations/")) continue;
    const VocPicture& picture = annotations[name] = read_annotation(bytes, path + ": " + name);
    const VocPicture& first = annotations.begin()->second;
    if (picture.width != first.width || picture.height != first.height) {
      fail_data(path + ": " + name + ": the picture is of another size than the first");
    }
  }
  return annotations;
}

}  // namespace

Dataset bccd(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("bccd"), split, options.directory)[0];
  const Files files = read_files(path);
  const Annotations annotations = read_annotations(files, path);
  // The same room for boxes in all parts, so that a network made for one takes the others.
  std::size_t largest = 1;
  for (const auto& [name, picture] : annotations)
    largest = std::max(largest, picture.objects.size());
  const std::string list = split == "validation" ? "val" : std::string(split);
  std::vector<DetectionSource::Example> examples;
  std::string_view stems = file_of(files, "BCCD/ImageSets/Main/" + list + ".txt", path);
  for (std::string stem; !(stem = next_word(stems)).empty();) {
    const std::string annotation = "BCCD/Annotations/" + stem + ".xml";
    const std::string picture = "BCCD/JPEGImages/" + stem + ".jpg";
    file_of(files, annotation, path);
    examples.push_back(
        {path + ": " + picture, file_of(files, picture, path), annotations.at(annotation)});
  }
  if (examples.empty()) fail_data(path + ": the list of its " + list + " part is empty");
  return Dataset(
      std::make_shared<DetectionSource>(std::move(examples), static_cast<std::int64_t>(largest)));
}

}  // namespace trireme::data
