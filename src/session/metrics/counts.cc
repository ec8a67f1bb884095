// Metrics of counts of right predictions, predictions and examples: precision, recall, F1,
// intersection over union and Matthews correlation; Cohen's kappa of two classes.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "trireme/functions.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

using Average = ClassOptions::Average;

constexpr double kNoRate = std::numeric_limits<double>::quiet_NaN();

struct Counts {
  double hits = 0, predicted = 0, examples = 0;
  double all = 0;  // examples of both classes, for metrics of two
};

using Rate = double (*)(const Counts&);

double precision_of(const Counts& c) { return share_of(c.hits, c.predicted); }
double recall_of(const Counts& c) { return share_of(c.hits, c.examples); }
// 2 p r / (p + r), with p and r written out.
double f1_of(const Counts& c) { return share_of(2 * c.hits, c.predicted + c.examples); }
double iou_of(const Counts& c) { return share_of(c.hits, c.predicted + c.examples - c.hits); }

// --- Classes

// f32[3, classes]: the counts of every class.
Value class_counts(Value logits, Value label, const ClassOptions& options) {
  const std::int64_t classes = logits.dim(-1).constant();
  Value prediction = argmax(logits, {.axes = {-1}});
  if (options.ignore_index) {  // -1 is no class
    const Value kept = not_equal(label, static_cast<double>(*options.ignore_index));
    prediction = trireme::where(kept, prediction, -1.0);
    label = trireme::where(kept, label, -1.0);
  }
  const Value predicted = one_hot(prediction, classes, DType::f32);
  const Value truth = one_hot(label, classes, DType::f32);
  std::vector<std::int64_t> examples;  // the axes of examples
  for (int axis = 0; axis + 1 < logits.rank(); ++axis) examples.push_back(axis);
  if (examples.empty()) return stack({predicted * truth, predicted, truth}, 0);
  return stack({sum(predicted * truth, {.axes = examples}), sum(predicted, {.axes = examples}),
                sum(truth, {.axes = examples})},
               0);
}

std::vector<Counts> counts_by_class(const Tensor& all) {
  const auto classes = static_cast<std::size_t>(all.dim(1));
  const double* n = all.data<double>();
  std::vector<Counts> counts;
  for (std::size_t i = 0; i < classes; ++i) {
    counts.push_back({n[i], n[classes + i], n[2 * classes + i]});
  }
  return counts;
}

double averaged(const std::vector<Counts>& classes, Average average, Rate rate) {
  Counts total;
  double sum = 0, weight = 0;
  for (const Counts& c : classes) {
    total.hits += c.hits;
    total.predicted += c.predicted;
    total.examples += c.examples;
    const bool occurs = c.predicted + c.examples > 0;
    const double w = average == Average::weighted ? c.examples : (occurs ? 1 : 0);
    sum += w * rate(c);
    weight += w;
  }
  return average == Average::micro ? rate(total) : share_of(sum, weight);
}

// R_K of Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient",
// 2004.
double matthews_of(const std::vector<Counts>& classes) {
  double hits = 0, examples = 0, products = 0, predicted_squares = 0, example_squares = 0;
  for (const Counts& c : classes) {
    hits += c.hits;
    examples += c.examples;
    products += c.predicted * c.examples;
    predicted_squares += c.predicted * c.predicted;
    example_squares += c.examples * c.examples;
  }
  if (examples == 0) return kNoRate;
  const double square = examples * examples;
  const double spread = std::sqrt(square - predicted_squares) * std::sqrt(square - example_squares);
  return share_of(hits * examples - products, spread);
}

std::string name_of(const std::string& stem, const ClassOptions& options) {
  if (options.of_class >= 0) return fmt::format("{}_{}", stem, options.of_class);
  if (options.average == Average::micro) return stem + "_micro";
  return options.average == Average::weighted ? stem + "_weighted" : stem;
}

void check_known_classes(const char* metric, const Value& logits, const Value& label) {
  check_classes(metric, logits, label);
  if (!logits.dim(-1).is_constant()) {
    fail_usage(fmt::format("{}: the number of classes must be known: {}", metric, logits.str()));
  }
}

