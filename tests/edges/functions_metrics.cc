#include <algorithm>
#include <optional>

#include "functions.h"
#include "session/metrics/sum.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme::edges {
namespace {

using Values = std::vector<Value>;
using Tensors = std::vector<Tensor>;
using Make = std::function<Metric(const Values& inputs)>;
// The elements of an example in each operand; 0 for a single number.
using Items = std::vector<std::int64_t>;

constexpr double kRefused = -1;  // instead of a number, for Error(data)
constexpr double kNothing = -2;  // after the last number of a tensor

// Measures data sets of a few examples.
class Meter {
 public:
  // `width` is the most numbers that the metric has.
  Meter(const Make& make, const Tensors& x, const Items& items, std::size_t width,
        const SessionOptions& options)
      : width_(width) {
    Values inputs;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Shape shape = {batch};
      if (items[i] > 0) shape.push_back(items[i]);
      inputs.push_back(program_.input("x" + std::to_string(i), x[i].dtype(), shape));
    }
    metric_ = make(inputs);
    session_.emplace(program_, options);
  }

  // In batches that begin at these examples. Returns `width` numbers.
  std::vector<double> measure(const Tensors& data, const std::vector<std::int64_t>& begins) {
    MetricSum sum(std::vector<Metric>{metric_});
    const std::int64_t all = data[0].dim(0);
    try {
      for (std::size_t i = 0; i < begins.size(); ++i) {
        const std::int64_t begin = std::min(begins[i], all);
        const std::int64_t end = i + 1 < begins.size() ? std::min(begins[i + 1], all) : all;
        Feeds feeds;
        for (std::size_t j = 0; j < data.size(); ++j) {
          feeds["x" + std::to_string(j)] = data[j].rows(begin, end);
        }
        sum.add(session_->run(feeds, {metric_.value}), end - begin);
      }
      return numbers_of(sum.result());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      return std::vector<double>(width_, kRefused);
    }
  }

 private:
  std::vector<double> numbers_of(const Metrics& metrics) const {
    std::vector<double> numbers;
    if (metrics.tensors().empty()) {
      numbers = {metrics.numbers().at(0).second};
    } else {
      numbers = metrics.tensors()[0].second.cast(DType::f64).to_vector<double>();
    }
    numbers.resize(width_, kNothing);
    return numbers;
  }

  std::size_t width_;
  Program program_{"metric"};
  Metric metric_;
  std::optional<Session> session_;
};

// Each row of the operands is a data set. Returns its metric, measured in one batch and in several,
// of which the first is empty.
Tensors measure(const Make& make, const Items& items, std::size_t width, const Tensors& x,
                const SessionOptions& options) {
  Meter meter(make, x, items, width, options);
  std::vector<double> whole, parts;
  const auto append = [](std::vector<double>& to, const std::vector<double>& numbers) {
    to.insert(to.end(), numbers.begin(), numbers.end());
  };
  for (std::int64_t row = 0; row < x[0].dim(0); ++row) {
    Tensors data;
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::vector<std::int64_t> shape = {x[i].dim(1)};
      if (items[i] > 0) shape = {x[i].dim(1) / items[i], items[i]};
      data.push_back(x[i].rows(row, row + 1).reshaped(shape));
    }
    append(whole, meter.measure(data, {0}));
    append(parts, meter.measure(data, {0, 0, 1, 3}));
  }
  std::vector<std::int64_t> shape = {x[0].dim(0)};
  if (width > 1) shape.push_back(static_cast<std::int64_t>(width));
  return {Tensor::from<double>(shape, whole).cast(DType::f32),
          Tensor::from<double>(shape, parts).cast(DType::f32)};
}

// `width` is the most numbers that the metric has.
Function function_of(const std::string& name, const std::string& expected, const Items& items,
                     const Make& make, std::size_t width = 1) {
  Function function{.name = "metric " + name, .torch = "[" + expected + "] * 2"};
  function.compute = [=](const Tensors& x, const SessionOptions& options) {
    return measure(make, items, width, x, options);
  };
  // measures.py computes in double.
  function.as_f32 = expected.find("measures.") == std::string::npos;
  return function;
}

Source table(DType dtype, const std::vector<std::vector<double>>& entries) {
  return {entries, true, dtype};
}

// Metrics of four examples with a number each and one of these `others`, and of no example.
void add_pairs(std::vector<Function>& all, const std::string& name, const std::string& expected,
               const std::vector<std::vector<double>>& others, const Make& make,
               std::size_t width = 1) {
  Function function = function_of(name, expected, {0, 0}, make, width);
  function.dtypes = {DType::f32, DType::f64};
  function.sources = [=](DType d) { return std::vector{rows(d, 4), table(DType::f32, others)}; };
  all.push_back(function);
  function.sources = [=](DType d) {
    return std::vector{rows(d, 0), table(DType::f32, {std::vector<double>{}})};
  };
  all.push_back(function);
}

