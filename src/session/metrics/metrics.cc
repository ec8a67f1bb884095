#include "trireme/metrics.h"

#include <fmt/core.h>

#include "base/error.h"
#include "ir/builder.h"
#include "session/metrics/checks.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

// Numbers 0, 1 ... along `axis` of `shape`, in the Program of `like`.
Value numbers_along(Value like, const Shape& shape, std::int64_t axis,
                    const SourceLocation& where) {
  ir::Builder& builder = like.get()->program->builder();
  const ir::Location location = builder.locate(where);
  const ir::Builder::LocationGuard guard(builder, location);
  return Value(builder.make("iota", {}, {{"axis", axis}, {"shape", shape}}));
}

Shape with_ones(Shape shape, int count) {
  shape.insert(shape.end(), static_cast<std::size_t>(count), Dim(1));
  return shape;
}

// The examples that count, as booleans of the labels' shape; empty if all do.
Value kept_labels(const Value& label, const LabelOptions& options, const SourceLocation& where) {
  if (!options.ignore_index) return {};
  return not_equal(label, static_cast<double>(*options.ignore_index), where);
}

// A metric that is the mean of numbers of the labels' shape, over those that are kept.
Metric mean_over(std::string name, const Value& numbers, const Value& kept, bool larger_better,
                 const SourceLocation& where) {
  Metric metric{.name = std::move(name), .larger_better = larger_better};
  if (!kept) {
    metric.value = mean(numbers, {}, where);
    return metric;
  }
  // What does not count may be anything, even NaN.
  const Value counted = trireme::where(kept, numbers, 0.0, where);
  const Value count = cast(kept, {.dtype = numbers.dtype()}, where);
  metric.value = stack({sum(counted, {}, where), sum(count, {}, where)}, 0, where);
  metric.combine = Metric::Combine::ratio;
  return metric;
}

}  // namespace

void check_classes(std::string_view metric, Value logits, Value label) {
  const bool fits = logits.rank() >= 1 && label.rank() + 1 == logits.rank() &&
                    Shape(logits.shape().begin(), logits.shape().end() - 1) == label.shape();
  if (!fits || !is_arithmetic_float(logits.dtype()) || label.dtype() != DType::i64) {
    fail_usage(
        fmt::format("{}: label must be i64 with the shape of logits without the last axis\n"
                    "  logits  {}\n  label   {}",
                    metric, logits.str(), label.str()));
  }
}

Metric accuracy(Value logits, Value label, LabelOptions options, SourceLocation where) {
  check_classes("accuracy", logits, label);
  const Value predicted = argmax(logits, {.axes = {-1}}, where);
  const Value right = cast(trireme::equal(predicted, label, where), {.dtype = f32}, where);
  return mean_over("accuracy", right, kept_labels(label, options, where), true, where);
}

// An example counts if its label is among the first k classes: larger logits come first, then lower
// classes, as in argmax(). A label whose logit is NaN, or that does not exist, never counts; NaN of
// another class comes before all numbers.
Metric top_k_accuracy(Value logits, Value label, int k, LabelOptions options,
                      SourceLocation where) {
  check_classes("top_k_accuracy", logits, label);
  if (k < 1) fail_usage(fmt::format("top_k_accuracy: k is {}, but must be at least 1", k));
  const Value column = reshape(label, {.shape = with_ones(label.shape(), 1)}, where);
  const Value classes = numbers_along(logits, {logits.dim(-1)}, 0, where);
  const Value is_label = trireme::equal(column, classes, where);
  const Value of_label =
      sum(trireme::where(is_label, logits, 0.0, where), {.axes = {-1}, .keep = true}, where);
  const Value before =
      logical_and(trireme::equal(logits, of_label, where), less(classes, column, where), where);
  const Value ahead = logical_or(is_nan(logits, where),
                                 logical_or(less(of_label, logits, where), before, where), where);
  const auto count = [&](const Value& condition) {
    return sum(cast(condition, {.dtype = f32}, where), {.axes = {-1}}, where);
  };
  const Value counts = logical_and(is_label, logical_not(is_nan(logits, where), where), where);
  const Value right =
      logical_and(less(count(ahead), double(k), where), less(0.0, count(counts), where), where);
  return mean_over(fmt::format("top_{}_accuracy", k), cast(right, {.dtype = f32}, where),
                   kept_labels(label, options, where), true, where);
}

Metric log_loss(Value logits, Value label, LabelOptions options, SourceLocation where) {
  check_classes("log_loss", logits, label);
  const Value losses =
      nn::cross_entropy(logits, label, {.ignore_index = options.ignore_index}, where);
  return mean_over("log_loss", losses, kept_labels(label, options, where), false, where);
}

Value confusion_counts(Value logits, Value label, const LabelOptions& options,
                       const SourceLocation& where) {
  const Dim classes = logits.dim(-1);
  const Shape all = {product(label.shape())}, one_each = {all[0], 1, 1};
  const Value predicted = argmax(logits, {.axes = {-1}}, where);
  const Value in_row = trireme::equal(reshape(label, {.shape = one_each}, where),
                                      numbers_along(logits, {classes, 1}, 0, where), where);
  const Value in_column = trireme::equal(reshape(predicted, {.shape = one_each}, where),
                                         numbers_along(logits, {1, classes}, 1, where), where);
  Value counts = logical_and(in_row, in_column, where);
  if (const Value kept = kept_labels(label, options, where)) {
    counts = logical_and(counts, reshape(kept, {.shape = one_each}, where), where);
  }
  return sum(cast(counts, {.dtype = f32}, where), {.axes = {0}}, where);
}

Metric confusion_matrix(Value logits, Value label, LabelOptions options, SourceLocation where) {
  check_classes("confusion_matrix", logits, label);
  if (logits.rank() != 2) {
    fail_usage("confusion_matrix: logits must be f32[batch, classes], but are " + logits.str());
  }
  return {.name = "confusion",
          .value = confusion_counts(logits, label, options, where),
          .combine = Metric::Combine::sum};
}

Metric mean_of(std::string name, Value value, SourceLocation where) {
  return {.name = std::move(name), .value = value.rank() == 0 ? value : mean(value, {}, where)};
}

}  // namespace trireme
