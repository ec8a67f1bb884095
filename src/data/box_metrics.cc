#include "trireme/box_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "trireme/dtype.h"

namespace trireme {
namespace {

constexpr int kRecalls = 101;

struct TrueOrFoundBox {
  std::array<double, 4> corners;  // x_min, y_min, x_max, y_max
  double score = 0;

  double area() const {
    return std::max(0.0, corners[2] - corners[0]) * std::max(0.0, corners[3] - corners[1]);
  }
};
using BoxList = std::vector<TrueOrFoundBox>;

double overlap(const TrueOrFoundBox& a, const TrueOrFoundBox& b) {
  const double width = std::min(a.corners[2], b.corners[2]) - std::max(a.corners[0], b.corners[0]);
  const double height = std::min(a.corners[3], b.corners[3]) - std::max(a.corners[1], b.corners[1]);
  if (!(width > 0) || !(height > 0)) return 0;
  const double common = width * height;
  return common / (a.area() + b.area() - common);
}

void check_boxes(const char* what, const Tensor& boxes, const Tensor& classes) {
  const bool fits = boxes.rank() == 2 && boxes.dim(1) == 4 && is_float(boxes.dtype()) &&
                    classes.rank() == 1 && is_integer(classes.dtype()) &&
                    classes.dim(0) == boxes.dim(0);
  if (fits) return;
  fail_usage(
      fmt::format("BoxAveragePrecision: {} must be floats [n, 4] with integers [n] as "
                  "classes, but they are {} and {}",
                  what, boxes.type_str(), classes.type_str()));
}

[[noreturn]] void fail_box(std::int64_t image, const char* what, std::int64_t number,
                           const std::string& why) {
  fail_data(fmt::format("BoxAveragePrecision: image {}: {} {} {}", image, what, number, why));
}

// By class, in their order. `scores` may be null.
std::map<std::int64_t, BoxList> boxes_by_class(std::int64_t image, const char* what,
                                               const Tensor& boxes, const Tensor& classes,
                                               const Tensor* scores) {
  const Tensor corners = boxes.cast(DType::f64), ids = classes.cast(DType::i64);
  const Tensor marks = scores == nullptr ? Tensor() : scores->cast(DType::f64);
  std::map<std::int64_t, BoxList> found;
  for (std::int64_t i = 0; i < boxes.dim(0); ++i) {
    const std::int64_t id = ids.data<std::int64_t>()[i];
    if (id < 0) continue;
    const double* c = corners.data<double>() + 4 * i;
    TrueOrFoundBox box{{c[0], c[1], c[2], c[3]}};
    if (scores != nullptr) box.score = marks.data<double>()[i];
    if (std::isnan(c[0] + c[1] + c[2] + c[3]) || std::isnan(box.score)) {
      fail_box(image, what, i, "has a NaN");
    }
    if (scores == nullptr && (c[2] < c[0] || c[3] < c[1])) {
      fail_box(image, what, i, "has a maximum below its minimum");
    }
    found[id].push_back(box);
  }
  return found;
}

// For each detection, by falling score, whether it finds a box: the free one with the largest
// overlap, of equal ones the last.
std::vector<bool> found_at(double threshold, const BoxList& detections, const BoxList& boxes) {
  std::vector<bool> taken(boxes.size()), found;
  for (const TrueOrFoundBox& detection : detections) {
    double best = std::min(threshold, 1 - 1e-10);
    std::size_t match = boxes.size();
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const double shared = taken[i] ? -1 : overlap(detection, boxes[i]);
      if (shared < best) continue;
      best = shared;
      match = i;
    }
    found.push_back(match < boxes.size());
    if (match < boxes.size()) taken[match] = true;
  }
  return found;
}

// The mean of the precision at 101 recalls. `correct`: by falling score.
double interpolated_precision(const std::vector<bool>& correct, std::int64_t boxes) {
  std::vector<double> precision, recall;
  double hits = 0;
  for (const bool hit : correct) {
    hits += hit ? 1 : 0;
    recall.push_back(hits / static_cast<double>(boxes));
    precision.push_back(hits / static_cast<double>(precision.size() + 1));
  }
  for (std::size_t i = precision.size(); i > 1; --i) {
    precision[i - 2] = std::max(precision[i - 2], precision[i - 1]);
  }
  double sum = 0;
  for (int k = 0; k < kRecalls; ++k) {
    const double wanted = k == kRecalls - 1 ? 1 : 0.01 * k;
    const auto at = std::lower_bound(recall.begin(), recall.end(), wanted);
    if (at != recall.end()) sum += precision[static_cast<std::size_t>(at - recall.begin())];
  }
  return sum / kRecalls;
}

// By falling score; equal ones keep their order.
template <class Scored>
std::vector<Scored> sorted_by_score(const std::vector<Scored>& all) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(-all[i].score, i);
  std::sort(order.begin(), order.end());
  std::vector<Scored> sorted;
  for (const auto& [negative, i] : order) sorted.push_back(all[i]);
  return sorted;
}