Metric class_metric(const char* stem, Rate rate, Value logits, Value label,
                    const ClassOptions& options, const SourceLocation& where) {
  const nn::LocationScope at(logits, stem, where);
  check_known_classes(stem, logits, label);
  const std::int64_t classes = logits.dim(-1).constant();
  if (options.of_class < -1 || options.of_class >= classes) {
    fail_usage(fmt::format("{}: there is no class {}: logits {} have classes 0 to {}", stem,
                           options.of_class, logits.str(), classes - 1));
  }
  const auto finish = [options, rate](const Tensor& all) {
    const std::vector<Counts> counts = counts_by_class(all);
    if (options.of_class >= 0) return rate(counts[static_cast<std::size_t>(options.of_class)]);
    return averaged(counts, options.average, rate);
  };
  return {.name = name_of(stem, options),
          .value = class_counts(logits, label, options),
          .combine = Metric::Combine::sum,
          .finish = finish,
          .larger_better = true};
}

// --- Two classes

Value count(Value condition) { return sum(cast(condition, {.dtype = f32})); }

// f32[6]: the counts of the positive class, wrong labels, scores that are NaN, and all elements.
Value binary_counts(Value score, Value label, double threshold) {
  const Value predicted = less(threshold, score);
  const Value positive = trireme::equal(label, 1.0);
  const Value wrong = logical_not(logical_or(positive, trireme::equal(label, 0.0)));
  return stack({count(logical_and(predicted, positive)), count(predicted), count(positive),
                count(wrong), count(is_nan(score)), dim_size(score, {.dtype = f32})},
               0);
}

double binary_matthews_of(const Counts& c) {
  const double missed = c.examples - c.hits;
  const Counts other{c.all - c.predicted - missed, c.all - c.predicted, c.all - c.examples};
  return matthews_of({c, other});
}

double binary_kappa_of(const Counts& c) {
  const double errors = c.predicted + c.examples - 2 * c.hits;
  const double by_chance = c.predicted * (c.all - c.examples) + (c.all - c.predicted) * c.examples;
  return by_chance == 0 ? kNoRate : 1 - errors * c.all / by_chance;
}

Metric binary_metric(const char* name, Rate rate, Value score, Value label,
                     const BinaryOptions& options, const SourceLocation& where) {
  const nn::LocationScope at(score, name, where);
  check_pairs(name, score, label);
  const auto finish = [name = std::string(name), rate](const Tensor& all) {
    const double* n = all.data<double>();
    if (n[3] > 0) fail_data(fmt::format("{}: {} labels are neither 0 nor 1", name, n[3]));
    if (n[4] > 0) fail_data(fmt::format("{}: {} scores are NaN", name, n[4]));
    return rate({n[0], n[1], n[2], n[5]});
  };
  return {.name = name,
          .value = binary_counts(score, cast(label, {.dtype = f32}), options.threshold),
          .combine = Metric::Combine::sum,
          .finish = finish,
          .larger_better = true};
}

}  // namespace

Metric precision(Value logits, Value label, ClassOptions options, SourceLocation where) {
  return class_metric("precision", precision_of, logits, label, options, where);
}
Metric recall(Value logits, Value label, ClassOptions options, SourceLocation where) {
  return class_metric("recall", recall_of, logits, label, options, where);
}
Metric f1(Value logits, Value label, ClassOptions options, SourceLocation where) {
  return class_metric("f1", f1_of, logits, label, options, where);
}
Metric iou(Value logits, Value label, ClassOptions options, SourceLocation where) {
  return class_metric("iou", iou_of, logits, label, options, where);
}

Metric class_iou(Value logits, Value label, LabelOptions options, SourceLocation where) {
  const nn::LocationScope at(logits, "class_iou", where);
  check_known_classes("class_iou", logits, label);
  const auto finish = [](const Tensor& all) {
    std::vector<double> rates;
    for (const Counts& c : counts_by_class(all)) {
      rates.push_back(c.predicted + c.examples > 0 ? iou_of(c) : kNoRate);
    }
    return Tensor::from<double>({all.dim(1)}, rates);
  };
  return {.name = "class_iou",
          .value = class_counts(logits, label, {.ignore_index = options.ignore_index}),
          .combine = Metric::Combine::sum,
          .larger_better = true,
          .finish_tensor = finish};
}

