// Mixup: Zhang, Cisse, Dauphin and Lopez-Paz, "mixup: Beyond Empirical Risk Minimization", 2018.
#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "data/random.h"
#include "data/wrapped_source.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

// Returns the logarithm of a draw from Gamma(shape, 1), by Marsaglia and Tsang, "A Simple Method
// for Generating Gamma Variables", 2000. It is a logarithm because draws of small shapes underflow.
double log_gamma_draw(double shape, ExampleRandom& random) {
  if (shape < 1) {
    return log_gamma_draw(shape + 1, random) + std::log(1 - random.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1 - random.uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

double beta_draw(double alpha, ExampleRandom& random) {
  const double a = log_gamma_draw(alpha, random);
  const double b = log_gamma_draw(alpha, random);
  return 1 / (1 + std::exp(b - a));
}

class MixupSource : public WrappedSource {
 public:
  MixupSource(std::shared_ptr<const Source> source, std::int64_t classes,
              const MixupOptions& options, std::uint64_t stage)
      : WrappedSource(std::move(source)), classes_(classes), options_(options), stage_(stage) {
    for (Column& column : columns_) {
      if (column.dtype == DType::i64) column = {column.name, DType::f32, {classes}};
    }
  }

  Batch gather_epoch(std::span<const std::int64_t> rows, std::int64_t epoch) const override {
    Batch batch = source_->gather_epoch(rows, epoch);
    std::vector<float> shares;
    for (const std::int64_t row : rows) {
      ExampleRandom random(options_.seed, random_stream(epoch, stage_), row);
      shares.push_back(static_cast<float>(beta_draw(options_.alpha, random)));
    }
    for (auto& [name, tensor] : batch) {
      if (tensor.dtype() == DType::i64) tensor = one_hot(tensor);
      tensor = mixed(tensor, shares);
    }
    return batch;
  }

 private:
  Tensor one_hot(const Tensor& label) const {
    Tensor result(DType::f32, {label.dim(0), classes_});
    for (std::int64_t i = 0; i < label.dim(0); ++i) {
      const std::int64_t value = label.data<std::int64_t>()[i];
      if (value < 0 || value >= classes_) {
        fail_data("mixup: label " + std::to_string(value) + " is out of range, labels are 0 to " +
                  std::to_string(classes_ - 1));
      }
      result.data<float>()[i * classes_ + value] = 1;
    }
    return result;
  }

  static Tensor mixed(const Tensor& tensor, const std::vector<float>& shares) {
    Tensor result = Tensor::uninitialized(DType::f32, tensor.shape());
    const std::size_t count = shares.size();
    const std::size_t width = count == 0 ? 0 : static_cast<std::size_t>(tensor.elements()) / count;
    const float* in = tensor.data<float>();
    float* out = result.data<float>();
    for (std::size_t i = 0; i < count; ++i) {
      const float* a = in + i * width;
      const float* b = in + (i + 1) % count * width;
      for (std::size_t k = 0; k < width; ++k) {
        out[i * width + k] = shares[i] * a[k] + (1 - shares[i]) * b[k];
      }
    }
    return result;
  }

  std::int64_t classes_;
  MixupOptions options_;
  std::uint64_t stage_;
};

}  // namespace

Dataset Dataset::mixup(const MixupOptions& options) const {
  if (!(options.alpha > 0 && options.alpha <= 1000)) {
    fail_usage("mixup: alpha is " + float_text(options.alpha) + ", must be in (0, 1000]");
  }
  const std::int64_t classes =
      options.classes > 0 ? options.classes : static_cast<std::int64_t>(class_names().size());
  for (const Column& column : columns()) {
    if (column.levels > 0) {
      fail_usage("mixup: column " + column.name + " is ragged, and cannot be mixed");
    }
    const bool label = column.name == "label" && column.dtype == DType::i64 && column.shape.empty();
    if (label && classes == 0) {
      fail_usage("mixup: the data set has no class names; give .classes");
    }
    if (!label && column.dtype != DType::f32) {
      fail_usage("mixup: column " + column.name +
                 " is neither f32 nor \"label\" i64[], and cannot be mixed");
    }
  }
  return augmented(std::make_shared<MixupSource>(source_, classes, options, stages_));
}

}  // namespace trireme::data