const std::vector<std::vector<double>> kBinary = {
    {0, 1, 0, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}, {1, 0, 0, 1}};
const std::vector<std::vector<double>> kBinaryAndWrong = {
    {0, 1, 0, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}, {1, 0, 0, 1}, {0, 1, 2, 1}};

void add_binary(std::vector<Function>& all) {
  add_pairs(all, "binary_accuracy", "((x[0] > 0) == (x[1] == 1)).double().mean(1)", kBinaryAndWrong,
            [](const Values& x) { return binary_accuracy(x[0], x[1]); });
  add_pairs(all, "binary_precision", "measures.binary_rate('precision', *x)", kBinaryAndWrong,
            [](const Values& x) { return binary_precision(x[0], x[1]); });
  add_pairs(all, "binary_recall", "measures.binary_rate('recall', *x)", kBinaryAndWrong,
            [](const Values& x) { return binary_recall(x[0], x[1]); });
  add_pairs(all, "binary_f1", "measures.binary_rate('f1', *x)", kBinaryAndWrong,
            [](const Values& x) { return binary_f1(x[0], x[1]); });
  add_pairs(all, "binary_iou", "measures.binary_rate('jaccard', *x)", kBinaryAndWrong,
            [](const Values& x) { return binary_iou(x[0], x[1]); });
  add_pairs(all, "binary_cohen_kappa", "measures.binary_agreement('cohen_kappa_score', *x)",
            kBinaryAndWrong, [](const Values& x) { return binary_cohen_kappa(x[0], x[1]); });
  add_pairs(all, "binary_matthews_correlation",
            "measures.binary_agreement('matthews_corrcoef', *x)", kBinaryAndWrong,
            [](const Values& x) { return binary_matthews_correlation(x[0], x[1]); });
  add_pairs(all, "average_precision", "measures.average_precision(*x)", kBinaryAndWrong,
            [](const Values& x) { return average_precision(x[0], x[1]); });
  // Points of three numbers: at most one for each example, and one more.
  constexpr std::size_t kCurve = 5 * 3;
  for (const bool drop : {true, false}) {
    const std::string word = drop ? "True" : "False";
    add_pairs(
        all, "roc_curve", "measures.roc_curve(*x, drop_intermediate=" + word + ")", kBinaryAndWrong,
        [=](const Values& x) { return roc_curve(x[0], x[1], {.drop_intermediate = drop}); },
        kCurve);
  }
  add_pairs(
      all, "pr_curve", "measures.pr_curve(*x)", kBinaryAndWrong,
      [](const Values& x) { return pr_curve(x[0], x[1]); }, kCurve);
  using Norm = CalibrationOptions::Norm;
  for (const auto& [word, norm] : {std::pair{"mean", Norm::mean}, std::pair{"max", Norm::max},
                                   std::pair{"squared", Norm::squared}}) {
    add_pairs(all, "binary_calibration_error",
              std::string("measures.binary_calibration(*x, norm='") + word + "')", kBinaryAndWrong,
              [norm = norm](const Values& x) {
                return binary_calibration_error(x[0], x[1], {.bins = 4, .norm = norm});
              });
  }
  add_pairs(all, "binary_log_loss", "exact.binary_cross_entropy(*x).mean(1)", kBinary,
            [](const Values& x) { return binary_log_loss(x[0], x[1]); });
  add_pairs(all, "auc", "measures.auc(*x)", kBinaryAndWrong,
            [](const Values& x) { return auc(x[0], x[1]); });
  const StreamingAucOptions bins{.bins = 8, .low = -4, .high = 4};
  add_pairs(all, "streaming_auc", "measures.auc((x[0] + 4).clamp(0, 7).floor(), x[1])",
            kBinaryAndWrong, [=](const Values& x) { return streaming_auc(x[0], x[1], bins); });
  add_pairs(all, "streaming_auc_error",
            "measures.share_of_ties((x[0] + 4).clamp(0, 7).floor(), x[1])", kBinaryAndWrong,
            [=](const Values& x) { return streaming_auc_error(x[0], x[1], bins); });
}

