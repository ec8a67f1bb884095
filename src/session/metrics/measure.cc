// Metrics of Arrays.

#include "base/error.h"
#include "session/metrics/sum.h"
#include "trireme/array.h"
#include "trireme/metrics.h"

namespace trireme {
namespace {

Tensor value_of(const Metric& metric) {
  if (!metric.value || !is_array(metric.value)) {
    fail_usage("measure: metric \"" + metric.name +
               "\" is of a Program\n  hint   only metrics of Arrays can be measured at once; "
               "Trainer::evaluate() measures those of Programs");
  }
  return Array(metric.value).tensor();
}

}  // namespace

double measure(const Metric& metric) {
  if (!metric.is_number()) {
    fail_usage("measure: metric \"" + metric.name +
               "\" is a tensor\n  hint   measure_tensor() returns it");
  }
  const Tensor value = value_of(metric);
  const bool combined = metric.combine == Metric::Combine::sum;
  return finished(metric, combined ? value.cast(DType::f64) : value);
}

Tensor measure_tensor(const Metric& metric) {
  if (metric.is_number()) {
    fail_usage("measure_tensor: metric \"" + metric.name +
               "\" is a number\n  hint   measure() returns it");
  }
  const Tensor value = value_of(metric);
  const bool combined = metric.combine == Metric::Combine::sum;
  return finished_tensor(metric, combined ? value.cast(DType::f64) : value);
}

}  // namespace trireme
