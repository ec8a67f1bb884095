#pragma once

// Average precision of detected boxes, over plain data in host memory, as COCO defines it.

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "trireme/export.h"
#include "trireme/tensor.h"

namespace trireme {

struct BoxPrecisionOptions {
  // A detection is correct if its intersection over union with a true box is at least this. Empty:
  // 0.5, 0.55 and so on to 0.95.
  std::vector<double> thresholds = {};
  // Of each image and class, this many detections with the largest scores count.
  std::int64_t max_detections = 100;
};

// NaN without true boxes.
struct BoxPrecision {
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

  double mean = kNaN;  // average precision, over all thresholds and the classes with true boxes
  double at_50 = kNaN, at_75 = kNaN;  // at one threshold; NaN if the options have none of 0.5, 0.75
  double recall = kNaN;  // share of the true boxes that are found, over thresholds and classes
  std::map<std::int64_t, double> of_class = {};  // over all thresholds; classes with true boxes
};

// The mean average precision of boxes (T.-Y. Lin and others, "Microsoft COCO", 2014, and its
// evaluation server): of each class, detections of all images by falling score; each takes the free
// true box with the largest intersection over union; the precision at 101 recalls, where precision
// is the largest at this recall or a higher one. Boxes of all areas count; there are no crowds.
class TRIREME_API BoxAveragePrecision {
 public:
  // Errors: usage, for thresholds outside (0, 1] and max_detections below 1.
  explicit BoxAveragePrecision(BoxPrecisionOptions options = {});

  // Adds one image. Boxes are floats [n, 4] with x_min, y_min, x_max, y_max; scores are floats [n]
  // and classes integers [n]. Boxes with a class below 0 are padding and do not count. A detection
  // without area finds nothing.
  // Errors: usage, for other shapes and dtypes; data, for a NaN, and a true box whose maximum is
  // below its minimum. Such an update has no effect.
  void update(const Tensor& boxes, const Tensor& scores, const Tensor& classes,
              const Tensor& true_boxes, const Tensor& true_classes);

  double value() const { return score().mean; }
  BoxPrecision score() const;
  std::int64_t images() const { return images_; }
  void reset();

 private:
  struct Detection {
    double score;
    std::vector<bool> correct;  // at each threshold
  };
  struct Class {
    std::vector<Detection> detections;
    std::int64_t boxes = 0;  // true ones
  };

  BoxPrecisionOptions options_;
  std::map<std::int64_t, Class> classes_;
  std::int64_t images_ = 0;
};

}  // namespace trireme
