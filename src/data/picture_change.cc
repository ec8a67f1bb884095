#include "data/picture_change.h"

#include <utility>

#include "base/error.h"
#include "data/wrapped_source.h"

namespace trireme::data {

std::string picture_column(const char* who, const Dataset& dataset) {
  std::string found;
  for (const Column& column : dataset.columns()) {
    if (column.dtype != DType::f32 || column.shape.size() != 3 || column.levels > 0) continue;
    if (!found.empty()) {
      fail_usage(std::string(who) + ": the data set has two columns of pictures, " + found +
                 " and " + column.name);
    }
    found = column.name;
  }
  if (!found.empty()) return found;
  std::string message =
      std::string(who) + ": the data set has no column of pictures f32[channels, height, width];";
  message += " it has";
  for (const Column& column : dataset.columns()) message += " " + column.name;
  fail_usage(message);
}

Picture picture_of(const Dataset& dataset, const std::string& column) {
  const std::vector<std::int64_t>& shape = dataset.column(column).shape;
  return {shape[0], shape[1], shape[2]};
}

float gray_at(const float* picture, const Picture& size, std::int64_t pixel) {
  if (size.channels != 3) return picture[pixel];
  const std::int64_t n = size.pixels();
  return 0.299f * picture[pixel] + 0.587f * picture[n + pixel] + 0.114f * picture[2 * n + pixel];
}

namespace {

class AugmentedSource : public WrappedSource {
 public:
  AugmentedSource(std::shared_ptr<const Source> source, std::string column, Change change,
                  std::uint64_t stage)
      : WrappedSource(std::move(source)),
        column_(std::move(column)),
        change_(std::move(change)),
        stage_(stage) {
    for (Column& c : columns_) {
      if (c.name != column_) continue;
      in_elements_ = c.shape[0] * c.shape[1] * c.shape[2];
      c.shape = {change_.result.channels, change_.result.height, change_.result.width};
    }
  }

  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override {
    Batch batch = source_->gather_epoch(rows, epoch);
    Tensor& tensor = batch.at(column_);
    const Picture& size = change_.result;
    Tensor result = change_.in_place
                        ? tensor
                        : Tensor::uninitialized(
                              DType::f32, {tensor.dim(0), size.channels, size.height, size.width});
    const float* in = tensor.data<float>();
    float* out = result.data<float>();
    for (const std::int64_t row : rows) {
      ExampleRandom random(change_.seed, random_stream(epoch, stage_), row);
      change_.apply(in, out, random);
      in += in_elements_;
      out += size.elements();
    }
    tensor = result;
    return batch;
  }

 private:
  std::string column_;
  Change change_;
  std::uint64_t stage_;
  std::int64_t in_elements_ = 0;
};

}  // namespace

std::shared_ptr<const Source> changed_pictures(std::shared_ptr<const Source> source,
                                               std::string column, Change change,
                                               std::uint64_t stage) {
  return std::make_shared<AugmentedSource>(std::move(source), std::move(column), std::move(change),
                                           stage);
}

}  // namespace trireme::data