// The place of a threshold, or -1.
std::ptrdiff_t place_of(const std::vector<double>& thresholds, double wanted) {
  const auto at = std::find_if(thresholds.begin(), thresholds.end(),
                               [&](double t) { return std::abs(t - wanted) < 1e-9; });
  return at == thresholds.end() ? -1 : at - thresholds.begin();
}

}  // namespace

BoxAveragePrecision::BoxAveragePrecision(BoxPrecisionOptions options)
    : options_(std::move(options)) {
  if (options_.thresholds.empty()) {
    for (int i = 0; i < 10; ++i) options_.thresholds.push_back(0.5 + 0.05 * i);
  }
  for (const double threshold : options_.thresholds) {
    if (threshold > 0 && threshold <= 1) continue;
    fail_usage(fmt::format("BoxAveragePrecision: threshold {} must be in (0, 1]", threshold));
  }
  if (options_.max_detections < 1) {
    fail_usage(fmt::format("BoxAveragePrecision: max_detections is {}, but must be at least 1",
                           options_.max_detections));
  }
}

void BoxAveragePrecision::update(const Tensor& boxes, const Tensor& scores, const Tensor& classes,
                                 const Tensor& true_boxes, const Tensor& true_classes) {
  check_boxes("boxes", boxes, classes);
  check_boxes("true boxes", true_boxes, true_classes);
  if (scores.shape() != classes.shape() || !is_float(scores.dtype())) {
    fail_usage("BoxAveragePrecision: scores must be floats, one for each box, but are " +
               scores.type_str());
  }
  auto found = boxes_by_class(images_, "box", boxes, classes, &scores);
  const auto truths = boxes_by_class(images_, "true box", true_boxes, true_classes, nullptr);
  for (const auto& [id, list] : truths) {
    classes_[id].boxes += static_cast<std::int64_t>(list.size());
  }
  for (auto& [id, list] : found) {
    list = sorted_by_score(list);
    list.resize(std::min(list.size(), static_cast<std::size_t>(options_.max_detections)));
    const auto truth = truths.find(id);
    std::vector<Detection>& all = classes_[id].detections;
    const std::size_t first = all.size();
    for (const TrueOrFoundBox& box : list) all.push_back({box.score, {}});
    for (const double threshold : options_.thresholds) {
      const std::vector<bool> correct =
          found_at(threshold, list, truth == truths.end() ? BoxList{} : truth->second);
      for (std::size_t i = 0; i < list.size(); ++i) all[first + i].correct.push_back(correct[i]);
    }
  }
  ++images_;
}

BoxPrecision BoxAveragePrecision::score() const {
  const std::size_t thresholds = options_.thresholds.size();
  std::vector<double> sums(thresholds);
  double recalls = 0;
  BoxPrecision score;
  for (const auto& [id, of_class] : classes_) {
    if (of_class.boxes == 0) continue;
    const std::vector<Detection> sorted = sorted_by_score(of_class.detections);
    double sum = 0;
    for (std::size_t t = 0; t < thresholds; ++t) {
      std::vector<bool> correct;
      for (const Detection& detection : sorted) correct.push_back(detection.correct[t]);
      const double precision = interpolated_precision(correct, of_class.boxes);
      sum += precision;
      sums[t] += precision;
      recalls += static_cast<double>(std::count(correct.begin(), correct.end(), true)) /
                 static_cast<double>(of_class.boxes);
    }
    score.of_class[id] = sum / static_cast<double>(thresholds);
  }
  if (score.of_class.empty()) return score;
  const auto classes = static_cast<double>(score.of_class.size());
  double sum = 0;
  for (const double of_threshold : sums) sum += of_threshold;
  score.mean = sum / classes / static_cast<double>(thresholds);
  score.recall = recalls / classes / static_cast<double>(thresholds);
  const auto at = [&](double threshold) {
    const std::ptrdiff_t place = place_of(options_.thresholds, threshold);
    return place < 0 ? BoxPrecision::kNaN : sums[static_cast<std::size_t>(place)] / classes;
  };
  score.at_50 = at(0.5);
  score.at_75 = at(0.75);
  return score;
}

void BoxAveragePrecision::reset() {
  classes_.clear();
  images_ = 0;
}

}  // namespace trireme