void add_numbers(std::vector<Function>& all) {
  const std::vector<std::vector<double>> targets = {
      {0, 0, 0, 0}, {1, 2, 3, 4}, {1, 1, 1, 1}, {1e30, -1e30, 1, 0}};
  add_pairs(all, "rmse", "torch.sqrt(((x[0] - x[1]) ** 2).mean(1))", targets,
            [](const Values& x) { return rmse(x[0], x[1]); });
  add_pairs(all, "mae", "(x[0] - x[1]).abs().mean(1)", targets,
            [](const Values& x) { return mae(x[0], x[1]); });
  add_pairs(all, "median_absolute_error", "measures.error_quantile(*x, quantile=0.5)", targets,
            [](const Values& x) { return median_absolute_error(x[0], x[1]); });
  for (const double quantile : {0.0, 0.3, 1.0}) {
    const std::string number = std::to_string(quantile);
    add_pairs(all, "absolute_error_quantile",
              "measures.error_quantile(*x, quantile=" + number + ")", targets,
              [=](const Values& x) { return absolute_error_quantile(x[0], x[1], quantile); });
    add_pairs(all, "pinball_loss", "measures.pinball(*x, quantile=" + number + ")", targets,
              [=](const Values& x) { return pinball_loss(x[0], x[1], quantile); });
  }
  add_pairs(all, "r2", "measures.r2(*x)", targets, [](const Values& x) { return r2(x[0], x[1]); });
  add_pairs(all, "perplexity", "measures.perplexity(x[0], torch.ones_like(x[0]))", {{0, 0, 0, 0}},
            [](const Values& x) { return perplexity(x[0]); });
  add_pairs(all, "perplexity with weights", "measures.perplexity(*x)",
            {{0, 0, 0, 0}, {1, 1, 1, 1}, {1, 0, 0, 1}, {0.5, 2, 0, 0}},
            [](const Values& x) { return perplexity(x[0], x[1]); });
}

// Of two images of one channel with `size` rows and columns, and of no image.
void add_images(std::vector<Function>& all, const std::string& name, const std::string& expected,
                std::int64_t size, const Make& make) {
  const Items items = {size * size, size * size};
  const Make of_images = [=](const Values& x) {
    Values images;
    for (const Value& rows : x) {
      images.push_back(reshape(rows, {.shape = {batch, 1, size, size}}));
    }
    return make(images);
  };
  const auto width = static_cast<std::size_t>(2 * size * size);
  Function function = function_of(name, expected, items, of_images);
  function.dtypes = {DType::f32, DType::f64};
  function.sources = [=](DType d) {
    std::vector<std::vector<double>> targets(3, std::vector<double>(width, 1));
    for (std::size_t i = 0; i < width; ++i) {
      targets[1][i] = 0.25 * static_cast<double>(i % 5);
      targets[2][i] = i == 1 ? 255 : 0;
    }
    return std::vector{rows(d, width), table(d, targets)};
  };
  all.push_back(function);
  function.sources = [](DType d) {
    return std::vector{rows(d, 0), table(d, {std::vector<double>{}})};
  };
  all.push_back(function);
}

void add_image_metrics(std::vector<Function>& all) {
  add_images(all, "psnr", "measures.psnr(*x)", 2,
             [](const Values& x) { return psnr(x[0], x[1], {.range = 2}); });
  add_images(all, "ssim", "measures.ssim(*x)", 4,
             [](const Values& x) { return ssim(x[0], x[1], {.window = 3}); });
}

// Metrics of three examples with three logits and a label each, and of no example.
void add_class(std::vector<Function>& all, const std::string& name, const std::string& expected,
               const Make& make, std::size_t width = 1) {
  Function function = function_of(name, expected, {3, 0}, make, width);
  function.dtypes = {DType::f32};
  function.sources = [](DType d) {
    return std::vector{rows(d, 9), table(DType::i64, {{0, 1, 2}, {0, 0, 0}, {2, 2, 2}, {2, 1, 1}})};
  };
  all.push_back(function);
  function.sources = [](DType d) {
    return std::vector{rows(d, 0), table(DType::i64, {std::vector<double>{}})};
  };
  all.push_back(function);
}