Metric matthews_correlation(Value logits, Value label, LabelOptions options, SourceLocation where) {
  const nn::LocationScope at(logits, "matthews_correlation", where);
  check_known_classes("matthews_correlation", logits, label);
  return {.name = "matthews_correlation",
          .value = class_counts(logits, label, {.ignore_index = options.ignore_index}),
          .combine = Metric::Combine::sum,
          .finish = [](const Tensor& all) { return matthews_of(counts_by_class(all)); },
          .larger_better = true};
}

Metric binary_precision(Value score, Value label, BinaryOptions options, SourceLocation where) {
  return binary_metric("precision", precision_of, score, label, options, where);
}
Metric binary_recall(Value score, Value label, BinaryOptions options, SourceLocation where) {
  return binary_metric("recall", recall_of, score, label, options, where);
}
Metric binary_f1(Value score, Value label, BinaryOptions options, SourceLocation where) {
  return binary_metric("f1", f1_of, score, label, options, where);
}
Metric binary_iou(Value score, Value label, BinaryOptions options, SourceLocation where) {
  return binary_metric("iou", iou_of, score, label, options, where);
}
Metric binary_cohen_kappa(Value score, Value label, BinaryOptions options, SourceLocation where) {
  return binary_metric("cohen_kappa", binary_kappa_of, score, label, options, where);
}
Metric binary_matthews_correlation(Value score, Value label, BinaryOptions options,
                                   SourceLocation where) {
  return binary_metric("matthews_correlation", binary_matthews_of, score, label, options, where);
}

ClassReport class_report(const Tensor& confusion) {
  if (confusion.rank() != 2 || confusion.dim(0) != confusion.dim(1)) {
    fail_usage("class_report: a matrix f32[classes, classes] is needed, not " +
               confusion.type_str());
  }
  const Tensor matrix = confusion.cast(f64);
  const auto n = static_cast<std::size_t>(matrix.dim(0));
  const double* m = matrix.data<double>();
  std::vector<Counts> classes(n);
  for (std::size_t i = 0; i < n; ++i) {
    classes[i].hits = m[i * n + i];
    for (std::size_t j = 0; j < n; ++j) {
      classes[i].examples += m[i * n + j];
      classes[j].predicted += m[i * n + j];
    }
  }
  ClassReport report;
  for (const Counts& c : classes) {
    report.precision.push_back(precision_of(c));
    report.recall.push_back(recall_of(c));
    report.f1.push_back(f1_of(c));
    report.examples.push_back(static_cast<std::int64_t>(c.examples));
  }
  return report;
}

std::string confusion_table(const Tensor& matrix, const std::vector<std::string>& class_names) {
  if (matrix.rank() != 2 || matrix.dim(0) != matrix.dim(1)) {
    fail_usage("confusion_table: a matrix f32[classes, classes] is needed, not " +
               matrix.type_str());
  }
  const Tensor counts = matrix.cast(f64);
  const std::int64_t n = matrix.dim(0);
  std::size_t width = 5;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    names.push_back(k < class_names.size() ? class_names[k] : std::to_string(i));
    width = std::max(width, names.back().size());
  }
  std::string text = fmt::format("{:>{}} ", "true", width);
  for (std::int64_t j = 0; j < n; ++j) {
    text += fmt::format("{:>6.5}", names[static_cast<std::size_t>(j)]);
  }
  text += "   recall\n";
  for (std::int64_t i = 0; i < n; ++i) {
    const double* row = counts.data<double>() + i * n;
    double total = 0;
    text += fmt::format("{:>{}} ", names[static_cast<std::size_t>(i)], width);
    for (std::int64_t j = 0; j < n; ++j) {
      total += row[j];
      text += row[j] == 0 ? "     ." : fmt::format("{:>6.0f}", row[j]);
    }
    text += total == 0 ? "\n" : fmt::format("   {:.3f}\n", row[i] / total);
  }
  return text;
}

}  // namespace trireme