void add_classes(std::vector<Function>& all) {
  add_class(all, "accuracy", "measures.class_rate('accuracy', *x)",
            [](const Values& x) { return accuracy(x[0], x[1]); });
  for (const int k : {1, 2, 3}) {
    add_class(all, "top_k_accuracy", "measures.top_k_accuracy(*x, " + std::to_string(k) + ")",
              [=](const Values& x) { return top_k_accuracy(x[0], x[1], k); });
  }
  add_class(
      all, "class_iou", "measures.class_iou(*x)",
      [](const Values& x) { return class_iou(x[0], x[1]); }, 3);
  add_class(
      all, "confusion_matrix", "measures.confusion_matrix(*x)",
      [](const Values& x) { return confusion_matrix(x[0], x[1]); }, 9);
  add_class(all, "log_loss",
            "F.cross_entropy(x[0].reshape(-1, 3), x[1].reshape(-1), reduction='none')"
            ".reshape(x[1].shape).mean(1)",
            [](const Values& x) { return log_loss(x[0], x[1]); });
  using Average = ClassOptions::Average;
  const std::pair<std::string, ClassOptions> kinds[] = {
      {"average='macro'", {.average = Average::macro}},
      {"average='micro'", {.average = Average::micro}},
      {"average='weighted'", {.average = Average::weighted}},
      {"of_class=1", {.of_class = 1}}};
  for (const auto& [words, options] : kinds) {
    add_class(all, "precision", "measures.class_rate('precision', *x, " + words + ")",
              [o = options](const Values& x) { return precision(x[0], x[1], o); });
    add_class(all, "recall", "measures.class_rate('recall', *x, " + words + ")",
              [o = options](const Values& x) { return recall(x[0], x[1], o); });
    add_class(all, "f1", "measures.class_rate('f1', *x, " + words + ")",
              [o = options](const Values& x) { return f1(x[0], x[1], o); });
    add_class(all, "iou", "measures.class_rate('jaccard', *x, " + words + ")",
              [o = options](const Values& x) { return iou(x[0], x[1], o); });
  }
}

void add_agreement(std::vector<Function>& all) {
  using Weights = KappaOptions::Weights;
  const std::pair<std::string, Weights> weights[] = {
      {"None", Weights::none}, {"'linear'", Weights::linear}, {"'quadratic'", Weights::quadratic}};
  for (const auto& [word, weight] : weights) {
    add_class(all, "cohen_kappa",
              "measures.class_agreement('cohen_kappa_score', *x, weights=" + word + ")",
              [w = weight](const Values& x) { return cohen_kappa(x[0], x[1], {.weights = w}); });
  }
  add_class(all, "matthews_correlation", "measures.class_agreement('matthews_corrcoef', *x)",
            [](const Values& x) { return matthews_correlation(x[0], x[1]); });
  add_class(all, "calibration_error", "measures.calibration(*x)",
            [](const Values& x) { return calibration_error(x[0], x[1], {.bins = 7}); });
}

// Metrics of the ranking groups of four examples.
void add_ranking(std::vector<Function>& all, const std::string& name, const std::string& expected,
                 const Make& make) {
  Function function = function_of(name, expected, {0, 0, 0}, make);
  function.dtypes = {DType::f32};
  function.sources = [](DType d) {
    return std::vector{rows(d, 4),
                       table(DType::f32, {{0, 1, 2, 3},
                                          {0, 0, 0, 0},
                                          {1, 1, 1, 1},
                                          {0, 0.5, 0, 2},
                                          {0, 1e-20, 0, 2e-20},
                                          {0, 1100, 3, 1099},
                                          {1, -1, 0, 2}}),
                       table(DType::i64, {{0, 0, 0, 0}, {5, -3, 5, -3}})};
  };
  all.push_back(function);
}

void add_rankings(std::vector<Function>& all) {
  Function mean =
      function_of("mean_average_precision", "measures.mean_average_precision(*x)", {4, 4},
                  [](const Values& x) { return mean_average_precision(x[0], x[1]); });
  mean.dtypes = {DType::f32};
  mean.sources = [](DType d) {
    return std::vector{rows(d, 4), table(DType::f32, kBinaryAndWrong)};
  };
  all.push_back(mean);
  add_ranking(all, "ndcg", "measures.ndcg(*x)",
              [](const Values& x) { return ndcg(x[0], x[1], x[2]); });
  add_ranking(all, "ndcg of 1", "measures.ndcg(*x, k=1)",
              [](const Values& x) { return ndcg(x[0], x[1], x[2], {.k = 1}); });
  add_ranking(all, "map", "measures.grouped_average_precision(*x)",
              [](const Values& x) { return grouped_average_precision(x[0], x[1], x[2]); });
  add_ranking(all, "mrr", "measures.reciprocal_rank(*x)",
              [](const Values& x) { return reciprocal_rank(x[0], x[1], x[2]); });
  add_ranking(all, "hit_rate of 2", "measures.hit_rate(*x, k=2)",
              [](const Values& x) { return hit_rate(x[0], x[1], x[2], {.k = 2}); });
  add_ranking(all, "mrr of 2", "measures.reciprocal_rank(*x, k=2)",
              [](const Values& x) { return reciprocal_rank(x[0], x[1], x[2], {.k = 2}); });
}

}  // namespace

std::vector<Function> metric_functions() {
  std::vector<Function> all;
  add_binary(all);
  add_numbers(all);
  add_classes(all);
  add_agreement(all);
  add_rankings(all);
  add_image_metrics(all);
  return all;
}

}  // namespace trireme::edges
